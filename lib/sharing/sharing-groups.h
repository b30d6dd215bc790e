/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SHARING_GROUPS_H
#define FASTPATH_SHARING_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "path/path-node.h"

/* More files with shared extents than this have no groups: each one takes about 100 bytes and its name. */
#define SHARING_GROUPS_FILES_MAX (1u << 18)

/*
 * Sets of files that share data with each other, directly or through another file of the set. What
 * they share with files that were not added does not count.
 */
struct sharing_groups;

/* Returns 0 or -ENOMEM; freed with sharing_groups_free(). */
int sharing_groups_new(struct sharing_groups **ret_groups);
void sharing_groups_free(struct sharing_groups *groups);

/*
 * Read the shared extents of the file FD with the inode INODE, and give it a number: SHARING_NO_FILE if it
 * has none. The file counts once it has a path. FIEMAP_FLAGS are FIEMAP_FLAG_*; ITER is used for that.
 * Safe to call from several threads. Returns 0, -EPERM without CAP_SYS_ADMIN, -E2BIG if there are more than
 * SHARING_GROUPS_FILES_MAX files, -ENOMEM, or a negative errno as fiemap_iter_next() and
 * tree_search_next().
 */
int sharing_groups_read(struct sharing_groups *groups, struct fiemap_iter *iter, int fd,
			uint64_t inode, uint32_t fiemap_flags, uint32_t *ret_number);
#define SHARING_NO_FILE UINT32_MAX

/* The file NUMBER, for which this is called once, has PATH, which is held. */
void sharing_groups_name(struct sharing_groups *groups, uint32_t number, struct path_node *path);

struct sharing_group {
	/* on disk; those that several files of the group refer to, each once */
	uint64_t bytes;
	/* at least two */
	size_t file_count;
	struct path_node *const *paths;
};

/*
 * Find the groups. Nothing can be added after that. Returns 0, -ENOMEM, or a negative errno as
 * record_sort_finish().
 */
int sharing_groups_find(struct sharing_groups *groups);
/* As record_sort_failed_in(), after sharing_groups_find() has failed. */
const char *sharing_groups_failed_in(const struct sharing_groups *groups);

/* The groups in descending order of their bytes. They belong to GROUPS. */
size_t sharing_groups_count(const struct sharing_groups *groups);
const struct sharing_group *sharing_groups_get(const struct sharing_groups *groups, size_t index);

/* Of all of them: the same for two looks at one state. */
uint64_t sharing_groups_digest(const struct sharing_groups *groups);

#endif
