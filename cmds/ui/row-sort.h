/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_ROW_SORT_H
#define FASTPATH_ROW_SORT_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#include "path/path-node.h"
#include "sys/cleanup.h"
#include "ui/record.h"

/* No more rows than these are kept, so that memory is bounded: 100 MB with usual paths. */
#define ROW_SORT_ROWS_MAX 250000
/* And no rows whose paths take more, that of the last one apart. The longest ones are left out first. */
#define ROW_SORT_PATHS_SIZE_MAX (32 << 20)

/* The options --sort and --top. */
struct sort_options {
	/* of a row; it can be sorted by the fields that have a .sort */
	const struct field *fields;
	/* the one of --top without --sort */
	const char *usual;
	/* NULL: neither option was given */
	const struct field *key;
	/* 0: --top was not given */
	uint64_t top;
};

/* Sort by the column NAME, unless an option says otherwise. */
void sort_options_default(struct sort_options *options, const char *name);

/* Parses these options; its input is a struct sort_options with FIELDS and USUAL set. */
extern const struct argp sort_argp;

struct row_sort;

/*
 * Sorts the rows of a report, each with a path and DATA_SIZE bytes, and keeps only the first rows. The
 * largest figure comes first; paths, also those of equal figures, are in ascending order of bytes.
 * Returns 0 or -ENOMEM; freed with row_sort_free(). OPTIONS must outlive the sort.
 */
int row_sort_new(struct row_sort **ret_sort, const struct sort_options *options, size_t data_size);
void row_sort_free(struct row_sort *sort);
DEFINE_FREEP(row_sort_free, struct row_sort)

/*
 * Adds PATH, which it holds, and a copy of DATA. SHOWN has the fields of the options. Returns 0 or
 * -ENOMEM.
 */
int row_sort_add(struct row_sort *sort, struct path_node *path, const void *shown,
		 const void *data);

/*
 * Passes the rows that were kept to REPORT in order, until it returns a negative errno. Prints a
 * warning if some are missing although --top did not exclude them, and one if paths were too long.
 * After this nothing can be added. Returns 0, 1 if rows may be missing that --top asked for,
 * -ENOMEM, or what REPORT returned.
 */
int row_sort_report(struct row_sort *sort, int (*report)(void *data, const char *path, void *row),
		    void *data);

#endif
