// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fs/checksum-format.h"
#include "sys/retry-ioctl.h"

#define CRC32C_SIZE 4
#define CHECKSUM_SIZE_MAX 32
#define NODE_SIZE_MAX (64 * 1024)

/* The beginning of what the ioctl fills; libbtrfs' own is from before Linux 5.10. */
struct fs_info {
	uint64_t max_id;
	uint64_t num_devices;
	uint8_t fsid[16];
	uint32_t nodesize;
	uint32_t sectorsize;
	uint32_t clone_alignment;
	uint16_t csum_type;
	uint16_t csum_size;
	uint64_t flags;
};

#define FLAG_CSUM_INFO 1

static bool is_power_of_two(uint32_t number)
{
	return number && !(number & (number - 1));
}

int checksum_format_parse(const void *info, size_t size, struct checksum_format *ret_format)
{
	struct checksum_format format;
	struct fs_info raw;

	if (size < sizeof(raw))
		return -EPROTO;
	memcpy(&raw, info, sizeof(raw));
	format = (struct checksum_format){
		.sector_size = raw.sectorsize,
		.size = raw.flags & FLAG_CSUM_INFO ? raw.csum_size : CRC32C_SIZE,
		.node_size = raw.nodesize,
	};
	if (!is_power_of_two(format.sector_size) || !is_power_of_two(format.node_size) ||
	    format.sector_size > format.node_size || format.node_size > NODE_SIZE_MAX)
		return -EPROTO;
	if (!format.size || format.size > CHECKSUM_SIZE_MAX)
		return -EPROTO;

	*ret_format = format;
	return 0;
}

int checksum_format_of(int fd, struct checksum_format *ret_format)
{
	union {
		struct fs_info info;
		struct btrfs_ioctl_fs_info_args arguments;
	} answer = { .info.flags = FLAG_CSUM_INFO };
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_FS_INFO, &answer, sizeof(answer));
	return ret < 0 ? ret : checksum_format_parse(&answer, sizeof(answer), ret_format);
}
