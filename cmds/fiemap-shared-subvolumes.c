// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fiemap-shared-space.h"
#include "fiemap-shared-subvolumes.h"
#include "fs/subvolume.h"
#include "sys/cleanup.h"
#include "ui/message.h"

static struct failure take_open_subvolume(struct sharing_scan *scan, const char *path, int fd,
					  size_t argument)
{
	const struct sharing no_files = { 0 };
	struct stat status;
	uint64_t subvolid;
	int ret;

	ret = fstat(fd, &status) < 0 ? -errno : subvolume_is_root(fd);
	if (ret == 0)
		return (struct failure){ "not a subvolume:", 0 };
	if (ret > 0)
		ret = fiemap_shared_space_directory(scan, fd, &status, argument);
	if (ret == 0)
		ret = subvolume_id_of(fd, &subvolid);
	if (ret < 0)
		return (struct failure){ "cannot examine", ret };
	if (subvolid == BTRFS_FS_TREE_OBJECTID)
		warning("'%s' is the top level of a file system, which cannot be deleted", path);
	fiemap_shared_count_file(scan, argument, &no_files);
	return NO_FAILURE;
}

static struct failure take_subvolume(struct sharing_scan *scan, const struct found_file *file)
{
	const char *path = files_path(&scan->files, file);
	CLEANUP_CLOSE int fd = -1;

	if (file->error)
		return found_file_check(file);
	if (!path)
		return (struct failure){ "cannot report", -ENOMEM };
	if (file->type != S_IFDIR)
		return (struct failure){ "not a subvolume:", 0 };
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return (struct failure){ "cannot open", -errno };
	return take_open_subvolume(scan, path, fd, file->argument);
}

int fiemap_shared_take_subvolumes(struct sharing_scan *scan)
{
	struct found_file file;
	int ret;

	ret = files_open(&scan->files, NULL, NULL);
	if (ret <= 0)
		return ret;
	while ((ret = files_next(&scan->files, &file)) > 0) {
		const struct failure failure = take_subvolume(scan, &file);

		if (failure.action)
			files_failed(&scan->files, &file, failure);
		files_show_progress(&scan->files, &file);
	}
	files_close(&scan->files);
	return ret;
}
