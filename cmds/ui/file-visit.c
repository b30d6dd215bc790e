// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "ui/cold.h"
#include "ui/exit-status.h"
#include "ui/file-visit.h"
#include "ui/message.h"

int file_visit_init(struct file_visit *visit, bool remember_all)
{
	*visit = (struct file_visit){ .remember_all = remember_all, .status = STATUS_OK };
	return inode_set_new(&visit->seen);
}

void file_visit_free(struct file_visit *visit)
{
	inode_set_free(visit->seen);
}

struct failure file_visit_check(const struct found_file *file)
{
	if (file->error == -ENOTTY)
		return (struct failure){ "not a btrfs filesystem:", 0 };
	if (file->error)
		return (struct failure){ "cannot access", file->error };
	if (file->type == S_IFDIR)
		return (struct failure){ "is a directory, and -r was not given:", 0 };
	if (file->type != S_IFREG)
		return (struct failure){ "not a regular file:", 0 };
	return NO_FAILURE;
}

struct failure file_visit_open(const struct file_walk *walk, const struct found_file *file,
			       int *ret_fd, struct stat *ret_status)
{
	int fd = file_walk_open(walk, file, ret_status);

	if (fd < 0)
		return (struct failure){ "cannot open", fd };
	*ret_fd = fd;
	return NO_FAILURE;
}

int file_visit_is_first(struct file_visit *visit, const struct stat *status)
{
	if (!visit->remember_all && status->st_nlink <= 1)
		return 1;
	return inode_set_add(visit->seen, status->st_dev, status->st_ino);
}

/* As of find without -print0. All its paths together may be too long for one. */
static bool looks_like_lines(const struct file_visit *visit, const char *path,
			     struct failure failure)
{
	return visit->from_list && strchr(path, '\n') &&
	       (failure.error == -ENOENT || failure.error == -ENAMETOOLONG ||
		failure.error == -ENOTDIR);
}

void file_visit_failed(struct file_visit *visit, const char *path, bool named,
		       struct failure failure)
{
	if (!named && failure.error == -ENODEV)
		return;
	if (!named && failure.error == -EXDEV) {
		visit->skipped_mount_count++;
		return;
	}
	if (!named && failure.error == -ENOENT) {
		visit->vanished_count++;
		return;
	}
	error_path(failure.action, path, failure.error);
	if (looks_like_lines(visit, path, failure))
		error("each path has to end with a NUL byte, as find -print0 writes it");
	visit->status = STATUS_ERROR;
}

void file_visit_warn_of_vanished(const struct file_visit *visit)
{
	if (!visit->vanished_count)
		return;
	if (visit->vanished_count == 1)
		warning("1 file or directory was deleted, renamed or replaced before it could be "
			"examined");
	else
		warning("%" PRIu64 " files or directories were deleted, renamed or replaced before "
			"they could be examined",
			visit->vanished_count);
}

void file_visit_warn_of_mounts(const struct file_visit *visit)
{
	if (!visit->skipped_mount_count)
		return;
	if (visit->skipped_mount_count == 1)
		warning("1 mount point of the same filesystem was not entered, and its files were "
			"not examined");
	else
		warning("%" PRIu64 " mount points of the same filesystem were not entered, and "
			"their files were not examined",
			visit->skipped_mount_count);
}

static struct failure visit_one(
	struct file_visit *visit, const struct file_walk *walk, const struct found_file *found,
	struct failure (*report)(void *data, const struct opened_file *file), void *data)
{
	CLEANUP_CLOSE int fd = -1;
	struct opened_file file = { .path = found->path };
	struct failure failure;
	int ret;

	failure = file_visit_check(found);
	if (failure.action)
		return failure;
	failure = file_visit_open(walk, found, &fd, &file.status);
	if (failure.action)
		return failure;
	ret = visit->each_name ? visit->each_name(visit->data, found, fd, &file.status) : 0;
	if (ret == 0)
		ret = file_visit_is_first(visit, &file.status);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };
	if (!ret)
		return NO_FAILURE;

	file.fd = fd;
	return report(data, &file);
}

int file_visit_each(struct file_visit *visit, struct file_walk *walk,
		    struct failure (*report)(void *data, const struct opened_file *file),
		    void *data)
{
	struct found_file found;
	int ret;

	while ((ret = file_walk_next(walk, &found)) > 0) {
		struct failure failure = visit_one(visit, walk, &found, report, data);

		if (failure.action)
			file_visit_failed(visit, found.path, found.named, failure);
	}
	return ret;
}

int file_visit_drop_caches(struct file_visit *visit, int fd)
{
	int ret;

	if (visit->no_cache_drop)
		return 0;
	ret = cold_drop_caches(fd);
	if (ret == 0) {
		visit->no_cache_drop = true;
		visit->status = STATUS_ERROR;
	}
	return ret;
}
