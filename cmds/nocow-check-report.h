/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_REPORT_H
#define FASTPATH_NOCOW_CHECK_REPORT_H

#include <stdbool.h>

#include "base/units.h"
#include "nocow-check-exercise.h"
#include "nocow-check-hint.h"
#include "nocow-check-verdict.h"
#include "nocow/nocow.h"
#include "ui/file-report.h"
#include "ui/table.h"

/* The result for a file. */
struct findings {
	const char *path;
	struct nocow_file file;
	bool read_only;
	struct nocow_sums sums;
	/* of the bytes that would be copied, those that count for --check */
	uint64_t counted_bytes;
	enum verdict verdict;
	/* the report stopped early, for this negative errno */
	int error;
};

/* Whether the next write is known for every range of the file. */
bool findings_are_complete(const struct findings *findings);

/* The state of both reporters. */
struct report {
	const struct report_ops *ops;
	struct file_report *files;
	struct size_format sizes;
	/* report each range, and not only the sums of the file */
	bool ranges;
	/* report no file, only the sums of all files */
	bool total_alone;
	/* of the format openmetrics, else NULL */
	struct metrics *metrics;
	/* --check: report whether it finds the file */
	bool verdicts;
	/* text only: do not print hints */
	bool no_hints;
	/* the hints that all files together need, a bit for each */
	uint32_t hints;
	/* the number of files that --check found */
	uint64_t alarm_count;
	/* files of which --check could not tell */
	uint64_t unknown_count;
	/* text only: a row per file, and the ranges of the current file */
	struct table *summary;
	struct table *rows;
};

/*
 * A reporter prints each element of the report when it gets it. The functions are called in this
 * order. Those that return an int return 0 or a negative errno.
 */
struct report_ops {
	/* before the first file; and at the end of the run: prints the rows left in the tables */
	int (*open)(struct report *report);
	void (*close)(struct report *report);

	/* not called with TOTAL_ALONE; the SUMS of FINDINGS are not known yet */
	int (*begin_file)(struct report *report, const struct findings *findings);
	/* called only with RANGES */
	int (*range)(struct report *report, const struct nocow_range *range);
	/* also after an error of FINDINGS: then a part is missing */
	int (*end_file)(struct report *report, const struct findings *findings);

	/* SEVERAL: the user asked for more than one file */
	int (*total)(struct report *report, const struct nocow_sums *total, bool several);
	void (*exercise)(struct report *report, const struct exercise *exercise);
};

extern const struct report_ops nocow_check_text;
extern const struct report_ops nocow_check_json;
/* has the total alone */
extern const struct report_ops nocow_check_metrics;

#endif
