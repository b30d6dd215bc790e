// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <json-c/json.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "ui/json.h"

static void indent(struct json_writer *json)
{
	fprintf(json->stream, "\n%*s", (int)(2 * json->depth), "");
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

/*
 * All but printing ASCII is escaped: some terminals obey DEL, C1 controls and marks of direction,
 * and json-c 0.18, where it is strict, reads no other character than that. Outside of strings there
 * is none to escape.
 */
static void put_character(FILE *stream, uint32_t character)
{
	if (character < 0x7f)
		putc_unlocked(character, stream);
	else if (character < 0x10000)
		fprintf(stream, "\\u%04x", character);
	else
		fprintf(stream, "\\u%04x\\u%04x", 0xd800 | (character - 0x10000) >> 10,
			0xdc00 | (character & 0x3ff));
}

static void put_escaped(FILE *stream, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s)
		put_character(stream, next_character(&s));
}

static void put_value(struct json_writer *json, struct json_object *value)
{
	put_escaped(json->stream,
		    json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(value);
}

static void begin_member(struct json_writer *json, const char *key)
{
	if (json->has_member[json->depth])
		fputc(',', json->stream);
	json->has_member[json->depth] = true;
	indent(json);
	if (key) {
		put_value(json, json_object_new_string(key));
		fputs(": ", json->stream);
	}
}

static void open_container(struct json_writer *json, char bracket)
{
	fputc(bracket, json->stream);
	json->depth++;
	json->has_member[json->depth] = false;
}

static void close_container(struct json_writer *json, char bracket)
{
	bool has_member = json->has_member[json->depth--];

	if (has_member)
		indent(json);
	fputc(bracket, json->stream);
}

void json_begin(struct json_writer *json, FILE *stream)
{
	*json = (struct json_writer){ .stream = stream };
	open_container(json, '{');
	json_begin_object(json, "__header");
	json_add_string(json, "version", "1");
	json_end_object(json);
}

void json_end(struct json_writer *json)
{
	close_container(json, '}');
	fputc('\n', json->stream);
}

void json_begin_object(struct json_writer *json, const char *key)
{
	begin_member(json, key);
	open_container(json, '{');
}

void json_end_object(struct json_writer *json)
{
	close_container(json, '}');
}

void json_begin_array(struct json_writer *json, const char *key)
{
	begin_member(json, key);
	open_container(json, '[');
}

void json_end_array(struct json_writer *json)
{
	close_container(json, ']');
}

void json_add_uint(struct json_writer *json, const char *key, uint64_t value)
{
	begin_member(json, key);
	put_value(json, json_object_new_uint64(value));
}

void json_add_int(struct json_writer *json, const char *key, int64_t value)
{
	begin_member(json, key);
	put_value(json, json_object_new_int64(value));
}

void json_add_bool(struct json_writer *json, const char *key, bool value)
{
	begin_member(json, key);
	put_value(json, json_object_new_boolean(value));
}

void json_add_null(struct json_writer *json, const char *key)
{
	begin_member(json, key);
	fputs("null", json->stream);
}

void json_add_known_uint(struct json_writer *json, const char *key, bool known, uint64_t value)
{
	if (known)
		json_add_uint(json, key, value);
	else
		json_add_null(json, key);
}

static void add_utf8(struct json_writer *json, const char *key, const char *value)
{
	begin_member(json, key);
	put_value(json, json_object_new_string(value));
}

static void add_escaped(struct json_writer *json, const char *key, const char *name)
{
	CLEANUP_FREE char *escaped = escape_name(name);

	add_utf8(json, key, escaped ? escaped : "?");
}

void json_add_string(struct json_writer *json, const char *key, const char *value)
{
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

void json_add_names(struct json_writer *json, const char *key, char *const *names)
{
	bool all_utf8 = true;

	for (char *const *name = names; *name; name++)
		all_utf8 = all_utf8 && name_is_utf8(*name);

	json_begin_array(json, key);
	for (char *const *name = names; *name; name++) {
		if (all_utf8)
			json_add_string(json, NULL, *name);
		else
			add_escaped(json, NULL, *name);
	}
	json_end_array(json);
	if (!all_utf8)
		add_encoding(json, key);
}
