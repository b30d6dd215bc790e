// SPDX-License-Identifier: GPL-2.0-only
/* An input is a leaf, whatever checksum it has. */
#include "config.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fuzz.h"
#include "num/digest.h"
#include "probe/image-inode-flags.h"
#include "sys/cleanup.h"

#define INODE 257

static void sum(uint8_t *leaf, size_t size)
{
	uint32_t checksum = htole32(~crc32c(~0U, leaf + BTRFS_CSUM_SIZE, size - BTRFS_CSUM_SIZE));

	memcpy(leaf, &checksum, sizeof(checksum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE uint8_t *leaf = fuzz_copy(data, size);
	struct btrfs_header header;

	if (size < sizeof(header)) {
		INVARIANT(!image_inode_flags_edit_leaf(leaf, size, data, 0, INODE, 1));
		return 0;
	}
	sum(leaf, size);
	memcpy(&header, leaf, sizeof(header));
	if (image_inode_flags_edit_leaf(leaf, size, header.fsid, le64toh(header.owner), INODE, 3)) {
		INVARIANT(header.level == 0);
		/* It is a leaf with that inode still. */
		INVARIANT(image_inode_flags_edit_leaf(leaf, size, header.fsid,
						      le64toh(header.owner), INODE, 3));
	}
	return 0;
}
