// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "saturate.h"
#include "send-top.h"

struct send_top {
	/* the file under way, not in the list yet */
	char path[PATH_MAX];
	uint64_t bytes;
	size_t most;
	size_t count;
	struct send_top_file files[];
};

int send_top_new(struct send_top **ret_top, size_t most)
{
	struct send_top *top;

	top = calloc(1, sizeof(*top) + most * sizeof(top->files[0]));
	if (!top)
		return -ENOMEM;
	top->most = most;

	*ret_top = top;
	return 0;
}

void send_top_free(struct send_top *top)
{
	if (!top)
		return;
	for (size_t i = 0; i < top->count; i++)
		free(top->files[i].path);
	free(top);
}

static struct send_top_file *find(struct send_top *top, const char *path)
{
	for (size_t i = 0; i < top->count; i++)
		if (strcmp(top->files[i].path, path) == 0)
			return &top->files[i];
	return NULL;
}

static struct send_top_file *smallest(struct send_top *top)
{
	struct send_top_file *found = &top->files[0];

	for (size_t i = 1; i < top->count; i++)
		if (top->files[i].bytes < found->bytes)
			found = &top->files[i];
	return found;
}

/* The file under way goes to the list, or nowhere. */
static int settle(struct send_top *top)
{
	uint64_t bytes = top->bytes;
	struct send_top_file *file;
	char *path;

	top->bytes = 0;
	if (!bytes)
		return 0;
	file = find(top, top->path);
	if (file) {
		file->bytes = saturating_add(file->bytes, bytes);
		return 0;
	}
	file = top->count < top->most ? &top->files[top->count] : smallest(top);
	if (top->count == top->most && file->bytes >= bytes)
		return 0;

	path = strdup(top->path);
	if (!path)
		return -ENOMEM;
	free(file->path);
	*file = (struct send_top_file){ path, bytes };
	if (top->count < top->most)
		top->count++;
	return 0;
}

int send_top_add(struct send_top *top, const char *path, uint64_t bytes)
{
	int ret;

	if (strcmp(path, top->path) != 0) {
		ret = settle(top);
		if (ret < 0)
			return ret;
		snprintf(top->path, sizeof(top->path), "%s", path);
	}
	top->bytes = saturating_add(top->bytes, bytes);
	return 0;
}

int send_top_rename(struct send_top *top, const char *from, const char *to)
{
	size_t length = strlen(from);
	int ret;

	ret = settle(top);
	for (size_t i = 0; i < top->count && ret == 0; i++) {
		char *path = top->files[i].path;
		char *renamed;

		if (strncmp(path, from, length) != 0 || (path[length] && path[length] != '/'))
			continue;
		if (asprintf(&renamed, "%s%s", to, path + length) < 0)
			return -ENOMEM;
		free(path);
		top->files[i].path = renamed;
	}
	return ret;
}

static int compare(const void *a, const void *b)
{
	const struct send_top_file *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return strcmp(one->path, other->path);
}

int send_top_list(struct send_top *top, const struct send_top_file **ret_files, size_t *ret_count)
{
	int ret;

	ret = settle(top);
	if (ret < 0)
		return ret;
	qsort(top->files, top->count, sizeof(top->files[0]), compare);

	*ret_files = top->files;
	*ret_count = top->count;
	return 0;
}
