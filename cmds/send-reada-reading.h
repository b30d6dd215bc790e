/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_READING_H
#define FASTPATH_SEND_READA_READING_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "send/send-extents.h"
#include "send/send-largest-files.h"
#include "send/send-stream.h"

/* What a stream consists of. */
struct send_tally {
	uint64_t counts[SEND_COMMAND_COUNT];
	uint64_t bytes[SEND_COMMAND_COUNT];
	uint64_t command_count;
	/* of files: what is in the stream, or would be with data */
	uint64_t data_bytes;
	/* of the stream with data */
	uint64_t estimated_bytes;
};

/* A stream that is read, from the kernel or a file, and what was in it so far. */
struct send_reading {
	struct send_stream stream;
	struct send_tally tally;
	/* the name that the stream gives its first subvolume */
	char *name;
	/* with --top */
	struct send_largest_files *top;
	/* where data is to be sent as it is compressed, but is not in the stream */
	struct send_extents *extents;
	size_t page_size;
	/* how much there will be, 0: nobody knows */
	uint64_t expected_bytes;
	uint64_t started_ns;
	struct size_format sizes;
};

/*
 * Begins to read a stream; TOP files are remembered, the largest ones. Also where it fails, it is
 * freed with send_reading_free(). Returns 0 or -ENOMEM.
 */
int send_reading_init(struct send_reading *reading, size_t top, struct size_format sizes);
void send_reading_free(struct send_reading *reading);

/*
 * Counts the commands in the next SIZE bytes, and shows progress: a send_reader, whose DATA is a
 * struct send_reading. Returns 0; or a negative errno, as send_stream_next() and
 * send_extents_find().
 */
int send_reading_take(void *data, const void *bytes, size_t size);

/* The size of all of the stream if it had data. */
uint64_t send_reading_estimated_bytes(const struct send_reading *reading);

#endif
