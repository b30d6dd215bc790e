/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_REPORT_H
#define FASTPATH_FIEMAP_SHARED_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "fiemap-shared-options.h"
#include "fs/fiemap.h"
#include "sharing/extent-owners.h"
#include "sharing/fiemap-timing.h"
#include "sharing/freed-space.h"
#include "sharing/named-set.h"
#include "sharing/owner-names.h"
#include "sharing/owner-summary.h"
#include "sharing/sharing.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/files.h"
#include "ui/record.h"
#include "ui/row-sort.h"

/* The number of file extent items for each decision. */
struct decisions {
	uint64_t counts[SHARE_DECISION_COUNT];
};

/* How long it takes to map a file. */
struct sharing_timing {
	struct fiemap_timing warm;
	/* with --cold */
	bool has_cold;
	uint64_t cold_ns;
};

/* Why there are no owners: inline data is in the tree, and nothing finds other trees with the same. */
enum no_owners { OWNERS_NOT_ASKED, OWNERS_FAILED, OWNERS_INLINE };

/* With --summarize and several paths: a row for each path. */
struct argument_rows {
	char *const *paths;
	const struct sharing *sharing;
	/* NULL if unknown or not asked for */
	const struct named_argument *freed;
	uint32_t count;
};

/* The state of the report. */
struct sharing_report {
	const struct sharing_options *arguments;
	struct files *files;
	/* the sums of each file */
	struct rows *summary;
	/* of the current file, or NULL */
	const char *path;
	/* parts of the current file's report, NULL unless an option asks for them */
	struct rows *rows;
	struct rows *owners;
	/* some of the files have inline data */
	bool has_inline;
	/* with --map */
	struct file_maps maps;
	/* with --rewrite: see fiemap_shared_can_be_copied(); false if there are several files */
	bool can_be_copied;
};

/*
 * The parts of the report, in this order. If there is no such part, or no option asks for it, the
 * argument is NULL. Those that return an int return 0 or a negative errno.
 */

/* The row of a file, until all of them are sorted. */
struct summary_row {
	struct sharing sharing;
	bool has_space;
	struct file_space space;
};

/* With --sort or --top, in place of sharing_report_summary(). */
extern const struct field sharing_report_fields[];
int sharing_report_keep(struct row_sort *rows, struct path_node *path,
			const struct summary_row *kept);

/* the whole report of a file without details; SPACE is NULL if unknown or not asked for */
int sharing_report_summary(struct sharing_report *report, const char *path,
			   const struct sharing *sharing, const struct file_space *space);

/* PATH is valid until sharing_report_end_file(), unless this fails. */
int sharing_report_begin_file(struct sharing_report *report, const char *path, uint64_t size);
/* each extent; DECISIONS is NULL if --only excludes the extent from the rows */
int sharing_report_extent(struct sharing_report *report, const struct mapped_extent *extent,
			  const struct decisions *decisions);
int sharing_report_end_extents(struct sharing_report *report);
void sharing_report_calls(struct sharing_report *report, uint64_t calls,
			  const struct counter_delta *delta);
void sharing_report_decisions(struct sharing_report *report, const struct decisions *decisions);
/* the file has EXTENT_COUNT extents */
void sharing_report_timing(struct sharing_report *report, const struct sharing_timing *timing,
			   uint64_t extent_count);

/* in place of the owners */
void sharing_report_no_owners(struct sharing_report *report, enum no_owners why);
/* in the array "owner_disagreements" of JSON */
void sharing_report_disagreement(struct sharing_report *report,
				 const struct owner_disagreement *disagreement);
/* in the array "owners" of JSON */
int sharing_report_owner(struct sharing_report *report, const struct extent_owner *owner,
			 const struct owner_name *name);
/* COMPLETE: all owners were reported */
int sharing_report_end_owners(struct sharing_report *report, bool complete);

int sharing_report_sums(struct sharing_report *report, const struct sharing *sharing,
			const struct file_space *space);
/* also after a failure of another function, for the negative errno ERROR, else 0 */
void sharing_report_end_file(struct sharing_report *report, int error);

/*
 * With the rows of the arguments first. SET_SHARED_BYTES is NULL if it is unknown, SPACE if unknown or not
 * asked for.
 */
int sharing_report_total(struct sharing_report *report, const struct sharing *total,
			 const struct argument_rows *rows, const uint64_t *set_shared_bytes,
			 const struct freed_space *space);

/* the owners of all files by subvolume, in the array "owner_summary" of JSON */
int sharing_report_subvolume(struct sharing_report *report, const struct subvolume_owners *owners,
			     const struct owner_name *name);
int sharing_report_end_subvolumes(struct sharing_report *report);

/* at the end of the run: prints the rows that are left */
void sharing_report_close(struct sharing_report *report);

#endif
