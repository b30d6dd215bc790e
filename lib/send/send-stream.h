/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_STREAM_H
#define FASTPATH_SEND_STREAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send/send-command.h"

/* One command of a stream. */
struct send_command {
	enum send_command_type type;
	/* where it begins in the stream */
	uint64_t position;
	/* of all of it, in the stream */
	uint64_t size;
	/* "" where it has none; PATH_TO of a rename alone; both valid until the next call */
	const char *path;
	const char *path_to;
	/* the part of the file that it is about, 0 where it is not about one */
	uint64_t offset;
	uint64_t length;
	/* file data in it, as it is, that is compressed in an encoded write */
	uint64_t data_bytes;
};

/* What is wrong with a stream. */
enum send_fault {
	SEND_FAULT_NONE,
	SEND_FAULT_MAGIC,
	SEND_FAULT_PROTOCOL,
	SEND_FAULT_COMMAND,
	SEND_FAULT_ATTRIBUTE,
	SEND_FAULT_LENGTH,
	SEND_FAULT_PATH,
	SEND_FAULT_MISSING,
	SEND_FAULT_CHECKSUM,
	SEND_FAULT_EMPTY,
	SEND_FAULT_CUT,
	SEND_FAULT_NO_END,
};

/*
 * Reads a stream that comes in pieces of any size, or several streams one after the other, as
 * btrfs-send(8) writes them. Its memory does not depend on the size of anything in the stream.
 * Begins as { 0 }; the members after the dashes are private.
 */
struct send_stream {
	/* taken so far */
	uint64_t position;
	/* 1 to SEND_PROTOCOL_MAX; 0 before the header */
	uint32_t protocol;
	enum send_fault fault;
	/* where the fault is: the byte where that begins which cannot be right */
	uint64_t fault_position;
	/* -- */
	/* the field being read: where it begins, where it goes (or NULL), what is still to come */
	int field;
	bool reading;
	uint64_t field_position;
	uint8_t *target;
	size_t left;
	/* the command that is being read */
	struct send_command command;
	uint64_t body_left;
	uint32_t crc;
	uint32_t expected_crc;
	unsigned int attribute;
	uint64_t attributes;
	uint64_t numbers[SEND_ATTRIBUTE_COUNT];
	uint8_t scratch[32];
	char path[PATH_MAX];
	char path_to[PATH_MAX];
	/* between the header of a stream and its end */
	bool is_open;
};

/*
 * The next command from *SIZE bytes at *BUFFER; both move to the end of the command.
 * Returns 1 with a command that is as it was sent, by its length, attributes and checksum; 0 where
 * all bytes were taken and more are needed; or -EPROTO, also from then on, with FAULT set.
 * Rests on the stream format of fs/btrfs/send.h and send.c.
 */
int send_stream_next(struct send_stream *stream, const void **buffer, size_t *size,
		     struct send_command *ret_command);

/* Whether the stream may end here: returns 0, or -EPROTO with FAULT set. */
int send_stream_end(struct send_stream *stream);

/* What is wrong, such as "unknown command". */
const char *send_fault_text(enum send_fault fault);

#endif
