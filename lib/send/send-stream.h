/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_STREAM_H
#define FASTPATH_SEND_STREAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send/send-command.h"

#define SEND_UUID_SIZE 16

/* One command of a stream. */
struct send_command {
	enum send_command_type type;
	/* where it begins in the stream */
	uint64_t position;
	/* of the whole command in the stream */
	uint64_t size;
	/* "" if the command has no path; PATH_TO only for a rename; valid until the next call */
	const char *path;
	const char *path_to;
	/*
	 * of the subvolume that the command begins, and of its parent; NULL if the command
	 * names none. As the paths
	 */
	const uint8_t *uuid;
	const uint8_t *parent_uuid;
	uint64_t ctransid;
	uint64_t parent_ctransid;
	/* of the file that the command creates, 0 if the command names none */
	uint64_t inode;
	/* the range of the file that the command changes, 0 if it has none */
	uint64_t offset;
	uint64_t length;
	/* the size of the file data in the command; compressed in an encoded write */
	uint64_t data_bytes;
};

/* The damage of a stream. */
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
	/* a stream begins within a command: its sender restarted */
	SEND_FAULT_RESTART,
};

/*
 * Reads a stream that comes in pieces of any size, or several streams one after the other, as
 * btrfs-send(8) writes them. Its memory does not depend on the size of anything in the stream.
 * Begins as { 0 }; the members after the dashes are private.
 */
struct send_stream {
	/* the number of bytes read so far */
	uint64_t position;
	/* 1 to SEND_PROTOCOL_MAX; 0 before the header */
	uint64_t protocol;
	enum send_fault fault;
	/* the first byte of the field or command that is wrong */
	uint64_t fault_position;
	/* -- */
	/* the field being read: its begin, its buffer (or NULL), and the bytes that are missing */
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
	uint8_t uuid[SEND_UUID_SIZE];
	uint8_t parent_uuid[SEND_UUID_SIZE];
	char path[PATH_MAX];
	char path_to[PATH_MAX];
	/* true from the header of a stream to its end */
	bool is_open;
	/* how much of a magic the last bytes of an incomplete command are, and where a whole one is */
	size_t magic_matched;
	uint64_t magic_position;
	/* the fault, unless a magic follows */
	enum send_fault waiting_fault;
	uint64_t waiting_position;
};

/*
 * The next command from *SIZE bytes at *BUFFER; both move to the end of the command.
 * Returns 1 with a command whose length, attributes and checksum are correct; 0 if all bytes were
 * read and more are needed; or -EPROTO with FAULT set, and then again for every later call.
 * Rests on the stream format of fs/btrfs/send.h and send.c.
 */
int send_stream_next(struct send_stream *stream, const void **buffer, size_t *size,
		     struct send_command *ret_command);

/* Checks that the stream can end here. Returns 0, or -EPROTO with FAULT set. */
int send_stream_end(struct send_stream *stream);

/* A text for FAULT, such as "unknown command". */
const char *send_fault_text(enum send_fault fault);

#endif
