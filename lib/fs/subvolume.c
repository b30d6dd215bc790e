// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>
#include <btrfsutil.h>

#include "fs/subvolume.h"
#include "fs/tree-range.h"
#include "fs/tree-search.h"
#include "path/mount-cleanup.h"
#include "path/open-beneath.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/retry-ioctl.h"

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

int subvolume_errno(enum btrfs_util_error error)
{
	switch (error) {
	case BTRFS_UTIL_OK:
		return 0;
	case BTRFS_UTIL_ERROR_NO_MEMORY:
		return -ENOMEM;
	case BTRFS_UTIL_ERROR_NOT_BTRFS:
		return -ENOTTY;
	case BTRFS_UTIL_ERROR_SUBVOLUME_NOT_FOUND:
		return -ENOENT;
	default:
		return errno ? -errno : -EIO;
	}
}

int subvolume_id_of(int fd, uint64_t *ret_subvolid)
{
	errno = 0;
	return subvolume_errno(btrfs_util_subvolume_id_fd(fd, ret_subvolid));
}

bool is_subvolume_id(uint64_t id)
{
	return id == BTRFS_FS_TREE_OBJECTID ||
	       (id >= BTRFS_FIRST_FREE_OBJECTID && id <= BTRFS_LAST_FREE_OBJECTID);
}

int subvolume_is_root(int fd)
{
	enum btrfs_util_error error;

	errno = 0;
	error = btrfs_util_is_subvolume_fd(fd);
	if (error == BTRFS_UTIL_ERROR_NOT_SUBVOLUME)
		return 0;
	return error == BTRFS_UTIL_OK ? 1 : subvolume_errno(error);
}

/* The root item of SUBVOLID, NEEDED bytes of it at least; what it lacks is zero. */
static int find_root_item(int fd, uint64_t subvolid, size_t needed,
			  struct btrfs_root_item *ret_item)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct btrfs_root_item root = { 0 };
	struct tree_item item;
	bool found = false;
	int ret;

	ret = tree_search_new(&search, fd, BTRFS_ROOT_TREE_OBJECTID, subvolid, BTRFS_ROOT_ITEM_KEY,
			      0, UINT64_MAX);
	if (ret < 0)
		return ret;
	while ((ret = tree_search_next(search, &item)) > 0) {
		if (item.size < needed)
			return -EPROTO;
		memcpy(&root, item.data, item.size < sizeof(root) ? item.size : sizeof(root));
		if (btrfs_root_last_snapshot(&root) > item.leaf_generation)
			return -EPROTO;
		found = true;
	}
	if (ret < 0)
		return ret;
	if (!found)
		return -ENOENT;

	*ret_item = root;
	return 0;
}

int subvolume_last_snapshot(int fd, uint64_t subvolid, uint64_t *ret_transaction)
{
	const size_t needed = offsetof(struct btrfs_root_item, last_snapshot) + sizeof(uint64_t);
	struct btrfs_root_item item;
	int ret;

	ret = find_root_item(fd, subvolid, needed, &item);
	if (ret < 0)
		return ret;

	*ret_transaction = btrfs_root_last_snapshot(&item);
	return 0;
}

int subvolume_is_read_only(int fd)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };
	int ret = retry_ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info, sizeof(info));

	return ret < 0 ? ret : (info.flags & BTRFS_ROOT_SUBVOL_RDONLY) != 0;
}

int subvolume_creation_time(int fd, uint64_t *ret_time_ns)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };
	uint64_t time_ns;
	int ret = retry_ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info, sizeof(info));

	if (ret < 0)
		return ret;
	if (!info.otime.sec ||
	    __builtin_mul_overflow(info.otime.sec, NANOSECONDS_PER_SECOND, &time_ns) ||
	    __builtin_add_overflow(time_ns, info.otime.nsec, &time_ns))
		return -ENODATA;
	*ret_time_ns = time_ns;
	return 0;
}

int subvolume_root_birth_of(int fd, uint64_t subvolid, uint64_t *ret_time_ns)
{
	struct btrfs_inode_item inode;
	int ret = tree_search_copy_first(fd, subvolid, BTRFS_FIRST_FREE_OBJECTID,
					 BTRFS_INODE_ITEM_KEY, 0, 0, &inode, sizeof(inode));

	if (ret < 0)
		return ret;
	/* An invalid time may wrap: it is only compared. */
	*ret_time_ns = le64toh(inode.otime.sec) * NANOSECONDS_PER_SECOND +
		       le32toh(inode.otime.nsec);
	return 0;
}

int subvolume_root_of(int fd, uint64_t subvolid, struct subvolume_root *ret_root)
{
	const size_t needed = offsetof(struct btrfs_root_item, flags) + sizeof(uint64_t);
	struct subvolume_root root = { 0 };
	struct btrfs_root_item item;
	int ret;

	ret = find_root_item(fd, subvolid, needed, &item);
	if (ret < 0)
		return ret;
	if (btrfs_root_used(&item) <= filesystem_size_limit(fd))
		root.tree_bytes = btrfs_root_used(&item);
	root.read_only = btrfs_root_flags(&item) & BTRFS_ROOT_SUBVOL_RDONLY;
	/* A kernel that did not know the rest wrote it last: it is not up to date. */
	if (item.generation == item.generation_v2) {
		memcpy(root.uuid, item.uuid, SUBVOLUME_UUID_SIZE);
		memcpy(root.parent_uuid, item.parent_uuid, SUBVOLUME_UUID_SIZE);
		root.ctransid = le64toh(item.ctransid);
	}

	*ret_root = root;
	return 0;
}

struct snapshot_ids {
	uint8_t of_uuid[SUBVOLUME_UUID_SIZE];
	uint64_t *ids;
	size_t count;
};

static int add_snapshot_id(struct snapshot_ids *snapshots, uint64_t id)
{
	size_t count = snapshots->count;

	/* A snapshot has an item for each transaction in which it was made. */
	if (count && snapshots->ids[count - 1] == id)
		return 0;
	/* Grows at 0, 1, 2, 4, 8, … */
	if (!(count & (count - 1))) {
		uint64_t *ids = reallocarray(snapshots->ids, count ? 2 * count : 1, sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		snapshots->ids = ids;
	}
	snapshots->ids[snapshots->count++] = id;
	return 0;
}

static int take_snapshot(void *data, const struct tree_item *item)
{
	struct snapshot_ids *snapshots = data;
	struct btrfs_root_item root = { 0 };

	if (item->type != BTRFS_ROOT_ITEM_KEY || !is_subvolume_id(item->objectid) ||
	    item->size < sizeof(root))
		return 0;
	memcpy(&root, item->data, sizeof(root));
	/* One that was deleted, and is not cleaned up yet, is none that counts. */
	if (root.generation != root.generation_v2 ||
	    !(btrfs_root_flags(&root) & BTRFS_ROOT_SUBVOL_RDONLY) ||
	    memcmp(root.parent_uuid, snapshots->of_uuid, SUBVOLUME_UUID_SIZE) != 0)
		return 0;
	return add_snapshot_id(snapshots, item->objectid);
}

int subvolume_read_only_snapshots(int fd, uint64_t subvolid, uint64_t **ret_ids, size_t *ret_count)
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];
	const struct tree_key min = { BTRFS_FIRST_FREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key max = { BTRFS_LAST_FREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	struct snapshot_ids snapshots = { 0 };
	struct subvolume_root root;
	int ret;

	ret = subvolume_root_of(fd, subvolid, &root);
	if (ret == 0 && memcmp(root.uuid, none, sizeof(none)) != 0) {
		memcpy(snapshots.of_uuid, root.uuid, sizeof(root.uuid));
		ret = tree_range_each(fd, BTRFS_ROOT_TREE_OBJECTID, min, max, take_snapshot,
				      &snapshots);
	}
	if (ret < 0) {
		free(snapshots.ids);
		return ret;
	}
	*ret_ids = snapshots.ids;
	*ret_count = snapshots.count;
	return 0;
}

/* In the items of this TYPE in the UUID tree. */
static int find_uuid(int fd, uint32_t type, const uint8_t uuid[SUBVOLUME_UUID_SIZE],
		     uint64_t *ret_subvolid)
{
	uint64_t halves[2], subvolid;
	int ret;

	memcpy(halves, uuid, sizeof(halves));
	ret = tree_search_copy_first(fd, BTRFS_UUID_TREE_OBJECTID, le64toh(halves[0]), type,
				     le64toh(halves[1]), le64toh(halves[1]), &subvolid,
				     sizeof(subvolid));
	if (ret == 0)
		*ret_subvolid = le64toh(subvolid);
	return ret;
}

int subvolume_find_uuid(int fd, const uint8_t uuid[SUBVOLUME_UUID_SIZE], uint64_t *ret_subvolid)
{
	return find_uuid(fd, BTRFS_UUID_KEY_SUBVOL, uuid, ret_subvolid);
}

int subvolume_find_received(int fd, const uint8_t uuid[SUBVOLUME_UUID_SIZE], uint64_t *ret_subvolid)
{
	return find_uuid(fd, BTRFS_UUID_KEY_RECEIVED_SUBVOL, uuid, ret_subvolid);
}

/* More than anybody takes snapshots of snapshots; UUIDs that go round in a circle end here, too. */
#define LINEAGE_MAX 256

/* A subvolume, what it was a snapshot of, and so on. */
struct lineage {
	size_t count;
	uint8_t uuids[LINEAGE_MAX][SUBVOLUME_UUID_SIZE];
};

/* Returns whether there is one, and room for it. */
static bool lineage_add(struct lineage *lineage, const uint8_t uuid[SUBVOLUME_UUID_SIZE])
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];

	if (lineage->count == LINEAGE_MAX || memcmp(uuid, none, sizeof(none)) == 0)
		return false;
	memcpy(lineage->uuids[lineage->count++], uuid, SUBVOLUME_UUID_SIZE);
	return true;
}

static int lineage_of(int fd, uint64_t subvolid, struct lineage *lineage)
{
	struct subvolume_root root;
	int ret;

	lineage->count = 0;
	ret = subvolume_root_of(fd, subvolid, &root);
	if (ret < 0)
		return ret;
	lineage_add(lineage, root.uuid);
	while (lineage_add(lineage, root.parent_uuid)) {
		ret = subvolume_find_uuid(fd, root.parent_uuid, &subvolid);
		if (ret == 0)
			ret = subvolume_root_of(fd, subvolid, &root);
		/* deleted, or the file system is from before there was a UUID tree */
		if (ret == -ENOENT)
			return 0;
		if (ret < 0)
			return ret;
	}
	return 0;
}

int subvolumes_are_related(int fd, uint64_t a, uint64_t b)
{
	struct lineage of_a, of_b;
	int ret;

	ret = lineage_of(fd, a, &of_a);
	if (ret == 0)
		ret = lineage_of(fd, b, &of_b);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < of_a.count; i++)
		for (size_t j = 0; j < of_b.count; j++)
			if (memcmp(of_a.uuids[i], of_b.uuids[j], SUBVOLUME_UUID_SIZE) == 0)
				return 1;
	return 0;
}

/* -- the path of a subvolume -- */

/* Nobody nests subvolumes that deep. */
#define LEVELS_MAX 256

/* Where a subvolume is: its name in a directory of its parent. */
struct place {
	uint64_t parent;
	uint64_t directory;
	char name[BTRFS_NAME_LEN + 1];
};

/* No kernel writes such a name, and a path with it would lead elsewhere. */
static bool is_valid_name(const char *name, size_t length)
{
	return strnlen(name, length) == length && !memchr(name, '/', length) &&
	       strcmp(name, "") != 0 && !is_dot_dotdot(name);
}

static int parse_place(const struct tree_item *item, struct place *ret_place)
{
	struct place place = { .parent = item->offset };
	struct btrfs_root_ref ref;
	size_t length;

	if (item->size < sizeof(ref))
		return -EPROTO;
	memcpy(&ref, item->data, sizeof(ref));
	length = le16toh(ref.name_len);
	if (length > BTRFS_NAME_LEN || length > item->size - sizeof(ref))
		return -EPROTO;
	place.directory = le64toh(ref.dirid);
	memcpy(place.name, (const char *)item->data + sizeof(ref), length);
	if (!is_valid_name(place.name, length))
		return -EPROTO;

	*ret_place = place;
	return 0;
}

static int find_place(int fd, uint64_t subvolid, struct place *ret_place)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, fd, BTRFS_ROOT_TREE_OBJECTID, subvolid,
			      BTRFS_ROOT_BACKREF_KEY, 0, UINT64_MAX);
	if (ret < 0)
		return ret;
	ret = tree_search_next(search, &item);
	if (ret <= 0)
		return ret < 0 ? ret : -ENOENT;
	return parse_place(&item, ret_place);
}

/* Puts the path of PLACE in its parent, with a "/" unless it is the last part, before *PATH. */
static int prepend(int fd, const struct place *place, char **path)
{
	struct btrfs_ioctl_ino_lookup_args directory = {
		.treeid = place->parent,
		.objectid = place->directory,
	};
	char *longer;
	int ret;

	/* It ends with a "/", and is empty for the root. */
	ret = retry_ioctl(fd, BTRFS_IOC_INO_LOOKUP, &directory,
			  offsetof(struct btrfs_ioctl_ino_lookup_args, name));
	if (ret < 0)
		return ret;
	if (strnlen(directory.name, sizeof(directory.name)) == sizeof(directory.name))
		return -EPROTO;
	if (asprintf(&longer, "%s%s%s%s", directory.name, place->name, **path ? "/" : "", *path) <
	    0)
		return -ENOMEM;
	free(*path);
	*path = longer;
	return 0;
}

static bool is_among(const uint64_t *subvolids, size_t count, uint64_t subvolid)
{
	for (size_t i = 0; i < count; i++)
		if (subvolids[i] == subvolid)
			return true;
	return false;
}

/* What is on the way to the top level, the last part first. */
static int prepend_levels(int fd, uint64_t subvolid, char **path)
{
	uint64_t seen[LEVELS_MAX];
	size_t levels = 0;

	while (subvolid != BTRFS_FS_TREE_OBJECTID) {
		struct place place;
		int ret;

		if (is_among(seen, levels, subvolid))
			return -ELOOP;
		if (levels == LEVELS_MAX)
			return -ENAMETOOLONG;
		seen[levels++] = subvolid;
		ret = find_place(fd, subvolid, &place);
		if (ret == 0)
			ret = prepend(fd, &place, path);
		if (ret < 0)
			return ret;
		subvolid = place.parent;
	}
	return 0;
}

int subvolume_path(int fd, uint64_t subvolid, char **ret_path)
{
	CLEANUP_FREE char *path = strdup("");
	int ret = path ? prepend_levels(fd, subvolid, &path) : -ENOMEM;

	if (ret < 0)
		return ret;
	if (!*path) {
		free(path);
		path = strdup("/");
	}
	if (!path)
		return -ENOMEM;

	*ret_path = path;
	path = NULL;
	return 0;
}

/* What is left of the absolute PATH below the directory ROOT, NULL if it is not below it. */
static const char *path_below(const char *path, const char *root)
{
	size_t length = strlen(root);

	while (length && root[length - 1] == '/')
		length--;
	if (strncmp(path, root, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	path += length;
	while (*path == '/')
		path++;
	return path;
}

/* Another mount may hide the directory, so ask what was really opened. */
static bool is_root_of(int fd, const uint8_t fsid[FSID_SIZE], uint64_t subvolid)
{
	uint8_t opened_fsid[FSID_SIZE];
	uint64_t opened_subvolid;

	return filesystem_id_of(fd, opened_fsid) == 0 &&
	       memcmp(opened_fsid, fsid, FSID_SIZE) == 0 &&
	       subvolume_id_of(fd, &opened_subvolid) == 0 && opened_subvolid == subvolid &&
	       btrfs_util_is_subvolume_fd(fd) == BTRFS_UTIL_OK;
}

static int open_nofollow(int directory, const char *name, int flags)
{
	int fd = openat(directory, name, flags | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int step(int directory, const char *name, void *data)
{
	(void)data;
	return open_nofollow(directory, name, DIRECTORY_FLAGS);
}

static int step_beneath(int directory, const char *name, void *data)
{
	(void)data;
	return open_beneath(directory, name, DIRECTORY_FLAGS);
}

/*
 * The kernel tells where a mount is without links. What is below it can belong to anybody, who can
 * put links there, and mounts of his own.
 */
static int open_below_target(const char *target, const char *rest)
{
	int top = open_nofollow(AT_FDCWD, "/", DIRECTORY_FLAGS);
	int mount = open_components(top, target, step, NULL);
	CLEANUP_CLOSE int fd = open_components(mount, rest, step_beneath, NULL);

	return fd < 0 ? fd : open_nofollow(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_below_mount(struct libmnt_fs *mount, const char *path, char **ret_directory)
{
	const char *target = mnt_fs_get_target(mount);
	const char *root = mnt_fs_get_root(mount);
	const char *separator, *rest;
	char *directory;
	int fd;

	rest = target && root ? path_below(path, root) : NULL;
	if (!rest)
		return -ENOENT;
	separator = *rest && strcmp(target, "/") != 0 ? "/" : "";
	if (asprintf(&directory, "%s%s%s", target, separator, rest) < 0)
		return -ENOMEM;

	fd = open_below_target(target, rest);
	if (fd < 0) {
		free(directory);
		return fd;
	}

	*ret_directory = directory;
	return fd;
}

int subvolume_open_mounted(const uint8_t fsid[FSID_SIZE], uint64_t subvolid, const char *path,
			   char **ret_directory)
{
	CLEANUP_MOUNT_TABLE struct libmnt_table *table = mnt_new_table();
	CLEANUP_MOUNT_ITER struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	CLEANUP_FREE char *absolute = NULL;
	struct libmnt_fs *mount;

	if (asprintf(&absolute, "/%s", *path == '/' ? path + 1 : path) < 0) {
		absolute = NULL;
		return -ENOMEM;
	}
	if (!table || !iter || mnt_table_parse_mtab(table, NULL) != 0)
		return -ENOENT;

	while (mnt_table_next_fs(table, iter, &mount) == 0) {
		char *directory = NULL;
		int fd;

		if (!mnt_fs_match_fstype(mount, "btrfs"))
			continue;
		fd = open_below_mount(mount, absolute, &directory);
		if (fd < 0)
			continue;
		if (is_root_of(fd, fsid, subvolid)) {
			*ret_directory = directory;
			return fd;
		}
		close(fd);
		free(directory);
	}
	return -ENOENT;
}
