// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/find-nonzero.h"

#define READ_SIZE (256 * 1024)

/* Where the first byte of BYTES is that is not zero, or SIZE. */
static size_t first_other(const unsigned char *bytes, size_t size)
{
	size_t i = 0;

	/* All bytes are the first one, which is zero: memcmp() is fast, and mostly right away. */
	if (!size || (!bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0))
		return size;
	while (!bytes[i])
		i++;
	return i;
}

int find_nonzero(int fd, struct byte_range range, uint64_t *ret_offset)
{
	CLEANUP_FREE unsigned char *buffer = malloc(READ_SIZE);
	uint64_t end = byte_range_end(range);
	uint64_t offset = range.offset;

	if (!buffer)
		return -ENOMEM;
	while (offset < end) {
		size_t wanted = end - offset < READ_SIZE ? end - offset : READ_SIZE;
		ssize_t size = pread(fd, buffer, wanted, offset);
		size_t other;

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (!size)
			break;
		/* It only saves memory, so it may fail. */
		posix_fadvise(fd, offset, size, POSIX_FADV_DONTNEED);
		other = first_other(buffer, size);
		if (other < (size_t)size) {
			*ret_offset = offset + other;
			return 1;
		}
		offset += size;
	}
	*ret_offset = offset;
	return 0;
}
