// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/file-extent.h"
#include "fs/filesystem-list.h"
#include "num/digest.h"
#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/sharing.h"
#include "sharing/sharing-groups.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)

/* A part of a data extent on disk to which a file refers. */
struct reference {
	uint64_t start;
	uint64_t end;
	uint32_t file;
	/* whose addresses these are, an index into the file systems */
	uint32_t filesystem;
};

struct group_file {
	/* NULL: the file does not count, as another name of one that does */
	struct path_node *path;
	/* of the group: another file of it, or the file itself */
	uint32_t parent;
	/* shared with files that were added before it */
	uint64_t bytes;
};

struct sharing_groups {
	pthread_mutex_t lock;
	struct record_sort *references;
	struct group_file *files;
	size_t file_count;
	size_t file_room;
	struct filesystem_list filesystems;
	struct sharing_group *groups;
	size_t group_count;
	/* the paths of all groups, one after the other */
	struct path_node **paths;
};

static int compare_references(const void *a, const void *b)
{
	const struct reference *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	if (!order)
		order = compare_numbers(x->start, y->start);
	if (!order)
		order = compare_numbers(x->file, y->file);
	return order ? order : compare_numbers(x->end, y->end);
}

static bool merge_references(void *record, const void *next)
{
	struct reference *x = record;
	const struct reference *y = next;

	if (x->file != y->file || y->start > x->end)
		return false;
	if (y->end > x->end)
		x->end = y->end;
	return true;
}

static const struct record_sort_ops reference_ops = {
	.record_size = sizeof(struct reference),
	.compare = compare_references,
	.merge = merge_references,
};

int sharing_groups_new(struct sharing_groups **ret_groups)
{
	struct sharing_groups *groups = calloc(1, sizeof(*groups));
	int ret;

	if (!groups)
		return -ENOMEM;
	ret = record_sort_new(&groups->references, &reference_ops, MEMORY);
	if (ret < 0) {
		free(groups);
		return ret;
	}
	pthread_mutex_init(&groups->lock, NULL);
	*ret_groups = groups;
	return 0;
}

void sharing_groups_free(struct sharing_groups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < groups->file_count; i++)
		path_node_release(groups->files[i].path);
	pthread_mutex_destroy(&groups->lock);
	record_sort_free(groups->references);
	free(groups->files);
	filesystem_list_free(&groups->filesystems);
	free(groups->groups);
	free(groups->paths);
	free(groups);
}

/* -- reading -- */

/* Returns 0, -E2BIG or -ENOMEM. */
static int add_file(struct sharing_groups *groups, uint32_t *ret_number)
{
	if (groups->file_count == SHARING_GROUPS_FILES_MAX)
		return -E2BIG;
	if (groups->file_count == groups->file_room) {
		size_t room = groups->file_room ? 2 * groups->file_room : 64;
		struct group_file *files = reallocarray(groups->files, room, sizeof(*files));

		if (!files)
			return -ENOMEM;
		groups->files = files;
		groups->file_room = room;
	}
	*ret_number = groups->file_count;
	groups->files[groups->file_count++] = (struct group_file){ .parent = *ret_number };
	return 0;
}

static int add_reference(struct sharing_groups *groups, const struct file_extent *item,
			 uint32_t filesystem, uint32_t *number)
{
	struct reference reference = { .start = item->disk_bytenr, .filesystem = filesystem };
	int ret = 0;

	if (!item->is_compressed)
		reference.start += item->extent_offset;
	reference.end = reference.start + (item->is_compressed ? item->disk_bytes : item->length);
	pthread_mutex_lock(&groups->lock);
	if (*number == SHARING_NO_FILE)
		ret = add_file(groups, number);
	reference.file = *number;
	if (ret == 0)
		record_sort_add(groups->references, &reference);
	pthread_mutex_unlock(&groups->lock);
	return ret;
}

/* Adds the items behind EXTENT. */
static int add_extent(struct sharing_groups *groups, struct file_extent_iter *items,
		      const struct mapped_extent *extent, uint32_t filesystem, uint32_t *number)
{
	struct file_extent item;
	int ret;

	while ((ret = file_extent_iter_next(items, extent->offset, extent->offset + extent->length,
					    &item)) > 0) {
		if (item.disk_bytenr)
			ret = add_reference(groups, &item, filesystem, number);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int sharing_groups_read(struct sharing_groups *groups, struct fiemap_iter *iter, int fd,
			uint64_t inode, uint32_t fiemap_flags, uint32_t *ret_number)
{
	CLEANUP(file_extent_iter_freep) struct file_extent_iter *items = NULL;
	uint32_t number = SHARING_NO_FILE;
	struct mapped_extent extent;
	uint32_t filesystem;
	int ret;

	pthread_mutex_lock(&groups->lock);
	ret = filesystem_list_find(&groups->filesystems, fd, &filesystem);
	pthread_mutex_unlock(&groups->lock);
	if (ret == 0)
		ret = file_extent_iter_new(&items, fd, inode, 0);
	if (ret < 0)
		return ret;
	fiemap_iter_start(iter, fd, WHOLE_FILE, fiemap_flags);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		if (!mapped_extent_is_on_disk(&extent) || !mapped_extent_is_shared(&extent))
			continue;
		ret = add_extent(groups, items, &extent, filesystem, &number);
		if (ret < 0)
			break;
	}
	if (ret < 0)
		return ret;
	*ret_number = number;
	return 0;
}

void sharing_groups_name(struct sharing_groups *groups, uint32_t number, struct path_node *path)
{
	pthread_mutex_lock(&groups->lock);
	groups->files[number].path = path_node_hold(path);
	pthread_mutex_unlock(&groups->lock);
}

/* -- finding -- */

static uint32_t group_of(struct sharing_groups *groups, uint32_t file)
{
	struct group_file *files = groups->files;

	while (files[file].parent != file) {
		files[file].parent = files[files[file].parent].parent;
		file = files[file].parent;
	}
	return file;
}

/* The first file of a group stands for it. */
static void join(struct sharing_groups *groups, uint32_t a, uint32_t b)
{
	a = group_of(groups, a);
	b = group_of(groups, b);
	if (a < b)
		groups->files[b].parent = a;
	else
		groups->files[a].parent = b;
}

/*
 * References in the order of their starts. What was read so far ends at END, with a reference of FILE,
 * and what several files refer to ends at SHARED_END.
 */
struct sweep {
	uint32_t filesystem;
	uint64_t end;
	uint64_t shared_end;
	uint32_t file;
};

static void sweep_over(struct sharing_groups *groups, struct sweep *sweep,
		       const struct reference *reference)
{
	struct group_file *file = &groups->files[reference->file];
	uint64_t start = reference->start, end = reference->end;

	if (!file->path)
		return;
	if (reference->filesystem != sweep->filesystem)
		*sweep = (struct sweep){ .filesystem = reference->filesystem };
	if (start < sweep->end && reference->file != sweep->file) {
		uint64_t stop = end < sweep->end ? end : sweep->end;

		join(groups, reference->file, sweep->file);
		if (start < sweep->shared_end)
			start = sweep->shared_end;
		if (start < stop) {
			file->bytes = saturating_add(file->bytes, stop - start);
			sweep->shared_end = stop;
		}
	}
	if (end > sweep->end) {
		sweep->end = end;
		sweep->file = reference->file;
	}
}

static int join_files(struct sharing_groups *groups)
{
	struct reference reference;
	struct sweep sweep = { 0 };
	int ret = record_sort_finish(groups->references);

	while (ret == 0 && (ret = record_sort_next(groups->references, &reference)) > 0) {
		sweep_over(groups, &sweep, &reference);
		ret = 0;
	}
	return ret;
}

static int compare_groups(const void *a, const void *b)
{
	const struct sharing_group *x = a, *y = b;
	int order = compare_numbers(y->bytes, x->bytes);

	return order ? order : path_node_compare(x->paths[0], y->paths[0]);
}

/* Counts the files of each group, and the bytes, at the file that stands for it. */
static void count_files(struct sharing_groups *groups, struct sharing_group *of_files)
{
	for (size_t i = 0; i < groups->file_count; i++) {
		struct sharing_group *group = &of_files[group_of(groups, i)];

		group->bytes = saturating_add(group->bytes, groups->files[i].bytes);
		group->file_count += groups->files[i].path != NULL;
	}
}

/* A place for the paths of each group with two files, and then the paths. Returns the number of groups. */
static size_t place_paths(struct sharing_groups *groups, struct sharing_group *of_files)
{
	struct path_node **place = groups->paths;
	size_t count = 0;

	for (size_t i = 0; i < groups->file_count; i++) {
		if (of_files[i].file_count < 2)
			continue;
		of_files[i].paths = place;
		place += of_files[i].file_count;
		of_files[i].file_count = 0;
		count++;
	}
	for (size_t i = 0; i < groups->file_count; i++) {
		struct sharing_group *group = &of_files[group_of(groups, i)];

		if (group->paths && groups->files[i].path)
			((struct path_node **)group->paths)[group->file_count++] =
				groups->files[i].path;
	}
	return count;
}

static int compare_paths(const void *a, const void *b)
{
	return path_node_compare(*(struct path_node *const *)a, *(struct path_node *const *)b);
}

int sharing_groups_find(struct sharing_groups *groups)
{
	size_t file_count = groups->file_count;
	int ret = join_files(groups);

	if (ret < 0)
		return ret;
	groups->groups = calloc(file_count + 1, sizeof(*groups->groups));
	groups->paths = calloc(file_count + 1, sizeof(*groups->paths));
	if (!groups->groups || !groups->paths)
		return -ENOMEM;
	count_files(groups, groups->groups);
	groups->group_count = place_paths(groups, groups->groups);
	for (size_t i = 0, next = 0; i < file_count; i++)
		if (groups->groups[i].paths)
			groups->groups[next++] = groups->groups[i];
	for (size_t i = 0; i < groups->group_count; i++)
		qsort((void *)groups->groups[i].paths, groups->groups[i].file_count,
		      sizeof(*groups->paths), compare_paths);
	qsort(groups->groups, groups->group_count, sizeof(*groups->groups), compare_groups);
	return 0;
}

const char *sharing_groups_failed_in(const struct sharing_groups *groups)
{
	return record_sort_failed_in(groups->references);
}

size_t sharing_groups_count(const struct sharing_groups *groups)
{
	return groups->group_count;
}

const struct sharing_group *sharing_groups_get(const struct sharing_groups *groups, size_t index)
{
	return &groups->groups[index];
}

uint64_t sharing_groups_digest(const struct sharing_groups *groups)
{
	uint64_t digest = DIGEST_START;

	for (size_t i = 0; i < groups->group_count; i++) {
		digest = digest_add_number(digest, groups->groups[i].bytes);
		digest = digest_add_number(digest, groups->groups[i].file_count);
	}
	return digest;
}
