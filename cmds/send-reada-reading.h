/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_READING_H
#define FASTPATH_SEND_READA_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send-reada-plot.h"
#include "send/send-extents.h"
#include "send/send-largest-files.h"
#include "send/send-stream.h"
#include "text/units.h"

/* The contents of a stream by kind of command. */
struct send_tally {
	uint64_t counts[SEND_COMMAND_COUNT];
	uint64_t bytes[SEND_COMMAND_COUNT];
	uint64_t command_count;
	/* the file data in the stream, or the data that it would have with --data */
	uint64_t data_bytes;
	/* the size of the stream with data */
	uint64_t estimated_bytes;
};

/* What the first subvolume of a stream is. */
struct send_identity {
	/* false: the stream does not say it */
	bool is_known;
	bool has_parent;
	uint8_t uuid[SEND_UUID_SIZE];
	uint8_t parent_uuid[SEND_UUID_SIZE];
	/* the transaction of its last change */
	uint64_t ctransid;
	uint64_t parent_ctransid;
};

/* The reading of a stream from the kernel or a file, and what it has counted so far. */
struct send_reading {
	struct send_stream stream;
	struct send_tally tally;
	/* the name that the stream gives its first subvolume */
	char *name;
	struct send_identity identity;
	/* with --top */
	struct send_largest_files *top;
	/* for an estimate: where the lengths in a stream without data are wrong, those in the trees; or NULL */
	struct send_extents *extents;
	/* the plot of this pass, NULL: there is none */
	struct send_plot *plot;
	size_t page_size;
	/* the expected size of the stream, 0 if unknown */
	uint64_t expected_bytes;
	uint64_t started_ns;
	struct size_format sizes;
};

/*
 * Begins to read a stream, and remembers its TOP largest files. Returns 0 or -ENOMEM. READING is
 * freed with send_reading_free(), also after an error.
 */
int send_reading_init(struct send_reading *reading, size_t top, struct size_format sizes);
void send_reading_free(struct send_reading *reading);

/*
 * Counts the commands in the next SIZE bytes, and shows progress. This is a send_reader; DATA is a
 * struct send_reading. Returns 0, or a negative errno as send_stream_next() and
 * send_extents_find(); for -ENODATA it prints an error, and returns -ECANCELED.
 */
int send_reading_take(void *data, const void *bytes, size_t size);

/*
 * Reads the stream in the file PATH, "-" for standard input. If the stream is damaged, prints an error
 * and sets *RET_FAULT to the damage; READING then has counted the part before it. Returns 0, or -1
 * after printing an error if it cannot read.
 */
int send_reading_decode(struct send_reading *reading, const char *path, const char **ret_fault);

/* How much was sent so far, as the plot counts it; there has to be one. */
uint64_t send_reading_amount(const struct send_reading *reading);

/* The size of the whole stream with data. */
uint64_t send_reading_estimated_bytes(const struct send_reading *reading);

#endif
