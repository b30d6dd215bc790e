// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/subvolume.h"
#include "num/digest.h"
#include "sharing/named-set.h"

#define MEMORY (16 * 1024 * 1024)

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
	extent->is_in_set |= same->is_in_set;
	extent->is_held_outside |= same->is_held_outside;
	extent->depends_on_later |= same->depends_on_later;
	if (__builtin_add_overflow(extent->leaf_ref_count, same->leaf_ref_count,
				   &extent->leaf_ref_count))
		extent->leaf_ref_count = UINT32_MAX;
	holders_add(&extent->holders, same->holders);
	return true;
}

static const struct record_sort_ops extent_ops = {
	.record_size = sizeof(struct named_extent),
	.compare = compare_extents,
	.merge = merge_extents,
};

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
	if (same->link_count > inode->link_count)
		inode->link_count = same->link_count;
	if (same->argument < inode->argument)
		inode->argument = same->argument;
	return true;
}

static const struct record_sort_ops inode_ops = {
	.record_size = sizeof(struct named_inode),
	.compare = compare_inodes,
	.merge = merge_inodes,
};

/* -- the set -- */

int named_set_new(struct named_set **ret_set, bool is_judged, bool measures_files,
		  uint32_t argument_count)
{
	struct named_set *set = calloc(1, sizeof(*set));
	int ret;

	if (!set)
		return -ENOMEM;
	set->is_judged = is_judged;
	set->measures_files = measures_files;
	pthread_mutex_init(&set->lock, NULL);
	set->argument_count = argument_count;
	set->arguments = argument_count ? calloc(argument_count, sizeof(*set->arguments)) : NULL;
	ret = argument_count && !set->arguments ? -ENOMEM : 0;
	if (ret == 0)
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
		unwritable_chunks_free(set->filesystems[i].unwritable);
	}
	for (size_t i = 0; i < set->subvolume_count; i++)
		free(set->subvolumes[i]);
	free(set->filesystems);
	free(set->subvolumes);
	free(set->subvolumes_by_id);
	free(set->arguments);
	record_sort_free(set->extents);
	record_sort_free(set->inodes);
	record_sort_free(set->written);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* -- file systems and subvolumes, with the lock held -- */

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
	ret = list ? 0 : -ENOMEM;
	if (ret == 0 && set->is_judged)
		ret = snapshot_families_read(&filesystem.families, filesystem.fd);
	if (ret == 0 && set->is_judged)
		ret = unwritable_chunks_find(NULL, filesystem.fd, &filesystem.unwritable);
	if (ret < 0) {
		snapshot_families_free(filesystem.families);
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
	int ret = find_filesystem(set, fd, &subvolume->filesystem);

	return ret < 0 ? ret : subvolume_id_of(fd, &subvolume->subvolid);
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
	uint32_t filesystem;
};

static int add_extent(void *data, const struct disk_extent *extent)
{
	const struct addition *addition = data;
	const struct named_extent named = {
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.filesystem = addition->filesystem,
		.of_file = 1,
		.is_in_set = 1,
		.holders = NO_HOLDERS,
	};

	pthread_mutex_lock(&addition->set->lock);
	record_sort_add(addition->set->extents, &named);
	pthread_mutex_unlock(&addition->set->lock);
	return 0;
}

static void add_inode(struct named_set *set, const struct named_inode *inode)
{
	pthread_mutex_lock(&set->lock);
	record_sort_add(set->inodes, inode);
	pthread_mutex_unlock(&set->lock);
}

/* What an addition has to read. */
enum reading {
	READ_FILE,
	/* the extents are read for another name of the file */
	READ_NOTHING,
	/* all of the subvolume is read in the end for this argument */
	READ_LATER,
};

/*
 * The walk comes to the root of a subvolume before its files, but an earlier argument can lead to some of
 * them: also to another name of a file that is read later.
 */
static enum reading how_to_read(struct named_set *set, struct named_subvolume *subvolume,
				bool is_repeated, uint32_t argument)
{
	enum reading reading = READ_FILE;
	bool whole;

	pthread_mutex_lock(&set->lock);
	whole = subvolume->whole && subvolume->argument <= argument;
	subvolume->has_named_files |= !whole;
	if (whole && !set->measures_files)
		reading = READ_LATER;
	else if (is_repeated && !subvolume->whole)
		reading = READ_NOTHING;
	pthread_mutex_unlock(&set->lock);
	return reading;
}

int named_set_add_file(struct named_set *set, struct space_reader *reader, int fd,
		       const struct stat *status, bool is_repeated, uint32_t argument,
		       struct byte_range range, struct file_space *ret_space)
{
	struct addition addition = { .set = set };
	struct named_subvolume *subvolume = NULL;
	enum reading reading;
	int ret;

	*ret_space = (struct file_space){ 0 };
	ret = find_subvolume(set, fd, status->st_dev, &subvolume);
	if (ret < 0)
		return ret;
	reading = how_to_read(set, subvolume, is_repeated, argument);
	if (reading == READ_LATER)
		return 0;
	addition.filesystem = subvolume->filesystem;
	if (reading == READ_FILE)
		ret = space_read_file(reader, fd, status->st_ino, range, add_extent, &addition,
				      &ret_space->disk_bytes, &ret_space->inline_bytes);
	if (ret < 0 || !set->is_judged)
		return ret;
	add_inode(set, &(struct named_inode){
			       .subvolid = subvolume->subvolid,
			       .inode = status->st_ino,
			       .filesystem = subvolume->filesystem,
			       .link_count = status->st_nlink,
			       .argument = argument,
		       });
	return 0;
}

uint64_t named_set_name_hash(const char *name, size_t length)
{
	return digest_add(DIGEST_START, name, length);
}

int named_set_add_name(struct named_set *set, int fd, const struct stat *status, uint32_t argument,
		       ino_t parent, const char *name)
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
			       .name_hash = named_set_name_hash(name, strlen(name)),
			       .filesystem = subvolume->filesystem,
			       .link_count = status->st_nlink,
			       .argument = argument,
		       });
	return 0;
}

bool named_set_takes_directory(const struct named_set *set, const struct stat *status)
{
	return set->is_judged && status->st_ino == BTRFS_FIRST_FREE_OBJECTID;
}

int named_set_add_directory(struct named_set *set, int fd, const struct stat *status,
			    uint32_t argument)
{
	struct named_subvolume *subvolume = NULL;
	int ret;

	ret = find_subvolume(set, fd, status->st_dev, &subvolume);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&set->lock);
	if (!subvolume->whole)
		subvolume->argument = argument;
	subvolume->whole = true;
	pthread_mutex_unlock(&set->lock);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct named_subvolume *x = *(const struct named_subvolume *const *)a;
	const struct named_subvolume *y = *(const struct named_subvolume *const *)b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	return order ? order : compare_numbers(x->subvolid, y->subvolid);
}

int named_set_sort_subvolumes(struct named_set *set)
{
	set->subvolumes_by_id = calloc(set->subvolume_count + 1, sizeof(*set->subvolumes_by_id));
	if (!set->subvolumes_by_id)
		return -ENOMEM;
	for (size_t i = 0; i < set->subvolume_count; i++)
		set->subvolumes_by_id[i] = set->subvolumes[i];
	qsort(set->subvolumes_by_id, set->subvolume_count, sizeof(*set->subvolumes_by_id),
	      compare_ids);
	return 0;
}

struct named_subvolume *named_set_find_subvolume(const struct named_set *set, uint32_t filesystem,
						 uint64_t subvolid)
{
	const struct named_subvolume wanted = { .subvolid = subvolid, .filesystem = filesystem };
	const struct named_subvolume *key = &wanted;
	struct named_subvolume **found = bsearch(&key, set->subvolumes_by_id, set->subvolume_count,
						 sizeof(*set->subvolumes_by_id), compare_ids);

	return found ? *found : NULL;
}

const char *named_set_failed_in(const struct named_set *set)
{
	const char *directory = record_sort_failed_in(set->extents);

	if (!directory)
		directory = record_sort_failed_in(set->inodes);
	if (!directory && set->written)
		directory = record_sort_failed_in(set->written);
	return directory;
}
