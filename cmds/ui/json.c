// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <linux/fiemap.h>

#include "sys/cleanup.h"
#include "text/decimal.h"
#include "text/name-escape.h"
#include "ui/json.h"
#include "ui/standard-files.h"

/* Of a result: in the array of a top object, and in the top object of a line. */
#define RESULT_DEPTH 3
#define LINE_DEPTH 2

static void write_failed(struct json_writer *json)
{
	if (json->stream == stdout)
		standard_output_failed(errno);
	else if (!json->error)
		json->error = -errno;
}

/* Nothing else writes to the stream meanwhile: locking it for each byte would cost more than the rest. */
static void put_byte(struct json_writer *json, char byte)
{
	if (putc_unlocked(byte, json->stream) == EOF)
		write_failed(json);
}

static void put(struct json_writer *json, const char *text, size_t size)
{
	if (fwrite_unlocked(text, 1, size, json->stream) < size)
		write_failed(json);
}

static void flush(struct json_writer *json)
{
	if (fflush(json->stream))
		write_failed(json);
}

/* Each value of a container is on a line of its own, and so is the end of the container; in a document. */
static void begin_line(struct json_writer *json, bool after_comma)
{
	static const char line[] = ",\n                                ";

	if (json->style == JSON_LINES) {
		put(json, line, after_comma);
		return;
	}
	_Static_assert(sizeof(line) > 2 + 2 * JSON_DEPTH_MAX, "too short for the deepest level");
	put(json, line + !after_comma, 1 + after_comma + 2 * json->depth);
}

/* The character at *S, which is UTF-8, and *S after it. */
static uint32_t next_character(const unsigned char **s)
{
	uint32_t character = *(*s)++;
	unsigned int length;

	if (character < 0x80)
		return character;
	length = character >= 0xf0 ? 4 : character >= 0xe0 ? 3 : 2;
	character &= 0x7f >> length;
	while (--length > 0)
		character = character << 6 | (*(*s)++ & 0x3f);
	return character;
}

static void put_code_unit(struct json_writer *json, unsigned int unit)
{
	static const char digits[] = "0123456789abcdef";
	const char escape[] = {
		'\\',
		'u',
		digits[unit >> 12],
		digits[unit >> 8 & 15],
		digits[unit >> 4 & 15],
		digits[unit & 15],
	};

	put(json, escape, sizeof(escape));
}

/* What follows the backslash where CHARACTER has a short escape, or 0. */
static char short_escape(uint32_t character)
{
	switch (character) {
	case '"':
	case '\\':
		return character;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

/*
 * All but printing ASCII is escaped: some terminals interpret DEL, C1 controls and marks of direction,
 * and json-c 0.18, where it is strict, reads no other character than that.
 */
static void put_escaped(struct json_writer *json, uint32_t character)
{
	char letter = short_escape(character);

	if (letter) {
		put_byte(json, '\\');
		put_byte(json, letter);
	} else if (character < 0x10000) {
		put_code_unit(json, character);
	} else {
		put_code_unit(json, 0xd800 | (character - 0x10000) >> 10);
		put_code_unit(json, 0xdc00 | (character & 0x3ff));
	}
}

static const bool stands_for_itself[UCHAR_MAX + 1] = {
	[' ' ... '"' - 1] = true,
	['"' + 1 ... '\\' - 1] = true,
	['\\' + 1 ... '~'] = true,
};

/* TEXT is UTF-8. */
static void put_string(struct json_writer *json, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	put_byte(json, '"');
	while (*s) {
		const unsigned char *start = s;

		while (stands_for_itself[*s])
			s++;
		put(json, (const char *)start, s - start);
		if (*s)
			put_escaped(json, next_character(&s));
	}
	put_byte(json, '"');
}

static void begin_member(struct json_writer *json, const char *key)
{
	begin_line(json, json->has_member[json->depth]);
	json->has_member[json->depth] = true;
	if (key) {
		put_string(json, key);
		put(json, ": ", json->style == JSON_LINES ? 1 : 2);
	}
}

static void open_container(struct json_writer *json, char bracket)
{
	put_byte(json, bracket);
	json->depth++;
	json->has_member[json->depth] = false;
	json->brackets[json->depth] = bracket == '{' ? '}' : ']';
}

static void close_container(struct json_writer *json)
{
	char bracket = json->brackets[json->depth];
	bool has_member = json->has_member[json->depth];

	if (!json->stream)
		return;
	json->depth--;
	if (has_member)
		begin_line(json, false);
	put_byte(json, bracket);
}

static void begin_top(struct json_writer *json)
{
	open_container(json, '{');
	json_begin_object(json, "__header");
	json_add_string(json, "version", "1");
	json_end_object(json);
}

void json_begin(struct json_writer *json, FILE *stream, enum json_style style)
{
	*json = (struct json_writer){ .stream = stream, .style = style };
	begin_top(json);
}

void json_end(struct json_writer *json)
{
	if (!json->stream)
		return;
	close_container(json);
	put_byte(json, '\n');
}

void json_begin_results(struct json_writer *json, FILE *stream, enum json_style style,
			const char *key)
{
	*json = (struct json_writer){ .stream = stream, .style = style, .results_key = key };
	if (style == JSON_LINES)
		return;
	begin_top(json);
	json_begin_array(json, key);
}

void json_begin_result(struct json_writer *json)
{
	if (json->style == JSON_LINES) {
		begin_top(json);
		json_begin_object(json, json->results_key);
		return;
	}
	json_begin_object(json, NULL);
}

void json_end_result(struct json_writer *json)
{
	json_end_object(json);
	if (json->style == JSON_DOCUMENT)
		return;
	json_end(json);
	flush(json);
}

void json_fail_result(struct json_writer *json, const char *error)
{
	while (json->depth > (json->style == JSON_LINES ? LINE_DEPTH : RESULT_DEPTH))
		close_container(json);
	json_add_string(json, "error", error);
}

void json_end_results(struct json_writer *json)
{
	if (json->style == JSON_LINES)
		begin_top(json);
	else
		json_end_array(json);
}

void json_begin_object(struct json_writer *json, const char *key)
{
	if (!json->stream)
		return;
	begin_member(json, key);
	open_container(json, '{');
}

void json_end_object(struct json_writer *json)
{
	close_container(json);
}

void json_begin_array(struct json_writer *json, const char *key)
{
	if (!json->stream)
		return;
	begin_member(json, key);
	open_container(json, '[');
}

void json_end_array(struct json_writer *json)
{
	close_container(json);
}

void json_add_uint(struct json_writer *json, const char *key, uint64_t value)
{
	char text[DECIMAL_TEXT_SIZE];

	if (!json->stream)
		return;
	if (json->has_no_numbers) {
		json_add_null(json, key);
		return;
	}
	begin_member(json, key);
	put(json, text, decimal_write(text, value));
}

void json_add_int(struct json_writer *json, const char *key, int64_t value)
{
	char text[DECIMAL_TEXT_SIZE];

	if (!json->stream)
		return;
	begin_member(json, key);
	if (value < 0)
		put_byte(json, '-');
	put(json, text, decimal_write(text, value < 0 ? -(uint64_t)value : (uint64_t)value));
}

static void add_word(struct json_writer *json, const char *key, const char *word)
{
	if (!json->stream)
		return;
	begin_member(json, key);
	put(json, word, strlen(word));
}

void json_add_bool(struct json_writer *json, const char *key, bool value)
{
	add_word(json, key, value ? "true" : "false");
}

void json_add_null(struct json_writer *json, const char *key)
{
	add_word(json, key, "null");
}

void json_add_answer(struct json_writer *json, const char *key, enum answer answer)
{
	if (answer == ANSWER_UNKNOWN)
		json_add_null(json, key);
	else
		json_add_bool(json, key, answer == ANSWER_YES);
}

static void add_utf8(struct json_writer *json, const char *key, const char *value)
{
	begin_member(json, key);
	put_string(json, value);
}

static void add_escaped(struct json_writer *json, const char *key, const char *name)
{
	CLEANUP_FREE char *escaped = escape_name(name);

	add_utf8(json, key, escaped ? escaped : "?");
}

void json_add_string(struct json_writer *json, const char *key, const char *value)
{
	if (!json->stream)
		return;
	if (!value)
		json_add_null(json, key);
	else if (name_is_utf8(value))
		add_utf8(json, key, value);
	else
		add_escaped(json, key, value);
}

static void add_encoding(struct json_writer *json, const char *key)
{
	CLEANUP_FREE char *encoding_key = NULL;

	if (asprintf(&encoding_key, "%s_encoding", key) < 0) {
		encoding_key = NULL;
		return;
	}
	json_add_string(json, encoding_key, "escaped");
}

void json_add_name(struct json_writer *json, const char *key, const char *name)
{
	if (!json->stream)
		return;
	if (!name) {
		json_add_null(json, key);
		return;
	}
	if (name_is_utf8(name)) {
		json_add_string(json, key, name);
		return;
	}
	add_escaped(json, key, name);
	add_encoding(json, key);
}

void json_add_each_name(struct json_writer *json, const char *key, size_t count,
			json_name_function *name_of, void *data)
{
	bool all_utf8 = true;

	if (!json->stream)
		return;
	for (size_t i = 0; i < count && all_utf8; i++) {
		const char *name = name_of(data, i);

		all_utf8 = !name || name_is_utf8(name);
	}

	json_begin_array(json, key);
	for (size_t i = 0; i < count; i++) {
		const char *name = name_of(data, i);

		if (all_utf8 || !name)
			json_add_string(json, NULL, name);
		else
			add_escaped(json, NULL, name);
	}
	json_end_array(json);
	if (!all_utf8)
		add_encoding(json, key);
}

static const char *name_in(void *data, size_t index)
{
	return ((const char *const *)data)[index];
}

void json_add_names(struct json_writer *json, const char *key, const char *const *names)
{
	size_t count = 0;

	while (names[count])
		count++;
	json_add_each_name(json, key, count, name_in, (void *)names);
}

static const struct {
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{ FIEMAP_EXTENT_SHARED, "shared" },
	{ FIEMAP_EXTENT_ENCODED, "encoded" },
	{ FIEMAP_EXTENT_UNWRITTEN, "unwritten" },
	{ FIEMAP_EXTENT_DATA_INLINE, "inline" },
	{ FIEMAP_EXTENT_DELALLOC, "delalloc" },
	{ FIEMAP_EXTENT_UNKNOWN, "unknown" },
	{ FIEMAP_EXTENT_NOT_ALIGNED, "not_aligned" },
	{ FIEMAP_EXTENT_DATA_ENCRYPTED, "encrypted" },
	{ FIEMAP_EXTENT_DATA_TAIL, "tail" },
	{ FIEMAP_EXTENT_MERGED, "merged" },
	{ FIEMAP_EXTENT_LAST, "last" },
};

#define FLAG_COUNT (sizeof(flag_names) / sizeof(flag_names[0]))

const char *format_extent_flags(char text[EXTENT_FLAGS_TEXT_SIZE], uint32_t flags)
{
	const char *separator = "";
	char *out = text;

	if (!flags)
		return "-";
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		out = stpcpy(stpcpy(out, separator), flag_names[i].name);
		separator = ",";
		flags &= ~flag_names[i].flag;
	}
	if (flags)
		sprintf(out, "%s0x%" PRIx32, separator, flags);
	return text;
}

void json_add_extent_flags(struct json_writer *json, const char *key, uint32_t flags)
{
	char text[16];

	json_begin_array(json, key);
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (flags & flag_names[i].flag)
			json_add_string(json, NULL, flag_names[i].name);
		flags &= ~flag_names[i].flag;
	}
	if (flags) {
		snprintf(text, sizeof(text), "0x%" PRIx32, flags);
		json_add_string(json, NULL, text);
	}
	json_end_array(json);
}
