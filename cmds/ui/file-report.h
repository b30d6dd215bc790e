/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_REPORT_H
#define FASTPATH_FILE_REPORT_H

#include <stdint.h>

#include "ui/file-options.h"
#include "ui/file-visit.h"
#include "ui/json.h"

/* The functions of a command that reports on files. DATA belongs to the command. */
struct file_report_ops {
	/* the array of the files in JSON; NULL: the command writes all of its output itself */
	const char *key;
	/* before anything is printed: allocates memory; returns 0 or a negative errno */
	int (*prepare)(void *data);
	/* reports a file; see file_visit_each() */
	struct failure (*file)(void *data, const struct opened_file *file);
	/* instead of file(): reports all files of WALK; returns as file_walk_next() */
	int (*walk)(void *data, struct file_walk *walk);
	/* a directory that the walk enters, as in struct file_walk_options; can be NULL */
	int (*directory)(void *data, int fd, const struct stat *status);
	/* each name of each file that file() reports; see struct file_visit; can be NULL */
	int (*name)(void *data, const struct found_file *found, int fd, const struct stat *status);
	/* after the walk, also if it failed: reports the files that file() or walk() has kept; can be
	 * NULL; returns as prepare() */
	int (*kept)(void *data);
	/* after the files, for text only after a complete walk; can be NULL; returns as prepare() */
	int (*total)(void *data);
	/* after the total, unless something failed; can be NULL; returns as prepare() */
	int (*append)(void *data);
	/* at the end, also if prepare() failed: prints the rows left in tables, frees memory */
	void (*release)(void *data);
};

/* The state of a run. */
struct file_report {
	const struct file_options *options;
	struct file_visit visit;
	/* for JSON; the array of the files is open while they are reported */
	struct json_writer json;
	/* the number of files reported so far, counted by the command */
	uint64_t file_count;
};

/*
 * Reports the files that OPTIONS selects, with the begin and the end of the whole report. Shows
 * progress, and prints an error for each failure. Returns the exit status.
 */
int file_report_run(struct file_report *report, const struct file_options *options,
		    const struct file_report_ops *ops, void *data);

/* Opens the object "total" in JSON with the counts of files. The command adds its sums and ends it. */
void file_report_begin_json_total(struct file_report *report);

#endif
