/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_VERDICT_H
#define FASTPATH_NOCOW_CHECK_VERDICT_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "nocow-check-hint.h"
#include "nocow/blocked-writes.h"
#include "nocow/nocow.h"
#include "nocow/swap-file.h"
#include "text/units.h"

/* The files that are expected to be NOCOW, in addition to those that are. */
enum expect_nocow {
	EXPECT_NONE,
	EXPECT_ALWAYS,
	/* those in a directory that is NOCOW */
	EXPECT_DIRECTORY,
};

/* The options of --check. */
struct check_options {
	bool check;
	/* one of the options below was given */
	bool is_refined;
	enum expect_nocow expect;
	/* the most that may be copied: this part of a file in percent, if it is known, else the bytes */
	bool max_is_percent;
	uint64_t max_copied;
	/* NOCOW_REASON_BIT() of the reasons that do not count */
	uint32_t ignored_reasons;
};

/* Parse the arguments of the options. Return 0, or EINVAL after printing an error. */
error_t check_parse_expect(struct check_options *options, const char *text);
error_t check_parse_max_copied(struct check_options *options, const char *text);
error_t check_parse_ignored(struct check_options *options, const char *text);

enum check_verdict {
	/* --check was not given */
	VERDICT_NONE,
	VERDICT_GOOD,
	/* too much would be copied */
	VERDICT_COPIED,
	/* the file is not NOCOW, and should be */
	VERDICT_NO_FLAG,
	/* a privilege is missing, a tree cannot be read, or the file changed */
	VERDICT_UNKNOWN,
};

/* Whether --check finds the file because of VERDICT. */
bool verdict_alarms(enum check_verdict verdict);

/* The result for a file. */
struct findings {
	const char *path;
	struct nocow_file file;
	/* the mount or the subvolume is read-only */
	bool read_only;
	enum write_block block;
	struct nocow_sums sums;
	/* of the bytes that would be copied, those that count for --check */
	uint64_t counted_bytes;
	enum check_verdict verdict;
	/* as nocow_iter_tree_error() */
	int tree_error;
	/* with --swap */
	struct swap_findings swap;
	/* the report stopped early, for this negative errno */
	int error;
};

/* Whether the next write is known for every range of the file. */
bool findings_are_complete(const struct findings *findings);

/* The hint for the file, HINT_NONE where writes are blocked. */
enum nocow_hint findings_hint(const struct findings *findings);

/* Adds RANGE to the bytes of FINDINGS that count. */
void verdict_add_range(const struct check_options *options, struct findings *findings,
		       const struct nocow_range *range);

/* Sets the verdict on FINDINGS, whose sums are complete. Returns 0 or a negative errno. */
int verdict_reach(const struct check_options *options, struct findings *findings);

/* Prints a warning or an error if the verdict is not good. */
void verdict_complain(const struct check_options *options, const struct findings *findings,
		      struct size_format sizes);

#endif
