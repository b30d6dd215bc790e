/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NAMED_SET_H
#define FASTPATH_NAMED_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/byte-range.h"
#include "base/record-sort.h"
#include "fs/checksum-format.h"
#include "fs/filesystem.h"
#include "sharing/file-space.h"
#include "sharing/snapshot-family.h"

/*
 * The data extents of the files that the user named, and the files themselves. It remembers what
 * freed-space.h needs to tell which extents are freed if all of them are deleted.
 */

/* A file system that has some of the files. */
struct named_filesystem {
	uint8_t fsid[FSID_SIZE];
	/* anything on it */
	int fd;
	/* only if the set is to be judged: else NULL and 0 */
	struct snapshot_families *families;
	struct checksum_format checksums;
};

/* A subvolume that has some of the files. */
struct named_subvolume {
	dev_t device;
	uint64_t subvolid;
	uint32_t filesystem;
	/* its root directory was named, or found in a directory that was */
	bool whole;
	/* NULL if unknown, and those with which it can share blocks */
	const struct family_member *member;
	struct relatives relatives;
};

/* A data extent; the same for all that refer to it. */
struct named_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	uint32_t filesystem;
	/* a file refers to it, and not only the rest of a whole subvolume */
	uint16_t of_file;
	uint16_t has_checksums;
};

/* A name of an inode; without a parent and a hash the inode itself. */
struct named_inode {
	uint64_t subvolid;
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	/* its items in the tree that no snapshot shares, only without a name */
	uint64_t item_bytes;
	uint32_t filesystem;
	uint32_t link_count;
};

struct named_set {
	pthread_mutex_t lock;
	bool is_judged;
	/* the bytes of each file are asked for */
	bool measures_files;
	struct named_filesystem *filesystems;
	uint32_t filesystem_count;
	/* each allocated, so that it stays where it is */
	struct named_subvolume **subvolumes;
	size_t subvolume_count;
	struct record_sort *extents;
	struct record_sort *inodes;
};

/*
 * If the set MEASURES_FILES, all are read, else only those that are not in a whole subvolume, of
 * which all is read later. If it IS_JUDGED, everything for freed-space.h is remembered, and the running transaction of
 * each file system is committed when the first of its files is added. Memory is bounded but for the
 * subvolumes (see record-sort.h).
 * Returns 0 or -ENOMEM; freed with named_set_free().
 */
int named_set_new(struct named_set **ret_set, bool is_judged, bool measures_files);
void named_set_free(struct named_set *set);

/* What a file has on disk. */
struct file_space {
	/* whole data extents, each once, and inline data as it is stored */
	uint64_t disk_bytes;
	uint64_t inline_bytes;
};

/*
 * Add the regular file FD with the extents that it has in RANGE. It can be added several times. Safe
 * to call from several threads, each with a READER.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, or a negative errno as space_read_file().
 */
int named_set_add_file(struct named_set *set, struct space_reader *reader, int fd,
		       const struct stat *status, struct byte_range range,
		       struct file_space *ret_space);

/*
 * Add NAME in the directory PARENT as a name of the file FD. A file with several links is deleted
 * only with the last of its names. Safe to call from several threads.
 * Returns 0, or a negative errno as filesystem_id_of().
 */
int named_set_add_name(struct named_set *set, int fd, const struct stat *status, ino_t parent,
		       const char *name);

/*
 * Add the directory FD, whose entries are added as well. If it is the root of a subvolume, all of the
 * subvolume is in the set. Errors as named_set_add_file().
 */
int named_set_add_directory(struct named_set *set, struct space_reader *reader, int fd,
			    const struct stat *status);

/* As record_sort_failed_in(), for the sorts of the set. */
const char *named_set_failed_in(const struct named_set *set);

#endif
