// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
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
#define ROOM_MIN 64

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "Which rows, and in which order:", GROUP },
	{ "sort", OPTION_SORT, "COLUMN", 0, "Sort by", GROUP },
	{ "top", OPTION_TOP, "N", 0, "Print the first N files; the total has all", GROUP },
	{ 0 },
};

static const struct field *find_key(const struct field *fields, const char *name)
{
	for (; fields->type; fields++)
		if (fields->sort && strcmp(fields->sort, name) == 0)
			return fields;
	return NULL;
}

void sort_options_default(struct sort_options *options, const char *name)
{
	if (!options->key)
		options->key = find_key(options->fields, name);
}

/* BEFORE, a blank, and the names of the keys with commas between. Freed by the caller; NULL without memory. */
static char *list_keys(const char *before, const struct field *fields)
{
	char *text = strdup(before);

	for (const char *between = " "; text && fields->type; fields++) {
		char *longer = NULL;

		if (!fields->sort)
			continue;
		if (asprintf(&longer, "%s%s%s", text, between, fields->sort) < 0)
			longer = NULL;
		free(text);
		text = longer;
		between = ", ";
	}
	return text;
}

static error_t refuse_key(const struct field *fields, const char *text)
{
	CLEANUP_FREE char *known = list_keys("expected one of:", fields);

	error_value("unknown column for --sort:", text, " (%s)", known ? known : "");
	return EINVAL;
}

/* The help has the names. */
static char *filter_help(int key, const char *text, void *input)
{
	const struct sort_options *options = input;

	return key == OPTION_SORT ? list_keys(text, options->fields) : (char *)text;
}

static error_t parse_sort(struct sort_options *options, const char *text)
{
	options->key = find_key(options->fields, text);
	return options->key ? 0 : refuse_key(options->fields, text);
}

static error_t parse_sort_option(int key, char *text, struct argp_state *state)
{
	struct sort_options *options = state->input;

	switch (key) {
	case OPTION_SORT:
		return parse_sort(options, text);
	case OPTION_TOP:
		return parse_count("--top", text, ROW_SORT_ROWS_MAX, &options->top);
	case ARGP_KEY_END:
		if (options->top)
			sort_options_default(options, options->usual);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp sort_argp = {
	.options = option_list,
	.parser = parse_sort_option,
	.help_filter = filter_help,
};

/* -- the rows that are kept -- */

struct row {
	uint64_t figure;
	struct path_node *path;
	/* as the caller gave it */
	_Alignas(max_align_t) char data[];
};

struct row_sort {
	const struct sort_options *options;
	size_t data_size;
	size_t most;
	/* once a row is left out, a heap with the last row in order at its root */
	struct row **rows;
	size_t count;
	size_t room;
	/* the first in order of the rows that were left out, or NULL */
	struct row *first_left_out;
	uint64_t left_out_count;
	/* the bytes of all paths, as if they had no directories in common */
	size_t paths_size;
	/* longer paths are left out, wherever they come in order */
	size_t length_max;
	uint64_t too_long_count;
};

int row_sort_new(struct row_sort **ret_sort, const struct sort_options *options, size_t data_size)
{
	struct row_sort *sort = calloc(1, sizeof(*sort));

	if (!sort)
		return -ENOMEM;
	sort->options = options;
	sort->data_size = data_size;
	sort->most = options->top ? options->top : ROW_SORT_ROWS_MAX;
	sort->length_max = SIZE_MAX;

	*ret_sort = sort;
	return 0;
}

static void row_free(struct row *row)
{
	if (row)
		path_node_release(row->path);
	free(row);
}

void row_sort_free(struct row_sort *sort)
{
	if (!sort)
		return;
	for (size_t i = 0; i < sort->count; i++)
		row_free(sort->rows[i]);
	row_free(sort->first_left_out);
	free(sort->rows);
	free(sort);
}

/* Whether a row with FIGURE and PATH comes before ROW: negative; or after it: positive. */
static int compare(uint64_t figure, const struct path_node *path, const struct row *row)
{
	if (figure != row->figure)
		return figure > row->figure ? -1 : 1;
	return path_node_compare(path, row->path);
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

static struct row *row_new(const struct row_sort *sort, uint64_t figure, struct path_node *path,
			   const void *data)
{
	struct row *row = malloc(sizeof(*row) + sort->data_size);

	if (!row)
		return NULL;
	row->figure = figure;
	row->path = path_node_hold(path);
	memcpy(row->data, data, sort->data_size);
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

/* Moves the last row up to its place in the heap. */
static void sift_up(struct row_sort *sort)
{
	for (size_t index = sort->count - 1; index;) {
		size_t parent = (index - 1) / 2;
		struct row *row = sort->rows[index];

		if (compare_rows(&sort->rows[parent], &row) >= 0)
			return;
		sort->rows[index] = sort->rows[parent];
		sort->rows[parent] = row;
		index = parent;
	}
}

static bool has_heap(const struct row_sort *sort)
{
	return sort->first_left_out;
}

static void make_heap(struct row_sort *sort)
{
	for (size_t i = sort->count / 2; i > 0; i--)
		sift_down(sort, i - 1);
}

/* Removes the last row in order. */
static void leave_out_row(struct row_sort *sort)
{
	if (!has_heap(sort))
		make_heap(sort);
	row_free(sort->first_left_out);
	sort->first_left_out = sort->rows[0];
	sort->left_out_count++;
	sort->paths_size -= path_node_length(sort->rows[0]->path);
	sort->rows[0] = sort->rows[--sort->count];
	sift_down(sort, 0);
}

static size_t longest_path(const struct row_sort *sort)
{
	size_t longest = 0;

	for (size_t i = 0; i < sort->count; i++) {
		size_t length = path_node_length(sort->rows[i]->path);

		if (length > longest)
			longest = length;
	}
	return longest;
}

static bool is_too_long(const struct row_sort *sort, const struct path_node *path)
{
	return path_node_length(path) > sort->length_max;
}

/* Removes the rows whose paths are longer than half of the longest one. */
static void leave_out_longest(struct row_sort *sort, size_t longest)
{
	size_t kept = 0;

	sort->length_max = longest / 2 > PATH_MAX ? longest / 2 : PATH_MAX;
	for (size_t i = 0; i < sort->count; i++) {
		struct row *row = sort->rows[i];

		if (!is_too_long(sort, row->path)) {
			sort->rows[kept++] = row;
			continue;
		}
		sort->too_long_count++;
		sort->paths_size -= path_node_length(row->path);
		row_free(row);
	}
	sort->count = kept;
	if (has_heap(sort))
		make_heap(sort);
}

/* What is under way takes memory for paths, too, which no row is to be left out for. */
static bool take_too_much(const struct row_sort *sort, const struct path_node *path)
{
	return sort->count > 1 && sort->paths_size > ROW_SORT_PATHS_SIZE_MAX &&
	       path_node_others_size(path) > ROW_SORT_PATHS_SIZE_MAX;
}

/* PATH is that of the last row, which may be left out, too. */
static void leave_out_excess(struct row_sort *sort, struct path_node *path)
{
	while (take_too_much(sort, path)) {
		size_t longest = longest_path(sort);

		if (longest > PATH_MAX)
			leave_out_longest(sort, longest);
		else
			leave_out_row(sort);
	}
	while (sort->count > sort->most)
		leave_out_row(sort);
}

/* Whether a row that comes before one with FIGURE and PATH was left out. */
static bool comes_too_late(const struct row_sort *sort, uint64_t figure,
			   const struct path_node *path)
{
	return sort->first_left_out && compare(figure, path, sort->first_left_out) >= 0;
}

int row_sort_add(struct row_sort *sort, struct path_node *path, const void *shown, const void *data)
{
	uint64_t figure = field_figure(sort->options->key, shown);
	struct row *row;

	if (is_too_long(sort, path)) {
		sort->too_long_count++;
		return 0;
	}
	if (comes_too_late(sort, figure, path)) {
		sort->left_out_count++;
		return 0;
	}
	row = row_new(sort, figure, path, data);
	if (!row || make_room(sort) < 0) {
		row_free(row);
		return -ENOMEM;
	}
	sort->rows[sort->count++] = row;
	sort->paths_size += path_node_length(path);
	if (has_heap(sort))
		sift_up(sort);
	leave_out_excess(sort, path);
	return 0;
}

static int report_kept(struct path_text *text, const struct row *row,
		       int (*report)(void *data, const char *path, void *row), void *data)
{
	const char *path = path_text_of(text, path_node_directory(row->path),
					path_node_name(row->path));

	return path ? report(data, path, (void *)row->data) : -ENOMEM;
}

/* Whether rows are missing although --top did not exclude them. */
static bool lacks_rows(const struct row_sort *sort)
{
	return sort->left_out_count && (!sort->options->top || sort->count < sort->options->top);
}

static void warn(const struct row_sort *sort)
{
	if (sort->too_long_count)
		warning("%" PRIu64 " files are not printed: their paths have more than %zu bytes",
			sort->too_long_count, sort->length_max);
	if (lacks_rows(sort))
		warning("only the first %zu files are printed, %" PRIu64 " others are not",
			sort->count, sort->left_out_count);
}

int row_sort_report(struct row_sort *sort, int (*report)(void *data, const char *path, void *row),
		    void *data)
{
	struct path_text text = { 0 };
	int ret = 0;

	if (sort->count)
		qsort(sort->rows, sort->count, sizeof(struct row *), compare_rows);
	for (size_t i = 0; ret == 0 && i < sort->count; i++)
		ret = report_kept(&text, sort->rows[i], report, data);
	path_text_free(&text);
	if (ret < 0 || (!lacks_rows(sort) && !sort->too_long_count))
		return ret;
	warn(sort);
	/* What was asked for is not there. */
	return sort->options->top ? 1 : 0;
}
