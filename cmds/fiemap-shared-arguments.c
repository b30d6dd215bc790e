// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fiemap-shared-arguments.h"
#include "fs/subvolume.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

int fiemap_shared_argument_sums_new(const struct sharing_options *arguments,
				    struct sharing **ret_sums)
{
	uint32_t count = fiemap_shared_argument_count(arguments);
	struct sharing *sums = count ? calloc(count, sizeof(*sums)) : NULL;

	if (count && !sums)
		return -ENOMEM;
	*ret_sums = sums;
	return 0;
}

struct sorted_path {
	char *path;
	/* the lower comes first, of equal ones the first path, after all that are not writable */
	uint64_t rank;
	bool is_writable;
	size_t index;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct sorted_path *x = a, *y = b;

	if (x->is_writable != y->is_writable)
		return x->is_writable ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct sorted_path *)a)->path, ((const struct sorted_path *)b)->path);
}

/* When the subvolume or the file was created; unknown ones come last. FD is -1 of a file. */
static uint64_t birth_of(const char *path, int fd)
{
	struct statx status = { 0 };
	uint64_t time_ns;

	if (fd >= 0 && subvolume_is_root(fd) > 0)
		return subvolume_creation_time(fd, &time_ns) < 0 ? UINT64_MAX : time_ns;
	if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) < 0 || !(status.stx_mask & STATX_BTIME))
		return UINT64_MAX;
	return (uint64_t)status.stx_btime.tv_sec * NANOSECONDS_PER_SECOND +
	       status.stx_btime.tv_nsec;
}

static void rank_by_age(struct sorted_path *sorted, bool is_subvolume)
{
	CLEANUP_CLOSE int fd = open(sorted->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

	sorted->rank = birth_of(sorted->path, fd);
	/* What is still in use was often created before its snapshots, but is not the first one to delete. */
	sorted->is_writable = is_subvolume && fd >= 0 && subvolume_is_read_only(fd) == 0;
}

static struct sorted_path *list_paths(const struct file_options *files)
{
	struct sorted_path *list = calloc(files->path_count, sizeof(*list));

	for (int i = 0; list && i < files->path_count; i++)
		list[i] = (struct sorted_path){ .path = files->paths[i], .index = i };
	return list;
}

/* Returns 1 if they were in another order. */
static int sort(const struct file_options *files, struct sorted_path *list,
		int (*compare)(const void *a, const void *b))
{
	bool changed = false;

	qsort(list, files->path_count, sizeof(*list), compare);
	for (int i = 0; i < files->path_count; i++) {
		changed |= files->paths[i] != list[i].path;
		files->paths[i] = list[i].path;
	}
	return changed;
}

static bool sorts_arguments_by(const struct sharing_options *arguments, const char *name)
{
	return arguments->summarize && fiemap_shared_sorts_by(arguments, name);
}

int fiemap_shared_sort_arguments(const struct sharing_options *arguments)
{
	const struct file_options *files = &arguments->files;
	CLEANUP_FREE struct sorted_path *list = NULL;

	if (!sorts_arguments_by(arguments, SORT_AGE) && !sorts_arguments_by(arguments, SORT_PATH))
		return 0;
	list = list_paths(files);
	if (!list)
		return -ENOMEM;
	if (sorts_arguments_by(arguments, SORT_PATH)) {
		sort(files, list, compare_paths);
		return 0;
	}
	for (int i = 0; i < files->path_count; i++)
		rank_by_age(&list[i], arguments->subvolumes);
	sort(files, list, compare_ranks);
	return 0;
}

int fiemap_shared_sort_arguments_by_freed(const struct sharing_options *arguments,
					  const struct named_set *set, struct sharing *sums)
{
	const struct file_options *files = &arguments->files;
	CLEANUP_FREE struct sorted_path *list = NULL;
	CLEANUP_FREE struct sharing *unsorted = NULL;
	int changed;

	if (!sorts_arguments_by(arguments, SORT_FREED))
		return 0;
	list = list_paths(files);
	unsorted = calloc(files->path_count, sizeof(*unsorted));
	if (!list || !unsorted)
		return -ENOMEM;
	for (int i = 0; i < files->path_count; i++) {
		list[i].rank = UINT64_MAX - set->arguments[i].freed_alone_bytes;
		unsorted[i] = sums[i];
	}
	changed = sort(files, list, compare_ranks);
	for (int i = 0; i < files->path_count; i++)
		sums[i] = unsorted[list[i].index];
	return changed;
}
