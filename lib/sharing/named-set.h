/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NAMED_SET_H
#define FASTPATH_NAMED_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/filesystem.h"
#include "fs/unwritable-chunks.h"
#include "num/byte-range.h"
#include "num/record-sort.h"
#include "sharing/file-space.h"
#include "sharing/holders.h"
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
	/* only if the set is to be judged, else NULL */
	struct snapshot_families *families;
	struct unwritable_chunks *unwritable;
};

/* A subvolume that has some of the files. */
struct named_subvolume {
	dev_t device;
	uint64_t subvolid;
	uint32_t filesystem;
	/* its root directory was named, or found in a directory that was, first by this argument */
	bool whole;
	uint32_t argument;
	/* some of its files were added for an argument before that */
	bool has_named_files;
	/* among those of whole-list.h, from 1 on; 0: it is not whole, or not in the list yet */
	size_t whole_number;
};

/* A data extent; the same for all that refer to it. */
struct named_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	uint32_t filesystem;
	/* a file refers to it, and not only the rest of a whole subvolume */
	uint8_t of_file;
	/* something in the set refers to it, and a subvolume that is not in the set */
	uint8_t is_in_set;
	uint8_t is_held_outside;
	/* some of LEAF_REF_COUNT count only if the later subvolumes of whole-list.h were read */
	uint8_t depends_on_later;
	/*
	 * references in leaves that only whole subvolumes of the set have, each leaf once: there are at least so
	 * many; and the arguments of these subvolumes
	 */
	uint32_t leaf_ref_count;
	struct holders holders;
};

/* A name of an inode; without a parent and a hash the inode itself. */
struct named_inode {
	uint64_t subvolid;
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	uint32_t filesystem;
	uint32_t link_count;
	/* the first one that led to it */
	uint32_t argument;
};

/* What is freed if the files that an argument led to are deleted; set by freed_space_find(). */
struct named_argument {
	/* these alone */
	uint64_t freed_alone_bytes;
	/* with those of all arguments before */
	uint64_t freed_with_above_bytes;
	/*
	 * if that is wanted: written to its subvolumes since the snapshot before them in the set; without
	 * one all that they have
	 */
	uint64_t written_bytes;
};

struct named_set {
	pthread_mutex_t lock;
	bool is_judged;
	/* the bytes of each file are asked for */
	bool measures_files;
	/* set by the caller, with arguments: what was written is asked for */
	bool measures_written;
	struct named_filesystem *filesystems;
	uint32_t filesystem_count;
	/* each allocated, so that it stays where it is */
	struct named_subvolume **subvolumes;
	size_t subvolume_count;
	/* the same by id; after named_set_sort_subvolumes() */
	struct named_subvolume **subvolumes_by_id;
	struct record_sort *extents;
	struct record_sort *inodes;
	/* the later subvolumes of whole-list.h were read */
	bool knows_later;
	/* of whole-subvolumes.h; NULL unless it is asked for */
	struct record_sort *written;
	/* NULL unless they are judged one by one */
	struct named_argument *arguments;
	uint32_t argument_count;
};

/*
 * If the set MEASURES_FILES, all are read, else only those that are not in a whole subvolume, of
 * which all is read later. If it IS_JUDGED, everything for freed-space.h is remembered; then each file
 * system needs a steady look with references that begins before (see steady-look.h). Each of
 * ARGUMENT_COUNT arguments is judged, too; if that is 0, only all together. Memory is bounded but for
 * the subvolumes and arguments (see record-sort.h).
 * Returns 0 or -ENOMEM; freed with named_set_free().
 */
int named_set_new(struct named_set **ret_set, bool is_judged, bool measures_files,
		  uint32_t argument_count);
void named_set_free(struct named_set *set);

/* What a file has on disk. */
struct file_space {
	/* whole data extents, each once, and inline data as it is stored */
	uint64_t disk_bytes;
	uint64_t inline_bytes;
};

/*
 * Add the regular file FD, to which ARGUMENT led, with the extents that it has in RANGE. It can be
 * added several times. If it IS_REPEATED, another call adds the extents and returns the space; this one
 * may return none. Safe to call from several threads, each with a READER.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, or a negative errno as space_read_file().
 */
int named_set_add_file(struct named_set *set, struct space_reader *reader, int fd,
		       const struct stat *status, bool is_repeated, uint32_t argument,
		       struct byte_range range, struct file_space *ret_space);

/*
 * Add NAME in the directory PARENT as a name of the file FD. A file with several links is deleted
 * only with the last of its names. Safe to call from several threads.
 * Returns 0, or a negative errno as filesystem_id_of().
 */
int named_set_add_name(struct named_set *set, int fd, const struct stat *status, uint32_t argument,
		       ino_t parent, const char *name);

/* The hash of a name. Names that seem to be one make a file stay, which is the safe side. */
uint64_t named_set_name_hash(const char *name, size_t length);

/* Whether a directory has to be added: the root of a subvolume, if the set is judged. */
bool named_set_takes_directory(const struct named_set *set, const struct stat *status);

/*
 * Add the root FD of a subvolume, whose entries are added as well: then all of the subvolume is in the
 * set. Errors as named_set_add_file().
 */
int named_set_add_directory(struct named_set *set, int fd, const struct stat *status,
			    uint32_t argument);

/* After the last addition. Returns 0 or -ENOMEM. */
int named_set_sort_subvolumes(struct named_set *set);

/* After that: returns NULL if neither the subvolume nor a part of it is in the set. */
struct named_subvolume *named_set_find_subvolume(const struct named_set *set, uint32_t filesystem,
						 uint64_t subvolid);

/* As record_sort_failed_in(), for the sorts of the set. */
const char *named_set_failed_in(const struct named_set *set);

#endif
