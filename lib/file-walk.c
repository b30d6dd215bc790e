// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "file-walk.h"
#include "inode-set.h"

struct file_walk {
	struct file_walk_options options;
	size_t path_index;
	char *list_name;
	size_t list_name_size;
	FTS *tree;
	uint64_t tree_mount;
	struct inode_set *seen;
	/* several starting points can overlap, so every file has to be remembered */
	bool remember_all;
};

int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options)
{
	struct file_walk *walk = calloc(1, sizeof(*walk));
	int ret;

	if (!walk)
		return -ENOMEM;
	ret = inode_set_new(&walk->seen);
	if (ret < 0) {
		free(walk);
		return ret;
	}
	walk->options = *options;
	walk->remember_all = options->list || (options->paths[0] && options->paths[1]);

	*ret_walk = walk;
	return 0;
}

void file_walk_free(struct file_walk *walk)
{
	if (!walk)
		return;
	if (walk->tree)
		fts_close(walk->tree);
	inode_set_free(walk->seen);
	free(walk->list_name);
	free(walk);
}

void file_walk_freep(struct file_walk **walk)
{
	file_walk_free(*walk);
}

/* Returns 1 with the next name given by the caller, 0 after the last, or a negative errno. */
static int next_named(struct file_walk *walk, char **ret_path)
{
	if (!walk->options.list) {
		*ret_path = walk->options.paths[walk->path_index];
		if (!*ret_path)
			return 0;
		walk->path_index++;
		return 1;
	}

	errno = 0;
	if (getdelim(&walk->list_name, &walk->list_name_size, '\0', walk->options.list) < 0)
		return feof(walk->options.list) ? 0 : errno ? -errno : -EIO;
	*ret_path = walk->list_name;
	return 1;
}

/* Returns 1 if the file has not come before. */
static int is_first_time(struct file_walk *walk, const struct stat *status)
{
	if (!walk->remember_all && status->st_nlink <= 1)
		return 1;
	return inode_set_add(walk->seen, status->st_dev, status->st_ino);
}

static int mount_of(const char *path, uint64_t *ret_mount)
{
	struct statx status;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &status))
		return -errno;
	/* Before Linux 5.8 there is no mount id; the device must do. */
	*ret_mount = status.stx_mask & STATX_MNT_ID ?
			     status.stx_mnt_id :
			     (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
	return 0;
}

static int start_tree(struct file_walk *walk, char *path)
{
	char *const paths[] = { path, NULL };
	int options = FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR;

	if (walk->options.one_subvolume)
		options |= FTS_XDEV;
	walk->tree = fts_open(paths, options, NULL);
	return walk->tree ? 0 : -errno;
}

/* Keeps the walk in the mount that it started in. */
static int enter_directory(struct file_walk *walk, FTSENT *entry)
{
	uint64_t mount = 0;
	int ret;

	ret = mount_of(entry->fts_accpath, &mount);
	if (ret < 0) {
		fts_set(walk->tree, entry, FTS_SKIP);
		return ret;
	}
	if (entry->fts_level == FTS_ROOTLEVEL)
		walk->tree_mount = mount;
	else if (mount != walk->tree_mount)
		fts_set(walk->tree, entry, FTS_SKIP);
	return 0;
}

/* Returns 1 with a file, 0 at the end of the tree, or a negative errno that ends the walk. */
static int next_in_tree(struct file_walk *walk, struct found_file *ret_file)
{
	FTSENT *entry;

	while (errno = 0, (entry = fts_read(walk->tree))) {
		int error = 0;
		int ret;

		switch (entry->fts_info) {
		case FTS_D:
			error = enter_directory(walk, entry);
			break;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			error = -entry->fts_errno;
			break;
		case FTS_F:
			ret = is_first_time(walk, entry->fts_statp);
			if (ret < 0)
				return ret;
			if (!ret)
				break;
			*ret_file = (struct found_file){
				.path = entry->fts_path,
				.status = *entry->fts_statp,
			};
			return 1;
		}
		if (error) {
			*ret_file = (struct found_file){ .path = entry->fts_path, .error = error };
			return 1;
		}
	}

	return errno ? -errno : 0;
}

/* Looks at a path that was named. Returns 0, or the negative errno that speaks against it. */
static int look_at(const char *path, struct stat *ret_status)
{
	struct statfs filesystem;

	if (!*path)
		return -ENOENT;
	if (stat(path, ret_status) || statfs(path, &filesystem))
		return -errno;
	return filesystem.f_type == BTRFS_SUPER_MAGIC ? 0 : -ENOTTY;
}

int file_walk_next(struct file_walk *walk, struct found_file *ret_file)
{
	for (;;) {
		struct found_file file = { .named = true };
		char *path = NULL;
		int ret;

		if (walk->tree) {
			ret = next_in_tree(walk, ret_file);
			if (ret)
				return ret;
			fts_close(walk->tree);
			walk->tree = NULL;
		}

		ret = next_named(walk, &path);
		if (ret <= 0)
			return ret;
		file.path = path;
		file.error = look_at(path, &file.status);
		if (!file.error && S_ISDIR(file.status.st_mode) && walk->options.recursive) {
			ret = start_tree(walk, path);
			if (ret < 0)
				return ret;
			continue;
		}
		if (!file.error) {
			ret = is_first_time(walk, &file.status);
			if (ret < 0)
				return ret;
			if (!ret)
				continue;
		}
		*ret_file = file;
		return 1;
	}
}
