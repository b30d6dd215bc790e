// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "base/cleanup.h"
#include "base/saturating-add.h"
#include "fs/subvolume.h"
#include "sharing/named-set.h"

#define MEMORY (16 * 1024 * 1024)
/* What a snapshot has in place of a subvolume nested in its origin; it is in no tree. */
#define EMPTY_DIRECTORY_INODE 2

/* -- what is sorted -- */

static int compare_extents(const void *a, const void *b)
{
	const struct named_extent *x = a, *y = b;

	if (x->filesystem != y->filesystem)
		return x->filesystem < y->filesystem ? -1 : 1;
	return (x->bytenr > y->bytenr) - (x->bytenr < y->bytenr);
}

static bool merge_extents(void *record, const void *next)
{
	struct named_extent *extent = record;
	const struct named_extent *same = next;

	if (compare_extents(extent, same) != 0)
		return false;
	extent->of_file |= same->of_file;
	extent->has_checksums |= same->has_checksums;
	return true;
}

static const struct record_sort_ops extent_ops = {
	.record_size = sizeof(struct named_extent),
	.compare = compare_extents,
	.merge = merge_extents,
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_inodes(const void *a, const void *b)
{
	const struct named_inode *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	if (!order)
		order = compare_numbers(x->subvolid, y->subvolid);
	if (!order)
		order = compare_numbers(x->inode, y->inode);
	if (!order)
		order = compare_numbers(x->parent, y->parent);
	return order ? order : compare_numbers(x->name_hash, y->name_hash);
}

static bool merge_inodes(void *record, const void *next)
{
	struct named_inode *inode = record;
	const struct named_inode *same = next;

	if (compare_inodes(inode, same) != 0)
		return false;
	/* It is the same thing, read twice. */
	if (same->item_bytes > inode->item_bytes)
		inode->item_bytes = same->item_bytes;
	if (same->link_count > inode->link_count)
		inode->link_count = same->link_count;
	return true;
}

static const struct record_sort_ops inode_ops = {
	.record_size = sizeof(struct named_inode),
	.compare = compare_inodes,
	.merge = merge_inodes,
};

/* -- the set -- */

int named_set_new(struct named_set **ret_set, bool is_judged, bool measures_files)
{
	struct named_set *set = calloc(1, sizeof(*set));
	int ret;

	if (!set)
		return -ENOMEM;
	set->is_judged = is_judged;
	set->measures_files = measures_files;
	pthread_mutex_init(&set->lock, NULL);
	ret = record_sort_new(&set->extents, &extent_ops, MEMORY);
	if (ret == 0)
		ret = record_sort_new(&set->inodes, &inode_ops, MEMORY);
	if (ret < 0) {
		named_set_free(set);
		return ret;
	}

	*ret_set = set;
	return 0;
}

void named_set_free(struct named_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->filesystem_count; i++) {
		close(set->filesystems[i].fd);
		snapshot_families_free(set->filesystems[i].families);
	}
	for (size_t i = 0; i < set->subvolume_count; i++)
		free(set->subvolumes[i]);
	free(set->filesystems);
	free(set->subvolumes);
	record_sort_free(set->extents);
	record_sort_free(set->inodes);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* -- file systems and subvolumes, with the lock held -- */

/*
 * Makes what is to be judged the same in memory and on disk, and reads who can share with whom, and
 * how large checksums are.
 */
static int prepare_filesystem(const struct named_set *set, struct named_filesystem *filesystem)
{
	int ret;

	if (!set->is_judged)
		return 0;
	ret = filesystem_commit(filesystem->fd);
	/* Nothing is left to commit on one that is mounted read-only. */
	if (ret < 0 && ret != -EROFS)
		return ret;
	ret = checksum_format_of(filesystem->fd, &filesystem->checksums);
	return ret < 0 ? ret : snapshot_families_read(&filesystem->families, filesystem->fd);
}

static int add_filesystem(struct named_set *set, int fd, const uint8_t fsid[FSID_SIZE])
{
	struct named_filesystem filesystem = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	struct named_filesystem *list;
	int ret;

	if (filesystem.fd < 0)
		return -errno;
	memcpy(filesystem.fsid, fsid, FSID_SIZE);
	list = reallocarray(set->filesystems, set->filesystem_count + 1, sizeof(*list));
	if (list)
		set->filesystems = list;
	ret = list ? prepare_filesystem(set, &filesystem) : -ENOMEM;
	if (ret < 0) {
		close(filesystem.fd);
		return ret;
	}
	list[set->filesystem_count++] = filesystem;
	return 0;
}

static int find_filesystem(struct named_set *set, int fd, uint32_t *ret_index)
{
	uint8_t fsid[FSID_SIZE];
	uint32_t index;
	int ret;

	ret = filesystem_id_of(fd, fsid);
	if (ret < 0)
		return ret;
	for (index = 0; index < set->filesystem_count; index++)
		if (memcmp(set->filesystems[index].fsid, fsid, FSID_SIZE) == 0)
			break;
	if (index == set->filesystem_count) {
		ret = add_filesystem(set, fd, fsid);
		if (ret < 0)
			return ret;
	}

	*ret_index = index;
	return 0;
}

/* Where the list has, or should have, DEVICE. */
static size_t place_of_device(const struct named_set *set, dev_t device)
{
	size_t low = 0, high = set->subvolume_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->subvolumes[middle]->device < device)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int read_subvolume(struct named_set *set, int fd, struct named_subvolume *subvolume)
{
	const struct snapshot_families *families;
	int ret;

	ret = find_filesystem(set, fd, &subvolume->filesystem);
	if (ret == 0)
		ret = subvolume_id_of(fd, &subvolume->subvolid);
	if (ret < 0)
		return ret;
	families = set->filesystems[subvolume->filesystem].families;
	if (!families)
		return 0;
	subvolume->member = snapshot_families_find(families, subvolume->subvolid);
	if (subvolume->member)
		snapshot_families_relatives(families, subvolume->member, NULL, NULL,
					    &subvolume->relatives);
	return 0;
}

static int insert_subvolume(struct named_set *set, int fd, dev_t device, size_t place)
{
	struct named_subvolume **list = reallocarray(set->subvolumes, set->subvolume_count + 1,
						     sizeof(*list));
	struct named_subvolume *subvolume = list ? calloc(1, sizeof(*subvolume)) : NULL;
	int ret;

	if (list)
		set->subvolumes = list;
	if (!subvolume)
		return -ENOMEM;
	subvolume->device = device;
	ret = read_subvolume(set, fd, subvolume);
	if (ret < 0) {
		free(subvolume);
		return ret;
	}
	memmove(&list[place + 1], &list[place], (set->subvolume_count - place) * sizeof(*list));
	list[place] = subvolume;
	set->subvolume_count++;
	return 0;
}

/* The subvolume of FD; btrfs has a device number for each. */
static int find_subvolume(struct named_set *set, int fd, dev_t device,
			  struct named_subvolume **ret_subvolume)
{
	size_t place;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	place = place_of_device(set, device);
	if (place == set->subvolume_count || set->subvolumes[place]->device != device)
		ret = insert_subvolume(set, fd, device, place);
	if (ret == 0)
		*ret_subvolume = set->subvolumes[place];
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* -- adding -- */

struct addition {
	struct named_set *set;
	const struct named_subvolume *subvolume;
	struct space_reader *reader;
	int fd;
	uint64_t item_bytes;
};

static int add_extent(void *data, const struct disk_extent *extent)
{
	const struct addition *addition = data;
	const struct named_extent named = {
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.filesystem = addition->subvolume->filesystem,
		.of_file = 1,
		.has_checksums = extent->has_checksums,
	};

	pthread_mutex_lock(&addition->set->lock);
	record_sort_add(addition->set->extents, &named);
	pthread_mutex_unlock(&addition->set->lock);
	return 0;
}

/* Counts what leaves the tree, and not what only leaves a copy of a block that stays. */
static int count_run(void *data, const struct item_run *run)
{
	struct addition *addition = data;
	int ret = space_reader_run_is_shared(addition->reader, addition->fd,
					     addition->subvolume->member,
					     &addition->subvolume->relatives, run);

	if (ret == 0)
		addition->item_bytes = saturating_add(addition->item_bytes, run->bytes);
	return ret < 0 ? ret : 0;
}

static const struct space_ops file_ops = { .extent = add_extent };
static const struct space_ops judged_file_ops = { .extent = add_extent, .run = count_run };

static void add_inode(struct named_set *set, const struct named_inode *inode)
{
	pthread_mutex_lock(&set->lock);
	record_sort_add(set->inodes, inode);
	pthread_mutex_unlock(&set->lock);
}

/* Reads the items of FD, of which STATUS tells, and adds the extents and the inode. */
static int read_inode(struct addition *addition, const struct stat *status, uint32_t link_count,
		      struct byte_range range, struct file_space *ret_space)
{
	struct named_set *set = addition->set;
	int ret;

	ret = space_read_file(addition->reader, addition->fd, status->st_ino, range,
			      set->is_judged ? &judged_file_ops : &file_ops, addition,
			      &ret_space->disk_bytes, &ret_space->inline_bytes);
	if (ret < 0 || !set->is_judged)
		return ret;
	add_inode(set, &(struct named_inode){
			       .subvolid = addition->subvolume->subvolid,
			       .inode = status->st_ino,
			       .item_bytes = addition->item_bytes,
			       .filesystem = addition->subvolume->filesystem,
			       .link_count = link_count,
		       });
	return 0;
}

/* Whether all of SUBVOLUME is read in the end. The walk comes to its root before its files. */
static bool is_read_later(struct named_set *set, const struct named_subvolume *subvolume)
{
	bool whole;

	pthread_mutex_lock(&set->lock);
	whole = subvolume->whole;
	pthread_mutex_unlock(&set->lock);
	return whole && !set->measures_files;
}

int named_set_add_file(struct named_set *set, struct space_reader *reader, int fd,
		       const struct stat *status, struct byte_range range,
		       struct file_space *ret_space)
{
	struct addition addition = { .set = set, .reader = reader, .fd = fd };
	struct named_subvolume *subvolume = NULL;
	int ret;

	ret = find_subvolume(set, fd, status->st_dev, &subvolume);
	if (ret < 0)
		return ret;
	if (is_read_later(set, subvolume)) {
		*ret_space = (struct file_space){ 0 };
		return 0;
	}
	addition.subvolume = subvolume;
	return read_inode(&addition, status, status->st_nlink, range, ret_space);
}

/* FNV-1a. Names that seem to be one make a file stay, which is the safe side. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
	return hash;
}

int named_set_add_name(struct named_set *set, int fd, const struct stat *status, ino_t parent,
		       const char *name)
{
	struct named_subvolume *subvolume = NULL;
	int ret;

	if (!set->is_judged || status->st_nlink <= 1)
		return 0;
	ret = find_subvolume(set, fd, status->st_dev, &subvolume);
	if (ret < 0)
		return ret;
	add_inode(set, &(struct named_inode){
			       .subvolid = subvolume->subvolid,
			       .inode = status->st_ino,
			       .parent = parent,
			       .name_hash = hash_name(name),
			       .filesystem = subvolume->filesystem,
			       .link_count = status->st_nlink,
		       });
	return 0;
}

int named_set_add_directory(struct named_set *set, struct space_reader *reader, int fd,
			    const struct stat *status)
{
	struct addition addition = { .set = set, .reader = reader, .fd = fd };
	struct named_subvolume *subvolume = NULL;
	struct file_space space;
	int ret;

	if (!set->is_judged || status->st_ino == EMPTY_DIRECTORY_INODE)
		return 0;
	ret = find_subvolume(set, fd, status->st_dev, &subvolume);
	if (ret < 0)
		return ret;
	if (status->st_ino == BTRFS_FIRST_FREE_OBJECTID) {
		pthread_mutex_lock(&set->lock);
		subvolume->whole = true;
		pthread_mutex_unlock(&set->lock);
		return 0;
	}
	if (is_read_later(set, subvolume))
		return 0;
	addition.subvolume = subvolume;
	return read_inode(&addition, status, 1, WHOLE_FILE, &space);
}

const char *named_set_failed_in(const struct named_set *set)
{
	const char *directory = record_sort_failed_in(set->extents);

	return directory ? directory : record_sort_failed_in(set->inodes);
}
