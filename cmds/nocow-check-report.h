/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_REPORT_H
#define FASTPATH_NOCOW_CHECK_REPORT_H

#include <stdbool.h>

#include "nocow-check-verdict.h"
#include "ui/files.h"
#include "ui/record.h"
#include "ui/row-sort.h"

/* The state of the report. */
struct nocow_report {
	struct files *files;
	/* report each range, and not only the sums of the file */
	bool ranges;
	/* report no file, only the sums of all files */
	bool total_alone;
	/* --check: report whether it finds the file */
	bool verdicts;
	/* --swap: report this in place of the sums in text */
	bool swap;
	bool no_hints;
	/* the hints that all files together need, a bit for each */
	uint32_t hints;
	/* the number of files that --check found */
	uint64_t alarm_count;
	/* files that --check could not judge */
	uint64_t unknown_count;
	/* the sums of each file, to be ended at the end of the run; and the ranges of the current file */
	struct rows *summary;
	struct rows *rows;
};

/* The parts of the report, in this order. They return 0 or a negative errno. */

/* With --sort or --top, in place of the report on a file. */
extern const struct field nocow_report_fields[];
int nocow_report_keep(struct row_sort *rows, struct path_node *path,
		      const struct findings *findings);

/* Not called with TOTAL_ALONE; the SUMS of FINDINGS are not known yet. */
int nocow_report_begin_file(struct nocow_report *report, const struct findings *findings);
/* Called only with RANGES. */
int nocow_report_range(struct nocow_report *report, const struct nocow_range *range);
/* Also after an error of FINDINGS: then a part is missing. */
int nocow_report_end_file(struct nocow_report *report, const struct findings *findings);

/* SEVERAL: the user asked for more than one file. */
int nocow_report_total(struct nocow_report *report, const struct nocow_sums *total, bool several);

/* -- in nocow-check-swap.c -- */

/* Whether swapon takes a file with these FINDINGS. */
enum answer swap_is_usable(const struct swap_findings *findings);

/*
 * Adds the object "swap" in JSON; in text prints the answer for the file PATH, and a row for
 * each obstacle. Returns 0 or a negative errno.
 */
int swap_report(const struct swap_findings *findings, const char *path, struct output *out);

#endif
