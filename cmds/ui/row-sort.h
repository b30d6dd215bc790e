/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_ROW_SORT_H
#define FASTPATH_ROW_SORT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Without --top no more rows than this are kept, so that memory is bounded: 100 MB with usual paths.
 */
#define ROW_SORT_ROWS_MAX 250000

/* A column by which rows can be sorted. */
struct sort_key {
	/* the column's name in lower case, with dashes */
	const char *name;
	/* the figure that ROW has there; NULL: the path */
	uint64_t (*figure)(const void *row);
};

/* The options --sort and --top. */
struct sort_options {
	/* the columns, ended by one without a name; the first is the default of --top */
	const struct sort_key *keys;
	/* NULL: neither option was given */
	const struct sort_key *key;
	/* 0: --top was not given */
	uint64_t top;
};

/* Parses these options; its input is a struct sort_options with KEYS set. */
extern const struct argp sort_argp;

struct row_sort;

/*
 * Sorts the rows of a report, each with a path and ROW_SIZE bytes, and keeps only the first rows. The
 * largest figure comes first; paths, also those of equal figures, are in ascending order of bytes.
 * Returns 0 or -ENOMEM; freed with row_sort_free(). OPTIONS must outlive the sort.
 */
int row_sort_new(struct row_sort **ret_sort, const struct sort_options *options, size_t row_size);
void row_sort_free(struct row_sort *sort);
void row_sort_freep(struct row_sort **sort);

/* Adds copies of PATH and ROW. Returns 0 or -ENOMEM. */
int row_sort_add(struct row_sort *sort, const char *path, const void *row);

/*
 * Passes the rows that were kept to REPORT in order, until it returns a negative errno. Prints a
 * warning if some are missing although --top was not given. After this nothing can be added.
 * Returns 0, or what REPORT returned.
 */
int row_sort_report(struct row_sort *sort, int (*report)(void *data, const char *path, void *row),
		    void *data);

#endif
