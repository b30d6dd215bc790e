// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name-escape.h"
#include "ui/progress.h"
#include "ui/table.h"

#define ROWS_AT_ONCE 512

struct table {
	struct libscols_table *rows;
	struct libscols_line *row;
	size_t row_count;
	size_t column;
	/* the locale's encoding is UTF-8 */
	bool shows_utf8;
	/* the first negative errno */
	int error;
};

int table_new(struct table **ret_table, const struct table_column *columns, size_t column_count)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->shows_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	table->rows = scols_new_table();
	if (!table->rows)
		goto fail;

	/* It would escape control bytes alone. */
	scols_table_enable_noencoding(table->rows, 1);
	/* Never cut a name to the terminal's width. */
	scols_table_enable_nowrap(table->rows, 0);
	scols_table_set_termforce(table->rows, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; i < column_count; i++) {
		/* Rows printed later must stand below those printed first. */
		int flags = SCOLS_FL_STRICTWIDTH | (columns[i].left ? 0 : SCOLS_FL_RIGHT);
		/* libsmartcols does not pad a column that is just as wide as its name. */
		size_t width = strlen(columns[i].name) + 1;

		if (width < columns[i].width)
			width = columns[i].width;
		if (!scols_table_new_column(table->rows, columns[i].name, width, flags))
			goto fail;
	}

	*ret_table = table;
	return 0;

fail:
	scols_unref_table(table->rows);
	free(table);
	return -ENOMEM;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	table_flush(table);
	scols_unref_table(table->rows);
	free(table);
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
static int keep_error(struct table *table, int ret)
{
	if (!table->error && ret < 0)
		table->error = ret;
	return table->error;
}

int table_begin_row(struct table *table)
{
	if (table->row_count == ROWS_AT_ONCE)
		table_flush(table);
	if (table->error)
		return table->error;

	table->row = scols_table_new_line(table->rows, NULL);
	if (!table->row)
		return keep_error(table, -ENOMEM);
	table->row_count++;
	table->column = 0;
	return 0;
}

/* TEXT is copied as it is. */
static int plain_cell(struct table *table, const char *text)
{
	if (table->error)
		return table->error;
	return keep_error(table, scols_line_set_data(table->row, table->column++, text));
}

/* libsmartcols 2.38 never ends on what is not in the locale's encoding. */
int table_cell(struct table *table, const char *text)
{
	char *escaped;

	if (table->error || name_is_plain(text))
		return plain_cell(table, text);
	escaped = table->shows_utf8 ? escape_name(text) : escape_name_to_ascii(text);
	if (!escaped)
		return keep_error(table, -ENOMEM);
	/* takes it over */
	return keep_error(table, scols_line_refer_data(table->row, table->column++, escaped));
}

int table_number_cell(struct table *table, uint64_t number)
{
	char text[UNITS_TEXT_SIZE];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return plain_cell(table, text);
}

int table_size_cell(struct table *table, uint64_t bytes, struct size_format format)
{
	char text[UNITS_TEXT_SIZE];

	return plain_cell(table, format_size(text, bytes, format));
}

int table_flush(struct table *table)
{
	if (!table->row_count)
		return table->error;
	progress_clear();
	keep_error(table, scols_print_table(table->rows));
	scols_table_remove_lines(table->rows);
	scols_table_enable_noheadings(table->rows, 1);
	table->row_count = 0;
	return table->error;
}
