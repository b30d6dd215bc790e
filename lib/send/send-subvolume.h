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
	/* file data, too */
	bool data;
	/* as it is compressed; from protocol 2 on */
	bool compressed;
	/* the id of the parent, 0: all is sent */
	uint64_t parent;
	const uint64_t *clone_sources;
	size_t clone_count;
};

/* Takes the next SIZE bytes of a stream. Returns 0, or a negative errno to end the sending. */
typedef int send_reader(void *data, const void *bytes, size_t size);

/*
 * Have the kernel send a subvolume, and call READER with DATA, on this thread, as the stream comes;
 * it is written nowhere. The kernel works on a thread of its own meanwhile.
 * Returns 0, what READER returned, or a negative errno: -EPERM without CAP_SYS_ADMIN or for a
 * subvolume, parent or clone source that is not read-only, -EPROTO or -EOPNOTSUPP for a protocol or
 * a flag that the kernel does not know, -ENOTTY where the file system is not btrfs.
 * Rests on BTRFS_IOC_SEND.
 */
int send_subvolume(const struct send_request *request, send_reader *reader, void *data);

/*
 * Parse the SIZE bytes of TEXT, what sysfs says of the newest protocol.
 * Returns 0, or -EPROTO.
 */
int send_protocol_parse(const char *text, size_t size, uint32_t *ret_protocol);

/* The newest protocol that the kernel knows, by /sys/fs/btrfs/features/send_stream_version. */
uint32_t send_newest_protocol(void);

#endif
