// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "num/saturating.h"
#include "send/send-largest-files.h"

/* Not PATH_MAX, a power of two: the ends of all rooms would share few lines of the cache. */
#define ROOM_SIZE (PATH_MAX + 64)

struct send_largest_files {
	/* the file under way, not in the list yet */
	char path[PATH_MAX];
	size_t path_length;
	uint64_t bytes;
	/* for a path in each file, at its end: a rename only writes what it is about */
	char *rooms;
	size_t most;
	size_t count;
	struct send_largest_file files[];
};

int send_largest_files_new(struct send_largest_files **ret_top, size_t most)
{
	struct send_largest_files *top;

	top = calloc(1, sizeof(*top) + most * sizeof(top->files[0]));
	if (!top)
		return -ENOMEM;
	top->rooms = calloc(most, ROOM_SIZE);
	if (!top->rooms) {
		free(top);
		return -ENOMEM;
	}
	top->most = most;
	for (size_t i = 0; i < most; i++)
		top->files[i].path_end = top->rooms + (i + 1) * ROOM_SIZE - 1;

	*ret_top = top;
	return 0;
}

void send_largest_files_free(struct send_largest_files *top)
{
	if (!top)
		return;
	free(top->rooms);
	free(top);
}

/* BEFORE, and then what ends the room from REST on, becomes the path if it can be one. */
static void name_file(struct send_largest_file *file, const char *before, size_t length, char *rest)
{
	if (length + (file->path_end - rest) >= PATH_MAX) {
		file->path = NULL;
		return;
	}
	file->path = memcpy(rest - length, before, length);
}

static bool begins_with(const struct send_largest_file *file, const char *path, size_t length)
{
	return file->path && length <= (size_t)(file->path_end - file->path) &&
	       memcmp(file->path, path, length) == 0;
}

static struct send_largest_file *find(struct send_largest_files *top)
{
	for (size_t i = 0; i < top->count; i++) {
		struct send_largest_file *file = &top->files[i];

		if (begins_with(file, top->path, top->path_length) && !file->path[top->path_length])
			return file;
	}
	return NULL;
}

static struct send_largest_file *smallest(struct send_largest_files *top)
{
	struct send_largest_file *found = &top->files[0];

	for (size_t i = 1; i < top->count; i++)
		if (top->files[i].bytes < found->bytes)
			found = &top->files[i];
	return found;
}

/* The file under way goes to the list, or nowhere. */
static void settle(struct send_largest_files *top)
{
	uint64_t bytes = top->bytes;
	struct send_largest_file *file;

	top->bytes = 0;
	if (!bytes)
		return;
	file = find(top);
	if (file) {
		file->bytes = saturating_add(file->bytes, bytes);
		return;
	}
	if (top->count < top->most)
		file = &top->files[top->count++];
	else
		file = smallest(top);
	if (file->bytes >= bytes)
		return;
	file->bytes = bytes;
	name_file(file, top->path, top->path_length, file->path_end);
}

void send_largest_files_add(struct send_largest_files *top, const char *path, uint64_t bytes)
{
	if (strcmp(path, top->path) != 0) {
		settle(top);
		top->path_length = strnlen(path, sizeof(top->path) - 1);
		memcpy(top->path, path, top->path_length);
		top->path[top->path_length] = '\0';
	}
	top->bytes = saturating_add(top->bytes, bytes);
}

void send_largest_files_rename(struct send_largest_files *top, const char *from, const char *to)
{
	size_t from_length = strlen(from);
	size_t to_length = strlen(to);

	settle(top);
	for (size_t i = 0; i < top->count; i++) {
		struct send_largest_file *file = &top->files[i];
		char *rest;

		if (!begins_with(file, from, from_length))
			continue;
		rest = file->path + from_length;
		if (!*rest || *rest == '/')
			name_file(file, to, to_length, rest);
	}
}

static int compare(const void *a, const void *b)
{
	const struct send_largest_file *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	if (!one->path || !other->path)
		return !one->path - !other->path;
	return strcmp(one->path, other->path);
}

size_t send_largest_files_list(struct send_largest_files *top,
			       const struct send_largest_file **ret_files)
{
	settle(top);
	qsort(top->files, top->count, sizeof(top->files[0]), compare);

	*ret_files = top->files;
	return top->count;
}
