/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_H
#define FASTPATH_FIEMAP_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "fiemap-shared-report.h"
#include "fs/fiemap.h"
#include "fs/filesystem.h"
#include "sharing/sharing.h"
#include "sharing/unique-shared-bytes.h"
#include "ui/file-report.h"

/* The state of a run. */
struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct report report;
	/* NULL if a single file is named: then the set would have the same bytes as the file */
	struct unique_shared_bytes *set;
	struct sharing total;
	/* with --sort or --top; the rows are struct sharing */
	struct row_sort *rows;
	/* with --owners and --summarize; the file system is that of the first file */
	struct owner_summary *owner_summary;
	int owner_fd;
	uint8_t owner_fsid[FSID_SIZE];
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

#endif
