// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>
#include <btrfsutil.h>

#include "base/cleanup.h"
#include "base/open-beneath.h"
#include "base/open-components.h"
#include "base/retry-ioctl.h"
#include "fs/subvolume.h"
#include "fs/tree-search.h"

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

int subvolume_root_of(int fd, uint64_t subvolid, struct subvolume_root *ret_root)
{
	const size_t needed = offsetof(struct btrfs_root_item, flags) + sizeof(uint64_t);
	struct subvolume_root root = { 0 };
	struct btrfs_root_item item;
	int ret;

	ret = find_root_item(fd, subvolid, needed, &item);
	if (ret < 0)
		return ret;
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

int subvolume_find_uuid(int fd, const uint8_t uuid[SUBVOLUME_UUID_SIZE], uint64_t *ret_subvolid)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	uint64_t halves[2], subvolid;
	struct tree_item item;
	int ret;

	memcpy(halves, uuid, sizeof(halves));
	ret = tree_search_new(&search, fd, BTRFS_UUID_TREE_OBJECTID, le64toh(halves[0]),
			      BTRFS_UUID_KEY_SUBVOL, le64toh(halves[1]), le64toh(halves[1]));
	if (ret < 0)
		return ret;
	ret = tree_search_next(search, &item);
	if (ret <= 0)
		return ret < 0 ? ret : -ENOENT;
	if (item.size < sizeof(subvolid))
		return -EPROTO;

	memcpy(&subvolid, item.data, sizeof(subvolid));
	*ret_subvolid = le64toh(subvolid);
	return 0;
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

int subvolume_path(int fd, uint64_t subvolid, char **ret_path)
{
	char *path;
	int ret;

	errno = 0;
	ret = subvolume_errno(btrfs_util_subvolume_path_fd(fd, subvolid, &path));
	if (ret < 0)
		return ret;
	if (!*path) {
		free(path);
		path = strdup("/");
		if (!path)
			return -ENOMEM;
	}

	*ret_path = path;
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
	CLEANUP_FREE char *absolute = NULL;
	struct libmnt_table *table;
	struct libmnt_iter *iter;
	struct libmnt_fs *mount;
	int ret = -ENOENT;

	if (asprintf(&absolute, "/%s", *path == '/' ? path + 1 : path) < 0) {
		absolute = NULL;
		return -ENOMEM;
	}
	table = mnt_new_table();
	iter = mnt_new_iter(MNT_ITER_FORWARD);
	if (!table || !iter || mnt_table_parse_mtab(table, NULL) != 0)
		goto out;

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
			ret = fd;
			break;
		}
		close(fd);
		free(directory);
	}

out:
	mnt_free_iter(iter);
	mnt_unref_table(table);
	return ret;
}
