/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BACKREF_H
#define FASTPATH_BACKREF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/relocation-watch.h"
#include "sys/cleanup.h"

/* One reference to a data extent. The members are in the order of the kernel's answer. */
struct extent_ref {
	uint64_t inode;
	uint64_t offset;
	uint64_t root;
};

/* For qsort(): by the file that a reference belongs to, that is by root and inode. */
int extent_ref_compare_files(const void *a, const void *b);

/*
 * Whether an extent with these references, all that there are, is not where a file had it before:
 * there are none, or one is a relocation's copy.
 */
bool extent_refs_have_moved(const struct extent_ref *refs, size_t count);

/*
 * Check the container that BTRFS_IOC_LOGICAL_INO_V2 filled, SIZE bytes long.
 * Returns 0 with the number of complete references, or -EPROTO.
 * Rests on struct btrfs_data_container (linux/btrfs.h).
 */
int backref_check_refs(const void *container, size_t size, size_t *ret_count);

/*
 * Check the container that BTRFS_IOC_INO_PATHS filled, SIZE bytes long: every path must lie in it
 * and end in it. Returns 0 with the number of paths, or -EPROTO.
 */
int backref_check_paths(const void *container, size_t size, size_t *ret_count);

struct backref_query;

/* Holds the answers' buffer. Returns 0 or -ENOMEM; freed with backref_query_free(). */
int backref_query_new(struct backref_query **ret_query);
void backref_query_free(struct backref_query *query);
DEFINE_FREEP(backref_query_free, struct backref_query)

/* Repeat lookups that a relocation disturbs. WATCH can be NULL. */
void backref_query_watch(struct backref_query *query, struct relocation_watch *watch);

/*
 * All references to any part of the data extent at BYTENR, on the file system of FD.
 * *RET_REFS, which the caller may sort, is valid until the next call. *RET_COMPLETE is false if the
 * list was cut at the kernel's limit of 16 MiB.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOENT if there is no such extent, -ENOTTY if the
 * kernel has no such call (before 4.15), -ENOMEM, -EPROTO for an invalid answer, or an error as
 * relocation_watch_begin().
 * Rests on BTRFS_IOC_LOGICAL_INO_V2 (fs/btrfs/ioctl.c).
 */
int backref_query_extent(struct backref_query *query, int fd, uint64_t bytenr,
			 struct extent_ref **ret_refs, size_t *ret_count, bool *ret_complete);

/*
 * The names of INODE in the subvolume of FD, relative to the subvolume: a NULL-terminated
 * array, freed with free_names(). The kernel's answer has at most 4096 bytes; *RET_COMPLETE is
 * false if there are more names.
 * Returns 0, -EPERM without CAP_DAC_READ_SEARCH, -ENOENT, -ENOMEM, or -EPROTO.
 * Rests on BTRFS_IOC_INO_PATHS (fs/btrfs/ioctl.c).
 */
int backref_inode_names(int fd, uint64_t inode, char ***ret_names, bool *ret_complete);

/*
 * One name of INODE in subvolume SUBVOLID, which need not be mounted, as above.
 * Rests on BTRFS_IOC_INO_LOOKUP (fs/btrfs/ioctl.c).
 */
int backref_inode_one_name(int fd, uint64_t subvolid, uint64_t inode, char ***ret_names);

void free_names(char **names);

#endif
