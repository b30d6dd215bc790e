/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_SUBVOLUME_H
#define FASTPATH_SEND_SUBVOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct send_request {
	/* the read-only subvolume */
	int fd;
	/* from 1 on */
	uint32_t protocol;
	/* send file data, too */
	bool data;
	/* send data compressed as it is on disk; needs protocol 2 or later */
	bool compressed;
	/* the id of the parent, 0 for a full send */
	uint64_t parent;
	const uint64_t *clone_sources;
	size_t clone_count;
};

/* Takes the next SIZE bytes of a stream. Returns 0, or a negative errno to end the sending. */
typedef int send_reader(void *data, const void *bytes, size_t size);

/*
 * Make the kernel send a subvolume, and call READER with DATA on this thread for each piece of the
 * stream. The stream is not stored. The kernel sends on another thread.
 * Returns 0, the error of READER, or a negative errno: -EPERM without CAP_SYS_ADMIN or for a
 * subvolume, parent or clone source that is not read-only, -EPROTO or -EOPNOTSUPP for a protocol or
 * a flag that the kernel does not know, -ENOTTY if the file system is not btrfs.
 * Rests on BTRFS_IOC_SEND.
 */
int send_subvolume(const struct send_request *request, send_reader *reader, void *data);

/*
 * Parse the SIZE bytes of TEXT, the contents of send_stream_version in sysfs.
 * Returns 0, or -EPROTO.
 */
int send_protocol_parse(const char *text, size_t size, uint32_t *ret_protocol);

/* The newest protocol that the kernel knows, by /sys/fs/btrfs/features/send_stream_version. */
uint32_t send_newest_protocol(void);

#endif
