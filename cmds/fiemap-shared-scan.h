/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_SCAN_H
#define FASTPATH_FIEMAP_SHARED_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "fiemap-shared-directories.h"
#include "fiemap-shared-report.h"
#include "fs/fiemap.h"
#include "fs/filesystem.h"
#include "fs/steady-look.h"
#include "sharing/file-space.h"
#include "sharing/named-set.h"
#include "sharing/set-shared.h"
#include "sharing/sharing.h"
#include "sharing/sharing-groups.h"
#include "ui/files.h"

/* The state of a run. */
struct sharing_scan {
	const struct sharing_options *arguments;
	struct files files;
	struct sharing_report report;
	/* NULL if a single file is named: then the set would have the same bytes as the file */
	struct set_shared *set;
	struct sharing total;
	/* where each argument has a row, else NULL */
	struct sharing *argument_sharing;
	/* the arguments that led to a file, and those before them */
	uint32_t begun_argument_count;
	/* with --sort or --top; the rows are struct summary_row */
	struct row_sort *rows;
	/* with --depth */
	struct directory_rows *directories;
	/* with MODE_OWNERS; the file system is that of the first file */
	struct owner_summary *owner_summary;
	int owner_fd;
	uint8_t owner_fsid[FSID_SIZE];
	/* with --groups, else NULL */
	struct sharing_groups *groups;
	/* with --disk or --freed, else NULL: the files, and the reader of the walk's thread */
	struct named_set *named;
	struct space_reader *reader;
	/* whether the addresses of extents stay the same; NULL if no figure depends on it */
	struct steady_look *look;
	/* of all files so far, as stored */
	uint64_t inline_disk_bytes;
	/* a file or a directory could not be examined for --disk and --freed */
	bool no_space;
	/* an error was printed: --fragments and --groups cannot have a file */
	bool no_items;
	/* an error was printed, and another look does not try again */
	bool no_set;
	bool no_owners;
	/* the privilege to search trees is missing, and a warning was printed */
	bool no_tree_search;
	/* reused for each file that is reported with details */
	struct fiemap_iter *iter;
};

/* Adds a reported file, to which ARGUMENT led, to the total. */
void fiemap_shared_count_file(struct sharing_scan *scan, size_t argument,
			      const struct sharing *sharing);

void fiemap_shared_complain_no_memory(struct sharing_scan *scan);

/*
 * Prints an error: WHAT cannot be sorted, because of the negative errno RET. FAILED_IN is the
 * directory of the temporary file, or NULL if something else failed.
 */
void fiemap_shared_complain_of_sort(struct sharing_scan *scan, const char *what,
				    const char *failed_in, int ret);

/* Keeps the row of a file for --sort; SPACE can be NULL. Returns 0 or -ENOMEM. */
int fiemap_shared_keep_row(struct sharing_scan *scan, struct path_node *path,
			   const struct sharing *sharing, const struct file_space *space);

/* To be called before anything is read from FD, by any thread. As steady_look_add(). */
int fiemap_shared_watch(const struct sharing_scan *scan, int fd, const struct stat *status,
			struct relocation_watch **ret_watch);

/* The set for the shared extents of FD, NULL if there is none. Returns as set_shared_of(). */
int fiemap_shared_set(const struct sharing_scan *scan, int fd, const struct stat *status,
		      struct unique_shared_bytes **ret_set);

/*
 * In fiemap-shared-batch.c: reports the files without details, and maps several at the same time.
 * Returns as files_each().
 */
int fiemap_shared_summarize(struct sharing_scan *scan);

#endif
