// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/message.h"
#include "ui/options.h"
#include "ui/row-sort.h"

/* -- options -- */

enum {
	OPTION_SORT = 0x4000,
	OPTION_TOP,
};

/* Behind the commands' own groups, before that of the files. */
#define GROUP 4
#define KEY_NAMES_SIZE 160
#define ROOM_MIN 64

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "Which rows, and in which order:", GROUP },
	{ "sort", OPTION_SORT, "COLUMN", 0,
	  "Sort the files by a column, in lower case with dashes: the largest figure or the first path comes first",
	  GROUP },
	{ "top", OPTION_TOP, "N", 0, "Print the first N files; the total counts all", GROUP },
	{ 0 },
};

static error_t parse_sort(struct sort_options *options, const char *text)
{
	char known[KEY_NAMES_SIZE] = "";

	for (const struct sort_key *key = options->keys; key->name; key++) {
		size_t length = strlen(known);

		if (strcmp(text, key->name) == 0) {
			options->key = key;
			return 0;
		}
		snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "",
			 key->name);
	}
	error_value("unknown column for --sort:", text, " (expected one of: %s)", known);
	return EINVAL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct sort_options *options = state->input;

	switch (key) {
	case OPTION_SORT:
		return parse_sort(options, text);
	case OPTION_TOP:
		return parse_count("--top", text, ROW_SORT_ROWS_MAX, &options->top);
	case ARGP_KEY_END:
		if (options->top && !options->key)
			options->key = options->keys;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp sort_argp = { .options = option_list, .parser = parse };

/* -- the rows that are kept -- */

struct row {
	uint64_t figure;
	char *path;
	/* as the caller gave it */
	_Alignas(max_align_t) char data[];
};

struct row_sort {
	const struct sort_options *options;
	size_t row_size;
	size_t most;
	/* a heap with the last row in order at its root, once there are as many as are kept */
	struct row **rows;
	size_t count;
	size_t room;
	uint64_t left_out_count;
};

int row_sort_new(struct row_sort **ret_sort, const struct sort_options *options, size_t row_size)
{
	struct row_sort *sort = calloc(1, sizeof(*sort));

	if (!sort)
		return -ENOMEM;
	sort->options = options;
	sort->row_size = row_size;
	sort->most = options->top ? options->top : ROW_SORT_ROWS_MAX;

	*ret_sort = sort;
	return 0;
}

static void row_free(struct row *row)
{
	if (row)
		free(row->path);
	free(row);
}

void row_sort_free(struct row_sort *sort)
{
	if (!sort)
		return;
	for (size_t i = 0; i < sort->count; i++)
		row_free(sort->rows[i]);
	free(sort->rows);
	free(sort);
}

void row_sort_freep(struct row_sort **sort)
{
	row_sort_free(*sort);
}

/* Whether a row with FIGURE and PATH comes before ROW: negative; or after it: positive. */
static int compare(uint64_t figure, const char *path, const struct row *row)
{
	if (figure != row->figure)
		return figure > row->figure ? -1 : 1;
	return strcmp(path, row->path);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	return compare(x->figure, x->path, y);
}

/* Moves the row at INDEX down to its place in the heap. */
static void sift_down(struct row_sort *sort, size_t index)
{
	for (;;) {
		size_t child = 2 * index + 1;
		struct row *row = sort->rows[index];

		if (child >= sort->count)
			return;
		if (child + 1 < sort->count &&
		    compare_rows(&sort->rows[child + 1], &sort->rows[child]) > 0)
			child++;
		if (compare_rows(&sort->rows[child], &row) <= 0)
			return;
		sort->rows[index] = sort->rows[child];
		sort->rows[child] = row;
		index = child;
	}
}

static struct row *row_new(const struct row_sort *sort, uint64_t figure, const char *path,
			   const void *data)
{
	struct row *row = malloc(sizeof(*row) + sort->row_size);

	if (!row)
		return NULL;
	row->figure = figure;
	memcpy(row->data, data, sort->row_size);
	row->path = strdup(path);
	if (!row->path) {
		free(row);
		return NULL;
	}
	return row;
}

static int make_room(struct row_sort *sort)
{
	size_t room = sort->room ? 2 * sort->room : ROOM_MIN;
	struct row **rows;

	if (sort->count < sort->room)
		return 0;
	rows = reallocarray(sort->rows, room, sizeof(struct row *));
	if (!rows)
		return -ENOMEM;
	sort->rows = rows;
	sort->room = room;
	return 0;
}

/* All rows so far are kept. */
static int append(struct row_sort *sort, struct row *row)
{
	int ret = make_room(sort);

	if (ret < 0) {
		row_free(row);
		return ret;
	}
	sort->rows[sort->count++] = row;
	if (sort->count < sort->most)
		return 0;
	for (size_t i = sort->count / 2; i > 0; i--)
		sift_down(sort, i - 1);
	return 0;
}

int row_sort_add(struct row_sort *sort, const char *path, const void *data)
{
	const struct sort_key *key = sort->options->key;
	uint64_t figure = key->figure ? key->figure(data) : 0;
	struct row *row;

	if (sort->count == sort->most) {
		sort->left_out_count++;
		if (compare(figure, path, sort->rows[0]) >= 0)
			return 0;
	}
	row = row_new(sort, figure, path, data);
	if (!row)
		return -ENOMEM;
	if (sort->count < sort->most)
		return append(sort, row);
	row_free(sort->rows[0]);
	sort->rows[0] = row;
	sift_down(sort, 0);
	return 0;
}

int row_sort_report(struct row_sort *sort, int (*report)(void *data, const char *path, void *row),
		    void *data)
{
	int ret = 0;

	if (sort->count)
		qsort(sort->rows, sort->count, sizeof(struct row *), compare_rows);
	for (size_t i = 0; ret == 0 && i < sort->count; i++)
		ret = report(data, sort->rows[i]->path, sort->rows[i]->data);
	if (sort->left_out_count && !sort->options->top)
		warning("only the first %d files are printed, and not %" PRIu64 " others",
			ROW_SORT_ROWS_MAX, sort->left_out_count);
	return ret;
}
