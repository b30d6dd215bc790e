/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_JSON_H
#define FASTPATH_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

static inline enum answer answer_of(bool is_known, bool value)
{
	if (!is_known)
		return ANSWER_UNKNOWN;
	return value ? ANSWER_YES : ANSWER_NO;
}

enum json_style {
	/* one object, with a value on each line, indented */
	JSON_DOCUMENT,
	/* an object on each line, for each result its own */
	JSON_LINES,
};

/*
 * Writes each JSON value immediately, so memory does not depend on the length of an array. KEY is
 * NULL inside an array. Begins as { 0 }.
 */
struct json_writer {
	/* NULL: nothing is written */
	FILE *stream;
	enum json_style style;
	/* of the results that come one by one */
	const char *results_key;
	/* of a stream that is not standard output: the first negative errno, 0: none */
	int error;
	/* numbers are null, because nothing is known */
	bool has_no_numbers;
	unsigned int depth;
	bool has_member[JSON_DEPTH_MAX];
	/* which end the container at this depth */
	char brackets[JSON_DEPTH_MAX];
};

/* Opens the top object and writes the "__header", as in the JSON of btrfs-progs. */
void json_begin(struct json_writer *json, FILE *stream, enum json_style style);
void json_end(struct json_writer *json);

/*
 * Instead of json_begin(), where there are several results: in a document they are the elements of
 * the array KEY. Of lines each one is the object KEY in a top object of its own, and is flushed to the
 * stream when it is complete. What is added after json_end_results() follows the array, or is a line
 * after those of the results. KEY has to live until then.
 */
void json_begin_results(struct json_writer *json, FILE *stream, enum json_style style,
			const char *key);
void json_begin_result(struct json_writer *json);
void json_end_result(struct json_writer *json);
/* Ends whatever is open within the result, and adds ERROR to it. */
void json_fail_result(struct json_writer *json, const char *error);
void json_end_results(struct json_writer *json);

void json_begin_object(struct json_writer *json, const char *key);
void json_end_object(struct json_writer *json);
void json_begin_array(struct json_writer *json, const char *key);
void json_end_array(struct json_writer *json);

void json_add_uint(struct json_writer *json, const char *key, uint64_t value);
void json_add_int(struct json_writer *json, const char *key, int64_t value);
void json_add_bool(struct json_writer *json, const char *key, bool value);
void json_add_null(struct json_writer *json, const char *key);
void json_add_answer(struct json_writer *json, const char *key, enum answer answer);
/* null if VALUE is NULL; if VALUE is not UTF-8, the result of escape_name() */
void json_add_string(struct json_writer *json, const char *key, const char *value);

/*
 * A file name in an object; null if NAME is NULL. A name that is not UTF-8 is escaped by
 * escape_name(), and a member KEY_encoding with the value "escaped" follows.
 */
void json_add_name(struct json_writer *json, const char *key, const char *name);

/*
 * An array of COUNT names; each is asked for twice, and null for a NULL. If one is not UTF-8, all are
 * escaped, with KEY_encoding.
 */
typedef const char *json_name_function(void *data, size_t index);
void json_add_each_name(struct json_writer *json, const char *key, size_t count,
			json_name_function *name_of, void *data);

/* The same of a NULL-terminated array. */
void json_add_names(struct json_writer *json, const char *key, const char *const *names);

#define EXTENT_FLAGS_TEXT_SIZE 160

/* The names of FIEMAP_EXTENT_*, as "shared,encoded"; a number for unknown flags; "-" for none. */
const char *format_extent_flags(char text[EXTENT_FLAGS_TEXT_SIZE], uint32_t flags);

/* The same as a JSON array. */
void json_add_extent_flags(struct json_writer *json, const char *key, uint32_t flags);

#endif
