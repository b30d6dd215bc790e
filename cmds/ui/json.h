/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_JSON_H
#define FASTPATH_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16
#define JSON_BUFFER_SIZE 4096

/*
 * Writes JSON as it comes, so that an array of any length takes no memory. KEY is NULL inside an
 * array.
 */
struct json_writer {
	FILE *stream;
	unsigned int depth;
	bool has_member[JSON_DEPTH_MAX];
	/* what STREAM has not got yet */
	size_t used;
	char buffer[JSON_BUFFER_SIZE];
};

/* Opens the top object and writes the "__header" that btrfs-progs' JSON begins with. */
void json_begin(struct json_writer *json, FILE *stream);
/* STREAM has all of it only after this. */
void json_end(struct json_writer *json);
/* Hands what there is so far to STREAM, for a reader who waits for it. */
void json_flush(struct json_writer *json);

void json_begin_object(struct json_writer *json, const char *key);
void json_end_object(struct json_writer *json);
void json_begin_array(struct json_writer *json, const char *key);
void json_end_array(struct json_writer *json);

void json_add_uint(struct json_writer *json, const char *key, uint64_t value);
void json_add_int(struct json_writer *json, const char *key, int64_t value);
void json_add_bool(struct json_writer *json, const char *key, bool value);
void json_add_null(struct json_writer *json, const char *key);
/* null where it is not KNOWN */
void json_add_known_uint(struct json_writer *json, const char *key, bool known, uint64_t value);
/* null where VALUE is NULL; as escape_name() has it where it is not UTF-8 */
void json_add_string(struct json_writer *json, const char *key, const char *value);

/*
 * A file name in an object; null if NAME is NULL. One that is not UTF-8 is written as escape_name()
 * has it, and a member KEY_encoding with the value "escaped" follows.
 */
void json_add_name(struct json_writer *json, const char *key, const char *name);

/* An array of names, NULL-terminated; all escaped and marked so if one of them is not UTF-8. */
void json_add_names(struct json_writer *json, const char *key, char *const *names);

#endif
