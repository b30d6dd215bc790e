/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_ESTIMATE_H
#define FASTPATH_SEND_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "fs/file-extent.h"
#include "send/send-stream.h"

/*
 * The bytes that COMMAND of a stream without file data takes in one of PROTOCOL with it: an update
 * of an extent becomes writes of the extent's data, all others stay as they are. PAGE_SIZE is that
 * of the kernel that sends. UINT64_MAX means more than fits.
 * Rests on send_extent_data() and max_send_read_size() of fs/btrfs/send.c.
 */
uint64_t send_estimate_size(const struct send_command *command, uint32_t protocol,
			    size_t page_size);

/* Whether LENGTH bytes of EXTENT are sent as they are compressed, where that is asked for. */
bool send_estimate_is_encoded(const struct file_extent *extent, uint64_t length);

/* The same as send_estimate_size() where the update of an extent is sent so. */
uint64_t send_estimate_encoded_size(const struct send_command *command,
				    const struct file_extent *extent);

#endif
