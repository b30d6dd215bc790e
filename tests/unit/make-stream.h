/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MAKE_STREAM_H
#define FASTPATH_MAKE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#define MADE_STREAM_SIZE 262144

/* A send stream that a test makes, begun as { 0 } and by made_header(). */
struct made_stream {
	uint8_t bytes[MADE_STREAM_SIZE];
	size_t size;
	uint32_t protocol;
	size_t command;
};

void made_header(struct made_stream *stream, uint32_t protocol);

/* Begins a command; what is added up to made_end() is in it. */
void made_begin(struct made_stream *stream, uint16_t type);
void made_attribute(struct made_stream *stream, uint16_t attribute, const void *value, size_t size);
void made_string(struct made_stream *stream, uint16_t attribute, const char *value);
void made_u64(struct made_stream *stream, uint16_t attribute, uint64_t value);
/* Zeros, as file data. */
void made_data(struct made_stream *stream, size_t size);
/* Fills in the length and the checksum. */
void made_end(struct made_stream *stream);

/* Whole commands. */
void made_path_command(struct made_stream *stream, uint16_t type, const char *path);
void made_write(struct made_stream *stream, const char *path, uint64_t offset, size_t size);
void made_end_command(struct made_stream *stream);

#endif
