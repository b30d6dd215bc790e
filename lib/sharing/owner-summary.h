/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OWNER_SUMMARY_H
#define FASTPATH_OWNER_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/file-extent.h"
#include "sharing/snapshot-family.h"

/* The files of a subvolume that refer to data extents of the examined files. */
struct subvolume_owners {
	uint64_t subvolid;
	/* inodes */
	uint64_t file_count;
	uint64_t extent_count;
	/* those that the examined files refer to in these extents, each byte once */
	uint64_t bytes;
};

struct owner_summary;

/*
 * Collects the data extents of many files on one file system, and looks up in which subvolumes other
 * files refer to them. A file is another one for each extent that a second examined file refers to. An
 * examined file itself also counts for extents that it alone refers to, from several places, as in
 * extent_owners_list().
 * Memory grows with the number of subvolumes, and not with that of extents or files (see
 * record-sort.h).
 * Returns 0 or -ENOMEM; freed with owner_summary_free().
 */
int owner_summary_new(struct owner_summary **ret_summary);
void owner_summary_free(struct owner_summary *summary);

/*
 * Add EXTENT of INODE in subvolume SUBVOLID: LENGTH bytes of it from SKIPPED on, and whether FIEMAP
 * marked it as shared. The caller leaves out holes and inline data.
 * owner_summary_resolve() returns an error of this function.
 */
void owner_summary_add(struct owner_summary *summary, uint64_t subvolid, uint64_t inode,
		       const struct file_extent *extent, uint64_t skipped, uint64_t length,
		       bool flagged_shared);

/*
 * Ends the adding and looks up each data extent once, on the file system of FD, whose subvolumes
 * FAMILIES are, with WATCH, which can be NULL. Without families it takes a call of the kernel for
 * each extent. PROGRESS is called now and then.
 * Returns 0, or a negative errno as backref_query_extent(), record_sort_finish() and
 * record_sort_next().
 */
int owner_summary_resolve(struct owner_summary *summary, int fd,
			  const struct snapshot_families *families, struct relocation_watch *watch,
			  void (*progress)(uint64_t extents_asked));

/* As record_sort_failed_in(), after owner_summary_resolve() has failed. */
const char *owner_summary_failed_in(const struct owner_summary *summary);

/* After owner_summary_resolve(): the subvolumes in descending order of bytes. */
const struct subvolume_owners *owner_summary_list(const struct owner_summary *summary,
						  size_t *ret_count);

/* The number of data extents with more references than the kernel lists, so owners are missing. */
uint64_t owner_summary_incomplete_count(const struct owner_summary *summary);

/* The number of extents without a reference, or with a copy by a relocation. */
uint64_t owner_summary_moved_count(const struct owner_summary *summary);

/* Of all extents and who refers to them, wherever they are: the same for two looks at one state. */
uint64_t owner_summary_digest(const struct owner_summary *summary);

#endif
