/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_ESTIMATE_H
#define FASTPATH_SEND_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "fs/file-extent.h"
#include "send/send-stream.h"

/*
 * The size that COMMAND, of a stream without file data, has in a stream of PROTOCOL with file data.
 * The update of an extent becomes writes of the extent's data, and other commands keep their size.
 * PAGE_SIZE is the page size of the sending kernel. UINT64_MAX means that the size overflows.
 * Rests on send_extent_data() and max_send_read_size() of fs/btrfs/send.c.
 */
uint64_t send_estimate_size(const struct send_command *command, uint32_t protocol,
			    size_t page_size);

/* Whether LENGTH bytes of EXTENT are sent compressed if the send is for compressed data. */
bool send_estimate_is_encoded(const struct file_extent *extent, uint64_t length);

/* The same as send_estimate_size() for the update of an extent that is sent compressed. */
uint64_t send_estimate_encoded_size(const struct send_command *command,
				    const struct file_extent *extent);

#endif
