// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "base/cleanup.h"
#include "base/retry-ioctl.h"
#include "fs/data-copies.h"

/* There are three kinds of block groups, each with at most all profiles. */
#define SPACES_MAX 64

static unsigned int copies_in(uint64_t flags)
{
	if (flags & (BTRFS_BLOCK_GROUP_RAID5 | BTRFS_BLOCK_GROUP_RAID6))
		return 0;
	if (flags & BTRFS_BLOCK_GROUP_RAID1C4)
		return 4;
	if (flags & BTRFS_BLOCK_GROUP_RAID1C3)
		return 3;
	if (flags & (BTRFS_BLOCK_GROUP_DUP | BTRFS_BLOCK_GROUP_RAID1 | BTRFS_BLOCK_GROUP_RAID10))
		return 2;
	return 1;
}

int data_copies_of(int fd, unsigned int *ret_copies)
{
	struct btrfs_ioctl_space_args *arguments;
	CLEANUP_FREE void *memory =
		calloc(1, sizeof(*arguments) + SPACES_MAX * sizeof(arguments->spaces[0]));
	unsigned int copies = 0;
	bool found = false;
	int ret;

	if (!memory)
		return -ENOMEM;
	arguments = memory;
	arguments->space_slots = SPACES_MAX;
	ret = retry_ioctl(fd, BTRFS_IOC_SPACE_INFO, arguments, sizeof(*arguments));
	if (ret < 0)
		return ret;
	if (arguments->total_spaces > SPACES_MAX)
		return -EPROTO;
	for (uint64_t i = 0; i < arguments->total_spaces; i++) {
		const struct btrfs_ioctl_space_info *space = &arguments->spaces[i];

		if (!(space->flags & BTRFS_BLOCK_GROUP_DATA) || !space->used_bytes)
			continue;
		if (found && copies != copies_in(space->flags)) {
			copies = 0;
			break;
		}
		copies = copies_in(space->flags);
		found = true;
	}

	*ret_copies = copies;
	return 0;
}
