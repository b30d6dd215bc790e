// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/sysfs-attribute.h"
#include "fs/unwritable-chunks.h"
#include "num/byte-range.h"
#include "sys/cleanup.h"
#include "text/decimal.h"

struct unwritable_chunks {
	struct unwritable_device *devices;
	size_t device_count;
	bool has_writable_device;
	/* in ascending order, with a gap between each two */
	struct byte_range *ranges;
	size_t range_count;
};

/* -- devices -- */

/* Returns 1 or 0 as NAME of the device in DIRECTORY says, or a negative errno. */
static int read_flag(int directory, const char *device, const char *name)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int fd = -1;
	char text[2];
	ssize_t size;

	if (asprintf(&path, "%s/%s", device, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text));
	if (size < 0)
		return -errno;
	return size > 0 && (text[0] == '0' || text[0] == '1') ? text[0] - '0' : -EPROTO;
}

static int add_device(struct unwritable_chunks *chunks, int directory, const char *name)
{
	struct unwritable_device device = { 0 };
	const char *text = name;
	void *devices;
	int missing, writable;

	if (!decimal_read(&text, name + strlen(name), &device.id) || *text)
		return 0;
	missing = read_flag(directory, name, "missing");
	writable = read_flag(directory, name, "writeable");
	if (missing < 0 || writable < 0)
		return missing < 0 ? missing : writable;
	if (writable && !missing) {
		chunks->has_writable_device = true;
		return 0;
	}
	device.is_missing = missing;
	devices = reallocarray(chunks->devices, chunks->device_count + 1, sizeof(device));
	if (!devices)
		return -ENOMEM;
	chunks->devices = devices;
	chunks->devices[chunks->device_count++] = device;
	return 0;
}

static int add_devices(struct unwritable_chunks *chunks, DIR *directory)
{
	struct dirent *entry;

	while ((errno = 0, entry = readdir(directory))) {
		int ret = add_device(chunks, dirfd(directory), entry->d_name);

		/* A device that was removed meanwhile is not part of the file system. */
		if (ret < 0 && ret != -ENOENT)
			return ret;
	}
	return -errno;
}

static int find_devices(struct unwritable_chunks *chunks, const char *root, int fd)
{
	CLEANUP_FREE char *path = NULL;
	uint8_t fsid[FSID_SIZE];
	DIR *directory;
	int ret;

	ret = filesystem_id_of(fd, fsid);
	if (ret < 0)
		return ret;
	path = sysfs_path_of(root, fsid, "devinfo");
	if (!path)
		return -ENOMEM;
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	ret = add_devices(chunks, directory);
	closedir(directory);
	return ret;
}

/* -- chunks -- */

/* How many devices of a chunk can be missing. */
static unsigned int tolerated_failures(uint64_t type)
{
	if (type & BTRFS_BLOCK_GROUP_RAID1C4)
		return 3;
	if (type & (BTRFS_BLOCK_GROUP_RAID1C3 | BTRFS_BLOCK_GROUP_RAID6))
		return 2;
	return type & (BTRFS_BLOCK_GROUP_RAID1 | BTRFS_BLOCK_GROUP_RAID10 |
		       BTRFS_BLOCK_GROUP_RAID5) ?
		       1 :
		       0;
}

static const struct unwritable_device *find_device(const struct unwritable_device *devices,
						   size_t count, uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (devices[i].id == id)
			return &devices[i];
	return NULL;
}

int chunk_is_writable(const struct tree_item *item, const struct unwritable_device *devices,
		      size_t count, uint64_t *ret_length)
{
	const size_t stripes_offset = offsetof(struct btrfs_chunk, stripe);
	unsigned int missing_count = 0, stripe_count;
	struct btrfs_chunk chunk;
	uint64_t end;

	if (item->size < stripes_offset)
		return -EPROTO;
	memcpy(&chunk, item->data, stripes_offset);
	stripe_count = le16toh(chunk.num_stripes);
	if (item->size < stripes_offset + stripe_count * sizeof(struct btrfs_stripe) ||
	    __builtin_add_overflow(item->offset, le64toh(chunk.length), &end))
		return -EPROTO;

	*ret_length = le64toh(chunk.length);
	for (unsigned int i = 0; i < stripe_count; i++) {
		const struct unwritable_device *device;
		struct btrfs_stripe stripe;

		memcpy(&stripe, (const char *)item->data + stripes_offset + i * sizeof(stripe),
		       sizeof(stripe));
		device = find_device(devices, count, le64toh(stripe.devid));
		if (device && !device->is_missing)
			return 0;
		missing_count += !!device;
	}
	return missing_count <= tolerated_failures(le64toh(chunk.type));
}

static int add_range(struct unwritable_chunks *chunks, struct byte_range range)
{
	size_t count = chunks->range_count;
	void *ranges;

	if (count && byte_range_end(chunks->ranges[count - 1]) == range.offset) {
		chunks->ranges[count - 1].length += range.length;
		return 0;
	}
	ranges = reallocarray(chunks->ranges, count + 1, sizeof(range));
	if (!ranges)
		return -ENOMEM;
	chunks->ranges = ranges;
	chunks->ranges[chunks->range_count++] = range;
	return 0;
}

static int find_ranges(struct unwritable_chunks *chunks, int fd)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, fd, BTRFS_CHUNK_TREE_OBJECTID,
			      BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY, 0, UINT64_MAX);
	if (ret < 0)
		return ret;
	while ((ret = tree_search_next(search, &item)) > 0) {
		struct byte_range range = { .offset = item.offset };

		ret = chunk_is_writable(&item, chunks->devices, chunks->device_count,
					&range.length);
		if (ret == 0)
			ret = add_range(chunks, range);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int unwritable_chunks_find(const char *root, int fd, struct unwritable_chunks **ret_chunks)
{
	struct unwritable_chunks *chunks = calloc(1, sizeof(*chunks));
	int ret;

	if (!chunks)
		return -ENOMEM;
	ret = find_devices(chunks, root, fd);
	if (ret == 0 && chunks->device_count && chunks->has_writable_device)
		ret = find_ranges(chunks, fd);
	if (ret < 0) {
		unwritable_chunks_free(chunks);
		return ret;
	}

	*ret_chunks = chunks;
	return 0;
}

void unwritable_chunks_free(struct unwritable_chunks *chunks)
{
	if (!chunks)
		return;
	free(chunks->devices);
	free(chunks->ranges);
	free(chunks);
}

bool unwritable_chunks_contain(const struct unwritable_chunks *chunks, uint64_t bytenr)
{
	size_t low = 0, high = chunks ? chunks->range_count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct byte_range *range = &chunks->ranges[middle];

		if (bytenr < range->offset)
			high = middle;
		else if (bytenr - range->offset >= range->length)
			low = middle + 1;
		else
			return true;
	}
	return false;
}
