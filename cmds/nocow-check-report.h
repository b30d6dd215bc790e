/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_REPORT_H
#define FASTPATH_NOCOW_CHECK_REPORT_H

#include <stdbool.h>

#include "base/units.h"
#include "nocow-check-exercise.h"
#include "nocow/nocow.h"
#include "ui/file-report.h"
#include "ui/table.h"

/* The result for a file. */
struct findings {
	const char *path;
	struct nocow_file file;
	bool read_only;
	struct nocow_sums sums;
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
	/* also after a failure: then RET is the negative errno, and a part is missing; else RET is 0 */
	int (*end_file)(struct report *report, const struct findings *findings, int ret);

	/* SEVERAL: the user asked for more than one file */
	int (*total)(struct report *report, const struct nocow_sums *total, bool several);
	void (*exercise)(struct report *report, const struct exercise *exercise);
};

extern const struct report_ops nocow_check_text;
extern const struct report_ops nocow_check_json;
/* has the total alone */
extern const struct report_ops nocow_check_metrics;

#endif
