/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RECORD_H
#define FASTPATH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/json.h"
#include "ui/metrics.h"
#include "ui/options.h"

/*
 * A figure is declared once, as a field of a row (any struct), and printed from this declaration in
 * every format: as a cell of a table, a member of a JSON object, and a sample of OpenMetrics. The
 * functions below print in the format of their output, and do nothing in the others; so do those of
 * ui/json.h with its JSON writer. A command that calls them all need not know the format.
 */

enum field_type {
	/* ends a list of fields */
	FIELD_END,
	/* uint64_t */
	FIELD_NUMBER,
	/* uint64_t, bytes */
	FIELD_SIZE,
	/* uint64_t, nanoseconds */
	FIELD_TIME,
	/* bool */
	FIELD_BOOL,
	/* int64_t; tables do not have it */
	FIELD_SIGNED,
	/* enum answer, or another enumeration with these values */
	FIELD_ANSWER,
	/* const char *; NULL: unknown */
	FIELD_TEXT,
	/* const char *, the name of a file; NULL: unknown */
	FIELD_PATH,
	/* const char *const *, which ends with NULL; NULL: there are none */
	FIELD_NAMES,
	/* uint32_t, FIEMAP_EXTENT_* */
	FIELD_EXTENT_FLAGS,
	/* struct latency; only metrics have it */
	FIELD_HISTOGRAM,
	/* uint64_t, percent: 1.23 in tables, 123 elsewhere */
	FIELD_RATIO,
	/* uint64_t, percent */
	FIELD_PERCENT,
	/* JSON: the fields up to FIELD_OBJECT_END are members of the object .key; null if it is unknown */
	FIELD_OBJECT,
	FIELD_OBJECT_END,
};

struct field {
	/* of the value in the row */
	size_t offset;
	enum field_type type;

	/* in JSON; NULL: JSON does not have the field */
	const char *key;
	/* what the key means: make update-schemas writes it into cmds/schemas */
	const char *help;

	/* of the column; NULL: tables do not have the field */
	const char *title;
	/* the title in a narrow terminal, or NULL */
	const char *short_title;
	/* the least width of the column; 0: the usual one of the type */
	unsigned int width;
	/* columns are in the order of these numbers, and columns of the same number in that of the list */
	int place;
	/* a bit: the column exists only if rows_new() gets this bit; 0: it always exists */
	unsigned int option;

	/* the offset of a bool: while it is false, the value is unknown; 0: there is none */
	size_t known;
	/* a number of 0 is an unknown one */
	bool zero_is_unknown;
	/* JSON does not have the key of an unknown value, instead of null */
	bool optional;
	/* what a table has for an unknown value; NULL: "-" */
	const char *unknown;
	/* what a table has before a known ratio, or NULL */
	const char *prefix;
	/* a cell of this text is an alarm: see table_alarm(); "": of any text */
	const char *alarm;
	/* the offset of a bool: while it is true, the cell can be spared: see table_spare(); 0: never */
	size_t spare;

	/*
	 * the value of --sort for rows in descending order of this figure, or ascending order
	 * of paths; NULL: none
	 */
	const char *sort;

	/* a sample of this metric, unless the value is unknown; that of a text is 1; or NULL */
	const struct metric *metric;
	/* of this sample; of a text, a label without VALUE: the text is this label of all samples of the row */
	struct metric_label label;
};

/* Where a report goes. */
struct output {
	enum output_format format;
	struct size_format sizes;
	/* without stream in the other formats */
	struct json_writer json;
	/* NULL in the other formats */
	struct metrics *metrics;
};

/* Its JSON has not begun. */
struct output output_of(const struct global_options *global);

/* The same of a command with one result: the JSON has begun, and ends with json_end(). */
struct output output_begin(const struct global_options *global);

/* Text: prints a sentence or a heading, as printf(). */
void record_say(const struct output *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* JSON: adds the fields of ROW to the open object. */
void record_members(struct output *out, const struct field *fields, const void *row);

/* JSON: adds the object KEY with the fields of ROW; null if ROW is NULL. KEY is NULL in an array. */
void record_object(struct output *out, const char *key, const struct field *fields,
		   const void *row);

/* OpenMetrics: adds the samples of ROW. */
void record_samples(struct output *out, const struct field *fields, const void *row);

/* Adds the numbers, sizes and times of ROW to those of TOTAL. No field may be a mean; each has an offset of its own. */
void record_add(void *total, const struct field *fields, const void *row);

/* The number that ROW is sorted by; 0 for a text. */
uint64_t field_figure(const struct field *field, const void *row);

/* The texts of NAMES with commas between; "-" if there are none. Longer ones are cut. */
#define NAMES_TEXT_SIZE 256
const char *names_text(char text[NAMES_TEXT_SIZE], const char *const *names);

/*
 * Rows with the same fields: a table, or an array of objects, of any length in constant memory. See
 * ui/table.h. KEY is that of the array; NULL: JSON does not have the rows. OPTIONS are bits of the
 * fields that have a column only on request. Returns 0 or -ENOMEM; ended with rows_end().
 */
struct rows;
int rows_new(struct rows **ret_rows, struct output *out, const char *key,
	     const struct field *fields, unsigned int options);

/* Returns 0 or a negative errno as table_error(). */
int rows_add(struct rows *rows, const void *row);

/* rows_add(), after rows_new() without a key if *ROWS is NULL. Returns as either. */
int rows_begin_or_add(struct rows **rows, struct output *out, const struct field *fields,
		      unsigned int options, const void *row);

/* Prints the rows so far, if ROWS is not NULL. */
void rows_flush(struct rows *rows);

/* Prints the rows that are left, and frees and clears *ROWS, if it is not NULL. Returns as rows_add(). */
int rows_end(struct rows **rows);

#endif
