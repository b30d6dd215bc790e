// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/name-escape.h"
#include "ui/progress.h"
#include "ui/table.h"

/*
 * libsmartcols takes microseconds for a row, and prints none before it has them all: it gets as many
 * as tell the widths of the rest.
 */
#define LAID_OUT_ROWS_MAX 500

struct laid_out_column {
	size_t width;
	bool left;
};

struct table {
	/* the rows that decide the widths of the columns; NULL once they are printed */
	struct libscols_table *first_rows;
	struct libscols_line *row;
	size_t row_count;

	struct laid_out_column *columns;
	size_t column_count;
	/* the next cell of the row */
	size_t column;
	bool in_row;

	/* the locale's encoding is UTF-8 */
	bool shows_utf8;
	/* the first negative errno */
	int error;
};

static void release(struct table *table)
{
	scols_unref_table(table->first_rows);
	free(table->columns);
	free(table);
}

static int add_column(struct table *table, const struct table_column *column)
{
	/* Rows printed later must stand below those printed first. */
	int flags = SCOLS_FL_STRICTWIDTH | (column->left ? 0 : SCOLS_FL_RIGHT);
	/* libsmartcols does not pad a column that is just as wide as its name. */
	size_t width = strlen(column->name) + 1;

	if (width < column->width)
		width = column->width;
	if (!scols_table_new_column(table->first_rows, column->name, width, flags))
		return -ENOMEM;
	table->columns[table->column_count++].left = column->left;
	return 0;
}

int table_new(struct table **ret_table, const struct table_column *columns, size_t column_count)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->shows_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	table->columns = calloc(column_count, sizeof(*table->columns));
	table->first_rows = scols_new_table();
	if (!table->columns || !table->first_rows)
		goto fail;

	/* It would escape control bytes alone. */
	scols_table_enable_noencoding(table->first_rows, 1);
	/* Never cut a name to the terminal's width. */
	scols_table_enable_nowrap(table->first_rows, 0);
	scols_table_set_termforce(table->first_rows, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; i < column_count; i++)
		if (add_column(table, &columns[i]) < 0)
			goto fail;

	*ret_table = table;
	return 0;

fail:
	release(table);
	return -ENOMEM;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	table_flush(table);
	release(table);
}

void table_freep(struct table **table)
{
	table_free(*table);
}

int table_error(const struct table *table)
{
	return table->error;
}

/* Only the first of several is kept. */
static void keep_error(struct table *table, int ret)
{
	if (!table->error && ret < 0)
		table->error = ret;
}

/* -- the first rows -- */

static void begin_first_row(struct table *table)
{
	table->row = scols_table_new_line(table->first_rows, NULL);
	if (!table->row)
		keep_error(table, -ENOMEM);
	table->row_count++;
}

static void print_first_rows(struct table *table)
{
	progress_clear();
	keep_error(table, scols_print_table(table->first_rows));
	for (size_t i = 0; i < table->column_count; i++) {
		struct libscols_column *column = scols_table_get_column(table->first_rows, i);

		table->columns[i].width = scols_column_get_width(column);
	}
	scols_unref_table(table->first_rows);
	table->first_rows = NULL;
	table->in_row = false;
}

/* -- the rows after them -- */

static void put_text(const char *text, size_t size)
{
	fwrite_unlocked(text, 1, size, stdout);
}

static void put_blanks(size_t count)
{
	for (; count; count--)
		putc_unlocked(' ', stdout);
}

/* The next cell: TEXT, which has SIZE bytes and takes WIDTH columns of a terminal. */
static int put_cell(struct table *table, const char *text, size_t size, size_t width)
{
	struct laid_out_column *column;
	size_t blanks;

	if (table->column == table->column_count)
		return -EINVAL;
	column = &table->columns[table->column];
	/* So that at least the rows after this one stand below it. */
	if (width > column->width)
		column->width = width;
	blanks = column->width - width;
	if (table->column)
		put_blanks(1);
	if (!column->left)
		put_blanks(blanks);
	put_text(text, size);
	/* Nothing stands after the last column that could be out of its place. */
	if (column->left && table->column + 1 < table->column_count)
		put_blanks(blanks);
	/* At once: a message may be printed before the next row begins. */
	if (++table->column == table->column_count) {
		put_text("\n", 1);
		table->in_row = false;
	}
	return 0;
}

/* A row may have fewer cells than there are columns. */
static void end_row(struct table *table)
{
	while (table->in_row)
		put_cell(table, "", 0, 0);
}

/* How many columns of a terminal TEXT takes, which is in the locale's encoding. */
static size_t display_width(const char *text)
{
	const char *end = text + strlen(text);
	mbstate_t state = { 0 };
	size_t width = 0;

	while (text < end) {
		wchar_t character;
		size_t length = mbrtowc(&character, text, end - text, &state);
		int columns;

		if (length > (size_t)(end - text))
			return width + (end - text);
		columns = wcwidth(character);
		width += columns > 0 ? columns : 0;
		text += length;
	}
	return width;
}

/* -- both -- */

void table_begin_row(struct table *table)
{
	if (table->row_count == LAID_OUT_ROWS_MAX && table->first_rows)
		print_first_rows(table);
	if (table->error)
		return;

	if (table->first_rows) {
		begin_first_row(table);
	} else {
		end_row(table);
		progress_clear();
	}
	table->in_row = true;
	table->column = 0;
}

/* SIZE bytes of TEXT, which ends with them, printed as they are. */
static void plain_cell(struct table *table, const char *text, size_t size)
{
	int ret;

	if (table->error)
		return;
	if (table->first_rows)
		ret = scols_line_set_data(table->row, table->column++, text);
	else
		ret = put_cell(table, text, size, size);
	keep_error(table, ret);
}

/* libsmartcols 2.38 never ends on what is not in the locale's encoding. */
static void odd_cell(struct table *table, const char *text)
{
	CLEANUP_FREE char *escaped = NULL;
	int ret;

	if (table->error)
		return;
	escaped = table->shows_utf8 ? escape_name(text) : escape_name_to_ascii(text);
	if (!escaped)
		ret = -ENOMEM;
	else if (table->first_rows)
		ret = scols_line_set_data(table->row, table->column++, escaped);
	else
		ret = put_cell(table, escaped, strlen(escaped), display_width(escaped));
	keep_error(table, ret);
}

void table_cell(struct table *table, const char *text)
{
	if (name_is_plain(text))
		plain_cell(table, text, strlen(text));
	else
		odd_cell(table, text);
}

void table_number_cell(struct table *table, uint64_t number)
{
	char text[DECIMAL_TEXT_SIZE];

	plain_cell(table, text, decimal_write(text, number));
}

void table_size_cell(struct table *table, uint64_t bytes, struct size_format format)
{
	char text[UNITS_TEXT_SIZE];

	format_size(text, bytes, format);
	plain_cell(table, text, strlen(text));
}

int table_flush(struct table *table)
{
	if (table->first_rows && table->row_count)
		print_first_rows(table);
	if (!table->first_rows && !table->error)
		end_row(table);
	return table->error;
}

int table_end(struct table **table)
{
	int ret = *table ? table_flush(*table) : 0;

	table_freep(table);
	*table = NULL;
	return ret;
}
