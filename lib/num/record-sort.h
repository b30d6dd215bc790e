/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RECORD_SORT_H
#define FASTPATH_RECORD_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/cleanup.h"

struct record_sort_ops {
	size_t record_size;
	/* as for qsort() */
	int (*compare)(const void *a, const void *b);
	/*
	 * If RECORD and NEXT are to become one, merge NEXT into RECORD and return true. NEXT is
	 * never less than RECORD. The result must depend only on the two records.
	 */
	bool (*merge)(void *record, const void *next);
};

/* Returns a negative number, 0 or a positive one, as a comparison of qsort() does. */
static inline int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

struct record_sort;

/*
 * Sorts any number of records and merges neighbours, in about MEMORY bytes. Records that do not fit
 * are written to a temporary file in $TMPDIR or /var/tmp, which has no name, so that other users
 * cannot open it.
 * Returns 0, or -ENOMEM. OPS must outlive the sort.
 */
int record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops,
		    size_t memory);
void record_sort_free(struct record_sort *sort);
DEFINE_FREEP(record_sort_free, struct record_sort)

/* Adds a copy of RECORD. record_sort_finish() returns an error of this function. */
void record_sort_add(struct record_sort *sort, const void *record);

/*
 * Ends the adding; then records come out of record_sort_next().
 * Returns 0, or the first error: -ENOMEM, or the negative errno of the temporary file.
 */
int record_sort_finish(struct record_sort *sort);

/* If the temporary file failed, its directory, else NULL. It belongs to SORT. */
const char *record_sort_failed_in(const struct record_sort *sort);

/*
 * The next record, in order and merged.
 * Returns 1, 0 at the end, or a negative errno (-EIO for a temporary file cut short).
 */
int record_sort_next(struct record_sort *sort, void *ret_record);

#endif
