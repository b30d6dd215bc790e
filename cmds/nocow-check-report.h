/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_REPORT_H
#define FASTPATH_NOCOW_CHECK_REPORT_H

#include <stdbool.h>

#include "base/units.h"
#include "nocow-check-exercise.h"
#include "nocow/nocow.h"
#include "ui/file-report.h"
#include "ui/table.h"

/* What was found of a file. */
struct findings {
	const char *path;
	struct nocow_file file;
	bool read_only;
	struct nocow_sums sums;
};

/* Whether it is known of all of the file. */
bool findings_are_complete(const struct findings *findings);

/* What both reporters need, and what the text between two calls is made of. */
struct report {
	const struct report_ops *ops;
	struct file_report *files;
	struct size_format sizes;
	/* each range is told of, not only what all of a file's add up to */
	bool ranges;
	/* no file is told of, only what all add up to */
	bool total_alone;
	/* of text: a row per file; and the ranges of the file under way */
	struct table *summary;
	struct table *rows;
};

/*
 * Tells what was found, element by element, in this order. Those that return an int return 0 or a
 * negative errno.
 */
struct report_ops {
	/* before all files, and at the end of the run, which prints what tables hold */
	int (*open)(struct report *report);
	void (*close)(struct report *report);

	/* not if TOTAL_ALONE; there are no SUMS yet */
	int (*begin_file)(struct report *report, const struct findings *findings);
	/* if RANGES are told of */
	int (*range)(struct report *report, const struct nocow_range *range);
	/* also after a failure: RET is 0, or the negative errno for which a part is missing */
	int (*end_file)(struct report *report, const struct findings *findings, int ret);

	/* SEVERAL: more than one file was asked for */
	int (*total)(struct report *report, const struct nocow_sums *total, bool several);
	void (*exercise)(struct report *report, const struct exercise *exercise);
};

extern const struct report_ops nocow_check_text;
extern const struct report_ops nocow_check_json;

#endif
