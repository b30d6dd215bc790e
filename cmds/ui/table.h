/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TABLE_H
#define FASTPATH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/cleanup.h"
#include "text/units.h"

struct table_column {
	/* lives as long as the table */
	const char *name;
	/* the least width; a wider value in a later row moves the rest of its row to the right */
	unsigned int width;
	bool left;
};

struct table;

/*
 * A table of any length on standard output, in constant memory. The first rows determine the widths
 * of the columns; the other rows are printed with these widths, or wider ones from a wider row on.
 * Returns 0 or -ENOMEM; freed with table_free(), which finishes the table.
 */
int table_new(struct table **ret_table, const struct table_column *columns, size_t column_count);
/* table_new() with all of the array COLUMNS. */
#define TABLE_NEW(table, columns) table_new(table, columns, sizeof(columns) / sizeof((columns)[0]))
void table_free(struct table *table);
DEFINE_FREEP(table_free, struct table)

/*
 * The column NAME is called SHORT_NAME if the table does not fit the terminal. SHORT_NAME lives as long
 * as the table; there need be no such column.
 */
void table_shorten(struct table *table, const char *name, const char *short_name);

/*
 * A row or a cell can fail. The table then keeps the first error for table_error(), and ignores
 * everything after it.
 */
void table_begin_row(struct table *table);
/* The next cell of the row: TEXT, escaped by escape_for_terminal(). */
void table_cell(struct table *table, const char *text);
/* The same for a number. */
void table_number_cell(struct table *table, uint64_t number);
void table_size_cell(struct table *table, uint64_t bytes, struct size_format format);

/*
 * The next cell is something that must not be overlooked: it has a colour on a terminal that shows
 * colours, unless it is 0 or "-".
 */
void table_alarm(struct table *table);

/* The next cell, a table_cell(), is empty if the table does not fit the terminal. */
void table_spare(struct table *table);

/* Prints the rows so far. Returns table_error(). */
int table_flush(struct table *table);

/*
 * Prints the rows that are left; there must be no more. Returns table_error().
 *
 * If standard output is a terminal and the first rows do not fit, cells that can be spared are empty,
 * the columns get as narrow as they can be, and then they get their short names. If that is not enough
 * and all rows are known, columns of numbers that have nothing but 0 or "-" are left out, the last one
 * first, but never the first column of numbers; a line after the table names them. If the last column
 * is text that cannot fit, only what is before it has to.
 */
int table_finish(struct table *table);

/*
 * Prints the rows that are left as table_finish() does, and frees and clears *TABLE, if it is
 * not NULL. Returns table_error().
 */
int table_end(struct table **table);

/* 0, or the negative errno of the first failure: no memory, or more cells than columns. */
int table_error(const struct table *table);

#endif
