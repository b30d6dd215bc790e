// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fiemap-shared-directories.h"
#include "fiemap-shared-report.h"

struct directory_row {
	struct path_node *path;
	struct sharing sharing;
	/* the one that was made before it */
	struct directory_row *next;
};

struct directory_rows {
	uint64_t depth;
	/* of tsearch(3), by the address of the path's node */
	void *tree;
	struct directory_row *first;
	uint64_t count;
	bool are_too_many;
};

int directory_rows_new(struct directory_rows **ret_rows, uint64_t depth)
{
	struct directory_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	rows->depth = depth;
	*ret_rows = rows;
	return 0;
}

static int compare_directories(const void *a, const void *b)
{
	const struct directory_row *x = a, *y = b;

	return (x->path > y->path) - (x->path < y->path);
}

void directory_rows_free(struct directory_rows *rows)
{
	if (!rows)
		return;
	while (rows->first) {
		struct directory_row *row = rows->first;

		rows->first = row->next;
		tdelete(row, &rows->tree, compare_directories);
		path_node_release(row->path);
		free(row);
	}
	free(rows);
}

/* Returns -ENOMEM, or 0; *RET_ROW is NULL for one that is too many. */
static int find_row(struct directory_rows *rows, struct path_node *path,
		    struct directory_row **ret_row)
{
	const struct directory_row wanted = { .path = path };
	void *found = tfind(&wanted, &rows->tree, compare_directories);
	struct directory_row *row;

	*ret_row = found ? *(struct directory_row **)found : NULL;
	if (found)
		return 0;
	rows->are_too_many |= rows->count == ROW_SORT_ROWS_MAX;
	if (rows->are_too_many)
		return 0;
	row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->path = path;
	if (!tsearch(row, &rows->tree, compare_directories)) {
		free(row);
		return -ENOMEM;
	}
	path_node_hold(path);
	row->next = rows->first;
	rows->first = row;
	rows->count++;
	*ret_row = row;
	return 0;
}

/* The level of PATH below its argument. */
static uint64_t depth_of(const struct path_node *path)
{
	uint64_t depth = 0;

	while ((path = path_node_directory(path)))
		depth++;
	return depth;
}

int directory_rows_add(struct directory_rows *rows, struct path_node *path,
		       const struct sharing *sharing)
{
	uint64_t depth = depth_of(path);
	struct directory_row *row;
	int ret = 0;

	/* Of what is no argument, only directories have rows. */
	if (depth) {
		path = path_node_directory(path);
		depth--;
	}
	for (; ret == 0 && path; path = path_node_directory(path), depth--) {
		if (depth > rows->depth)
			continue;
		ret = find_row(rows, path, &row);
		if (ret == 0 && row)
			sharing_add(&row->sharing, sharing);
	}
	return ret;
}

int directory_rows_sort(const struct directory_rows *rows, struct row_sort *sort)
{
	int ret = 0;

	for (const struct directory_row *row = rows->first; row && ret == 0; row = row->next) {
		const struct summary_row summary = { .sharing = row->sharing };

		ret = sharing_report_keep(sort, row->path, &summary);
	}
	return ret < 0 ? ret : rows->are_too_many;
}
