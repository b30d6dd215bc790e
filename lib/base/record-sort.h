/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RECORD_SORT_H
#define FASTPATH_RECORD_SORT_H

#include <stdbool.h>
#include <stddef.h>

struct record_sort_ops {
	size_t record_size;
	/* as for qsort() */
	int (*compare)(const void *a, const void *b);
	/*
	 * Fold NEXT, which does not sort before RECORD, into RECORD if the two are to become
	 * one. Must depend on the two records alone.
	 */
	bool (*merge)(void *record, const void *next);
};

struct record_sort;

/*
 * Sorts any number of records and merges neighbours, in about MEMORY bytes: what does not
 * fit goes to a temporary file in $TMPDIR or /var/tmp, which has no name and which other users
 * cannot open.
 * Returns 0, or -ENOMEM. OPS must outlive the sort.
 */
int record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops,
		    size_t memory);
void record_sort_free(struct record_sort *sort);
void record_sort_freep(struct record_sort **sort);

/* Copies RECORD in. If that fails, record_sort_finish() tells. */
void record_sort_add(struct record_sort *sort, const void *record);

/*
 * Ends the adding; then records come out of record_sort_next().
 * Returns 0, or what failed first: -ENOMEM, or the negative errno of the temporary file.
 */
int record_sort_finish(struct record_sort *sort);

/* The directory of the temporary file if it was this that failed, else NULL. Owned by SORT. */
const char *record_sort_failed_in(const struct record_sort *sort);

/*
 * The next record, in order and merged.
 * Returns 1, 0 at the end, or a negative errno (-EIO for a temporary file cut short).
 */
int record_sort_next(struct record_sort *sort, void *ret_record);

#endif
