// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "sys/cleanup.h"
#include "text/decimal.h"
#include "text/name-escape.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/table.h"

/*
 * libsmartcols takes microseconds for a row, and prints none before it has them all: it gets as many
 * as tell the widths of the rest.
 */
#define LAID_OUT_ROWS_MAX 500
/* A path can have megabytes. */
#define LAID_OUT_SIZE_MAX (1 << 20)

struct laid_out_column {
	const char *name;
	/* for a narrow terminal; NULL if there is no other */
	const char *short_name;
	size_t width;
	bool left;
	bool left_out;
};

struct table {
	/* the rows that decide the widths of the columns; NULL once they are printed */
	struct libscols_table *first_rows;
	struct libscols_line *row;
	size_t row_count;
	/* of their text */
	size_t size;

	struct laid_out_column *columns;
	size_t column_count;
	/* the next cell of the row */
	size_t column;
	bool in_row;

	/* no row comes any more */
	bool finished;

	/* the next cell is an alarm */
	bool alarm;
	/* the next cell can be spared */
	bool spare;
	/* there is no room for what can be spared */
	bool narrow;

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
	table->columns[table->column_count++] = (struct laid_out_column){
		.name = column->name,
		.left = column->left,
	};
	return 0;
}

int table_new(struct table **ret_table, const struct table_column *columns, size_t column_count)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->columns = calloc(column_count, sizeof(*table->columns));
	table->first_rows = scols_new_table();
	if (!table->columns || !table->first_rows)
		goto fail;

	/* It would escape control bytes alone. */
	scols_table_enable_noencoding(table->first_rows, 1);
	scols_table_enable_colors(table->first_rows, terminal_has_colours());
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
	table_finish(table);
	release(table);
}

int table_error(const struct table *table)
{
	return table->error;
}

void table_shorten(struct table *table, const char *name, const char *short_name)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			table->columns[i].short_name = short_name;
}

/* Only the first of several is kept. */
static void keep_error(struct table *table, int ret)
{
	if (!table->error && ret < 0)
		table->error = ret;
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

/* -- a terminal that is too narrow -- */

/* What the column INDEX has in the row ROW. */
static const char *cell_text(const struct table *table, size_t row, size_t index)
{
	struct libscols_line *line = scols_table_get_line(table->first_rows, row);
	const char *text = scols_cell_get_data(scols_line_get_cell(line, index));

	return text ? text : "";
}

/* "0", "0.00B", "-" and their like. */
static bool is_nothing(const char *text)
{
	if (!*text || strcmp(text, "-") == 0)
		return true;
	return isdigit((unsigned char)*text) && !strpbrk(text, "123456789");
}

static bool has_nothing(const struct table *table, size_t index)
{
	for (size_t row = 0; row < table->row_count; row++)
		if (!is_nothing(cell_text(table, row, index)))
			return false;
	return true;
}

static struct libscols_column *column_of(const struct table *table, size_t index)
{
	return scols_table_get_column(table->first_rows, index);
}

static size_t width_under(const struct table *table, size_t index, const char *title)
{
	size_t width = display_width(title);

	for (size_t row = 0; row < table->row_count; row++) {
		size_t cell = display_width(cell_text(table, row, index));

		if (cell > width)
			width = cell;
	}
	return width;
}

/* How wide the column INDEX has to be. */
static size_t least_width(const struct table *table, size_t index)
{
	struct libscols_cell *header = scols_column_get_header(column_of(table, index));

	return width_under(table, index, scols_cell_get_data(header));
}

static size_t wanted_width(const struct table *table, size_t index)
{
	size_t least = least_width(table, index),
	       hint = scols_column_get_whint(column_of(table, index));

	return least > hint ? least : hint;
}

/* The first column of numbers stays: it says that there is nothing. */
static bool can_leave_out(const struct table *table, size_t index)
{
	size_t first = 0;

	while (first < index && table->columns[first].left)
		first++;
	return first < index && !table->columns[index].left && has_nothing(table, index);
}

/* 0 if it can be left out */
static size_t tightest_width(const struct table *table, size_t index)
{
	const struct laid_out_column *column = &table->columns[index];

	/* Of rows that come later nothing is known. */
	if (table->finished && can_leave_out(table, index))
		return 0;
	return width_under(table, index, column->short_name ? column->short_name : column->name);
}

/* The width of the first COUNT columns but for those that are left out, each as WIDTH_OF says. */
static size_t row_width(const struct table *table, size_t count,
			size_t (*width_of)(const struct table *table, size_t index))
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		size_t width = table->columns[i].left_out ? 0 : width_of(table, i);

		if (width)
			sum += (sum ? 1 : 0) + width;
	}
	return sum;
}

static void spare_cells(struct table *table)
{
	for (size_t row = 0; row < table->row_count; row++) {
		struct libscols_line *line = scols_table_get_line(table->first_rows, row);

		for (size_t i = 0; i < table->column_count; i++)
			if (scols_cell_get_userdata(scols_line_get_cell(line, i)))
				keep_error(table, scols_line_set_data(line, i, ""));
	}
	table->narrow = true;
}

static void make_narrow(struct table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct libscols_column *column = column_of(table, i);

		/* No width at all is what the column needs. */
		scols_column_set_whint(column, 0);
		scols_column_set_flags(column,
				       scols_column_get_flags(column) & ~SCOLS_FL_STRICTWIDTH);
	}
}

static void shorten_names(struct table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct libscols_cell *header = scols_column_get_header(column_of(table, i));

		if (table->columns[i].short_name)
			keep_error(table,
				   scols_cell_set_data(header, table->columns[i].short_name));
	}
}

static void leave_out(struct table *table, size_t index)
{
	struct libscols_column *column = column_of(table, index);

	scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
	table->columns[index].left_out = true;
}

/* Until the first COUNT columns fit; the last ones are details of those before them. */
static void leave_out_until(struct table *table, size_t count, size_t width)
{
	for (size_t i = count; i-- && row_width(table, count, least_width) > width;)
		if (can_leave_out(table, i))
			leave_out(table, i);
}

/* How many columns can fit: a name may be longer than any terminal is wide. */
static size_t count_of_fitting(const struct table *table, size_t width)
{
	size_t count = table->column_count;

	if (count > 1 && table->columns[count - 1].left &&
	    row_width(table, count, tightest_width) > width)
		count--;
	return count;
}

static void fit(struct table *table)
{
	size_t width = terminal_width(), count;

	if (!width || row_width(table, table->column_count, wanted_width) <= width)
		return;
	spare_cells(table);
	make_narrow(table);
	count = count_of_fitting(table, width);
	if (row_width(table, count, least_width) > width)
		shorten_names(table);
	/* Rows that come later may have something there. */
	if (table->finished)
		leave_out_until(table, count, width);
}

/* In lines that fit the terminal. */
static void put_words(const char *text)
{
	size_t terminal = terminal_width(), column = 0, length;

	for (; *text; text += length + strspn(text + length, " ")) {
		length = strcspn(text, " ");
		if (column && column + 1 + length > terminal) {
			putchar('\n');
			column = 0;
		}
		column += printf("%s%.*s", column ? " " : "", (int)length, text);
	}
	if (column)
		putchar('\n');
}

static void write_left_out(const struct table *table, FILE *stream)
{
	const char *before = "Empty columns not shown: ";

	for (size_t i = 0; i < table->column_count; i++) {
		if (!table->columns[i].left_out)
			continue;
		fprintf(stream, "%s%s", before, table->columns[i].name);
		before = ", ";
	}
}

static int tell_left_out(const struct table *table)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return -ENOMEM;
	write_left_out(table, stream);
	if (fclose(stream) != 0)
		return -ENOMEM;
	put_words(text);
	return 0;
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
	fit(table);
	keep_error(table, scols_print_table(table->first_rows));
	keep_error(table, tell_left_out(table));
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

/* SIZE bytes of TEXT, in the colour of an alarm if the cell is one. */
static void put_cell_text(struct table *table, const char *text, size_t size)
{
	bool alarm = table->alarm && !is_nothing(text);

	if (alarm)
		fputs(terminal_alarm_begin(), stdout);
	put_text(text, size);
	if (alarm)
		fputs(terminal_alarm_end(), stdout);
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
	put_cell_text(table, text, size);
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

/* -- both -- */

void table_begin_row(struct table *table)
{
	if (table->first_rows &&
	    (table->row_count == LAID_OUT_ROWS_MAX || table->size >= LAID_OUT_SIZE_MAX))
		print_first_rows(table);
	if (table->finished)
		keep_error(table, -EINVAL);
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

static int set_cell(struct table *table, const char *text)
{
	struct libscols_cell *cell = scols_line_get_cell(table->row, table->column);
	int ret = scols_line_set_data(table->row, table->column++, text);

	table->size += strlen(text);
	if (ret == 0 && table->spare)
		ret = scols_cell_set_userdata(cell, table);
	if (ret < 0 || !table->alarm || is_nothing(text))
		return ret;
	return scols_cell_set_color(cell, "red");
}

void table_alarm(struct table *table)
{
	table->alarm = true;
}

void table_spare(struct table *table)
{
	table->spare = true;
}

static void end_cell(struct table *table, int ret)
{
	table->alarm = false;
	table->spare = false;
	keep_error(table, ret);
}

/* SIZE bytes of TEXT, which ends with them, printed as they are. */
static void plain_cell(struct table *table, const char *text, size_t size)
{
	int ret;

	if (table->error)
		return;
	ret = table->first_rows ? set_cell(table, text) : put_cell(table, text, size, size);
	end_cell(table, ret);
}

/* libsmartcols 2.38 never ends on what is not in the locale's encoding. */
static void odd_cell(struct table *table, const char *text)
{
	CLEANUP_FREE char *escaped = NULL;
	int ret;

	if (table->error)
		return;
	escaped = escape_for_terminal(text);
	if (!escaped)
		ret = -ENOMEM;
	else if (table->first_rows)
		ret = set_cell(table, escaped);
	else
		ret = put_cell(table, escaped, strlen(escaped), display_width(escaped));
	end_cell(table, ret);
}

void table_cell(struct table *table, const char *text)
{
	if (table->spare && table->narrow)
		text = "";
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

int table_finish(struct table *table)
{
	table->finished = true;
	return table_flush(table);
}

int table_end(struct table **table)
{
	int ret = *table ? table_finish(*table) : 0;

	table_freep(table);
	*table = NULL;
	return ret;
}
