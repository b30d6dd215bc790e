/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_DIRECTORIES_H
#define FASTPATH_FIEMAP_SHARED_DIRECTORIES_H

#include <stdint.h>

#include "path/path-node.h"
#include "sharing/sharing.h"
#include "ui/row-sort.h"

/*
 * --depth: a row for each directory down to a level below the arguments, with the sums of all
 * files below it. A file that is an argument has a row, too.
 */
struct directory_rows;

/* DEPTH is 0 for the arguments alone. Returns 0 or -ENOMEM; freed with directory_rows_free(). */
int directory_rows_new(struct directory_rows **ret_rows, uint64_t depth);
void directory_rows_free(struct directory_rows *rows);

/* Adds a file with the path PATH. Returns 0 or -ENOMEM. */
int directory_rows_add(struct directory_rows *rows, struct path_node *path,
		       const struct sharing *sharing);

/*
 * Adds all rows to SORT. Returns 0, 1 if there are more directories than rows that can be kept, or
 * -ENOMEM.
 */
int directory_rows_sort(const struct directory_rows *rows, struct row_sort *sort);

#endif
