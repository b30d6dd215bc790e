/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_REPORT_H
#define FASTPATH_FILE_REPORT_H

#include <stdint.h>

#include "ui/file-options.h"
#include "ui/file-visit.h"
#include "ui/json.h"

/* The parts of a command that reports on files; DATA is the command's own. */
struct file_report_ops {
	/* the array of the files in JSON; NULL: the command writes all of its output itself */
	const char *key;
	/* before anything is printed: allocates what the others use; returns 0 or a negative errno */
	int (*prepare)(void *data);
	/* reports a file, as file_visit_each() wants it */
	struct failure (*file)(void *data, const struct opened_file *file);
	/* instead of file(): reports all that WALK finds; returns as file_walk_next() */
	int (*walk)(void *data, struct file_walk *walk);
	/* after the files, in text only if the walk came to its end; may be NULL; as prepare() */
	int (*total)(void *data);
	/* after the total, unless something failed; may be NULL; as prepare() */
	int (*append)(void *data);
	/* at the end, also if prepare() failed: frees everything, and prints what tables hold */
	void (*release)(void *data);
};

/* What a run keeps. */
struct file_report {
	const struct file_options *options;
	struct file_visit visit;
	/* in JSON, where the array of the files is open while they are reported */
	struct json_writer json;
	/* reported so far; counted by the command */
	uint64_t file_count;
};

/*
 * Reports the files that OPTIONS asks for, between the head and the foot of the whole report.
 * Shows progress, and complains about all that fails. Returns the exit status.
 */
int file_report_run(struct file_report *report, const struct file_options *options,
		    const struct file_report_ops *ops, void *data);

#endif
