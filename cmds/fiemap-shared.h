/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_H
#define FASTPATH_FIEMAP_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "fiemap-shared-report.h"
#include "fs/fiemap.h"
#include "sharing/sharing.h"
#include "sharing/unique-shared-bytes.h"
#include "ui/file-report.h"

/* The whole run. */
struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct report report;
	/* NULL for one named file, whose shared bytes are the set's */
	struct unique_shared_bytes *set;
	struct sharing total;
	/* the privilege was found missing, and said so */
	bool no_tree_search;
	/* for the files in detail, one after the other */
	struct fiemap_iter *iter;
};

/* Adds a reported file to the total. */
void fiemap_shared_count_file(struct scan *scan, const struct sharing *sharing);

void fiemap_shared_complain_no_memory(struct scan *scan);

/*
 * Says that WHAT cannot be sorted, for the negative errno RET; FAILED_IN is the directory of the
 * temporary file, or NULL if something else failed.
 */
void fiemap_shared_complain_of_sort(struct scan *scan, const char *what, const char *failed_in,
				    int ret);

#endif
