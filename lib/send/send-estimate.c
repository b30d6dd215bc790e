// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "num/saturating.h"
#include "send/send-estimate.h"

#define KIB 1024
#define COMMAND_HEADER_SIZE 10
#define ATTRIBUTE_HEADER_SIZE 4
#define U32_SIZE (ATTRIBUTE_HEADER_SIZE + sizeof(uint32_t))
#define U64_SIZE (ATTRIBUTE_HEADER_SIZE + sizeof(uint64_t))
/* Without a length. */
#define DATA_HEADER_SIZE_V2 2

/* The most file data in one write. The kernel keeps 16 KiB of its buffer for the rest. */
static uint64_t largest_write(uint32_t protocol, size_t page_size)
{
	const uint64_t rest = 16 * KIB, compressed_max = 128 * KIB;

	if (protocol == 1)
		return 64 * KIB - rest;
	return (rest + compressed_max + page_size - 1) / page_size * page_size - rest;
}

static uint64_t path_size(const struct send_command *command)
{
	return ATTRIBUTE_HEADER_SIZE + strlen(command->path);
}

uint64_t send_estimate_size(const struct send_command *command, uint32_t protocol, size_t page_size)
{
	uint64_t most = largest_write(protocol, page_size);
	uint64_t count, around, all_around;

	if (command->type != SEND_UPDATE_EXTENT)
		return command->size;

	count = command->length / most + !!(command->length % most);
	around = COMMAND_HEADER_SIZE + path_size(command) + U64_SIZE +
		 (protocol == 1 ? ATTRIBUTE_HEADER_SIZE : DATA_HEADER_SIZE_V2);
	if (__builtin_mul_overflow(count, around, &all_around))
		return UINT64_MAX;
	return saturating_add(command->length, all_around);
}

bool send_estimate_is_encoded(const struct file_extent *extent, uint64_t length)
{
	return extent->is_compressed && extent->disk_bytes <= length;
}

uint64_t send_estimate_encoded_size(const struct send_command *command,
				    const struct file_extent *extent)
{
	/* the offset, the length in the file, the length and the offset before it was compressed */
	uint64_t around = COMMAND_HEADER_SIZE + path_size(command) + 4 * U64_SIZE +
			  DATA_HEADER_SIZE_V2;

	/* how it is compressed, and that it is not encrypted, which inline data does not have */
	around += extent->is_inline ? U32_SIZE : 2 * U32_SIZE;
	return saturating_add(extent->disk_bytes, around);
}
