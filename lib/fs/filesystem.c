// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <btrfs/ctree.h>
#include <btrfs/ioctl.h>
#include <linux/magic.h>

#include "fs/filesystem.h"
#include "path/open-beneath.h"
#include "sys/cleanup.h"
#include "sys/retry-ioctl.h"

/* of RAID1C4 */
#define COPIES_MAX 4

int filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE])
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_FS_INFO, &info, sizeof(info));
	if (ret < 0)
		return ret;
	memcpy(ret_fsid, info.fsid, FSID_SIZE);
	return 0;
}

int filesystem_open_directory(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);
	struct statfs status;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &status) < 0)
		ret = -errno;
	else if (!filesystem_has_type(&status, BTRFS_SUPER_MAGIC))
		ret = -ENOTTY;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int filesystem_commit(int fd)
{
	uint64_t transaction = 0;
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_START_SYNC, &transaction, 0);
	if (ret == 0)
		ret = retry_ioctl(fd, BTRFS_IOC_WAIT_SYNC, &transaction, sizeof(transaction));
	return ret < 0 && ret != -EROFS ? ret : 0;
}

static bool has_dash_before(int i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

uint64_t filesystem_size_limit(int fd)
{
	struct statfs status;
	uint64_t bytes;

	if (fstatfs(fd, &status) < 0 || status.f_bsize <= 0 ||
	    __builtin_mul_overflow(status.f_blocks, (uint64_t)status.f_bsize * COPIES_MAX, &bytes))
		return UINT64_MAX;
	return bytes;
}

char *filesystem_id_text(char text[FSID_TEXT_SIZE], const uint8_t fsid[FSID_SIZE])
{
	char *out = text;

	for (int i = 0; i < FSID_SIZE; i++)
		out += sprintf(out, has_dash_before(i) ? "-%02x" : "%02x", fsid[i]);
	return text;
}

/* Returns less than 0 if it is none, as a NUL byte. */
static int hex_digit(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = character ? strchr(digits, character) : NULL;

	return found ? (int)(found - digits) : -1;
}

int filesystem_id_parse(const char *text, uint8_t ret_fsid[FSID_SIZE])
{
	uint8_t fsid[FSID_SIZE];

	for (int i = 0; i < FSID_SIZE; i++) {
		int high, low;

		if (has_dash_before(i) && *text++ != '-')
			return -EINVAL;
		high = hex_digit(*text++);
		low = high < 0 ? -1 : hex_digit(*text++);
		if (low < 0)
			return -EINVAL;
		fsid[i] = high << 4 | low;
	}
	if (*text)
		return -EINVAL;
	memcpy(ret_fsid, fsid, FSID_SIZE);
	return 0;
}

int drop_caches(int fd)
{
	CLEANUP_CLOSE int control = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (control < 0)
		return -errno;
	/* Dirty blocks cannot be dropped. */
	if (syncfs(fd))
		return -errno;
	return write(control, "3\n", 2) == 2 ? 0 : -errno;
}

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
