/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_H
#define FASTPATH_FIEMAP_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "fiemap-shared-report.h"
#include "fs/fiemap.h"
#include "fs/filesystem.h"
#include "sharing/file-space.h"
#include "sharing/named-set.h"
#include "sharing/sharing.h"
#include "sharing/unique-shared-bytes.h"
#include "ui/file-report.h"

/* The state of a run. */
/* The row of a file, until all of them are sorted. */
struct summary_row {
	struct sharing sharing;
	bool has_space;
	struct file_space space;
};

struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct report report;
	/* NULL if a single file is named: then the set would have the same bytes as the file */
	struct unique_shared_bytes *set;
	struct sharing total;
	/* with --sort or --top; the rows are struct summary_row */
	struct row_sort *rows;
	/* with --owners and --summarize; the file system is that of the first file */
	struct owner_summary *owner_summary;
	int owner_fd;
	uint8_t owner_fsid[FSID_SIZE];
	/* with --disk or --freed, else NULL: the files, and the reader of the walk's thread */
	struct named_set *named;
	struct space_reader *reader;
	/* of all files so far, as stored */
	uint64_t inline_disk_bytes;
	/* a file or a directory could not be examined for --disk and --freed */
	bool no_space;
	/* the privilege to search trees is missing, and a warning was printed */
	bool no_tree_search;
	/* reused for each file that is reported with details */
	struct fiemap_iter *iter;
};

/* Adds a reported file to the total. */
void fiemap_shared_count_file(struct scan *scan, const struct sharing *sharing);

void fiemap_shared_complain_no_memory(struct scan *scan);

/*
 * Prints an error: WHAT cannot be sorted, because of the negative errno RET. FAILED_IN is the
 * directory of the temporary file, or NULL if something else failed.
 */
void fiemap_shared_complain_of_sort(struct scan *scan, const char *what, const char *failed_in,
				    int ret);

/* Keeps the row of a file for --sort; SPACE can be NULL. Returns 0 or -ENOMEM. */
int fiemap_shared_keep_row(struct scan *scan, const char *path, const struct sharing *sharing,
			   const struct file_space *space);

#endif
