// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libmount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child-process.h"
#include "cleanup.h"
#include "probe-image.h"

/* Of a sparse file. A tenth of it is the largest extent there can be. */
#define IMAGE_SIZE (1 << 30)
#define IMAGE_FILE "image"
#define MOUNT_POINT "mnt"

/*
 * The path of NAME in the image's folder, for what takes no descriptors. That of the parent's
 * descriptor in /proc would not do: it leads around what only this process has mounted. The caller
 * frees it.
 */
static int path_of(const struct probe_image *image, const char *name, char **ret_path)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s", image->parent->path, image->name, name) < 0)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

static int hide_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	/* Not so where the root is no mount point; others see ours then, which does no harm. */
	mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
	return 0;
}

static int open_folder(const struct probe_image *image)
{
	return openat(image->parent->fd, image->name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_folder(const struct probe_image *image)
{
	CLEANUP_CLOSE int folder_fd = -1;
	CLEANUP_CLOSE int image_fd = -1;

	if (mkdirat(image->parent->fd, image->name, 0700) < 0)
		return -errno;
	folder_fd = open_folder(image);
	if (folder_fd < 0 || mkdirat(folder_fd, MOUNT_POINT, 0700) < 0)
		return -errno;
	image_fd = openat(folder_fd, IMAGE_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (image_fd < 0 || ftruncate(image_fd, IMAGE_SIZE) < 0)
		return -errno;
	return 0;
}

static int make_filesystem(const struct probe_image *image)
{
	CLEANUP_FREE char *program = NULL;
	CLEANUP_FREE char *path = NULL;
	char *argv[] = { "mkfs.btrfs", "-q", "-d", "single", "-m", "single", NULL, NULL };
	int status, ret;

	ret = program_find(argv[0], &program);
	if (ret < 0)
		return ret == -ENOENT ? -ENOPKG : ret;
	ret = path_of(image, IMAGE_FILE, &path);
	if (ret < 0)
		return ret;
	argv[6] = path;
	ret = child_run_silently(program, argv, &status);
	if (ret < 0)
		return ret;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int make_image(const struct probe_directory *parent, struct probe_image *ret_image)
{
	int ret;

	*ret_image = (struct probe_image){ .parent = parent, .root_fd = -1 };
	ret = probe_name(ret_image->name);
	if (ret == 0)
		ret = hide_mounts();
	if (ret == 0)
		ret = make_folder(ret_image);
	return ret < 0 ? ret : make_filesystem(ret_image);
}

static int mount_error(struct libmnt_context *context, int ret)
{
	if (mnt_context_syscall_called(context))
		return -mnt_context_get_syscall_errno(context);
	return ret == -MNT_ERR_LOOPDEV ? -ENODEV : -EIO;
}

static int mount_loop(const char *source, const char *target)
{
	struct libmnt_context *context = mnt_new_context();
	int ret;

	if (!context)
		return -ENOMEM;
	ret = mnt_context_set_source(context, source);
	if (ret == 0)
		ret = mnt_context_set_target(context, target);
	if (ret == 0)
		ret = mnt_context_set_fstype(context, "btrfs");
	if (ret == 0)
		ret = mnt_context_set_options(context, "loop");
	if (ret == 0)
		/* Nobody else is to see it. */
		ret = mnt_context_disable_mtab(context, 1);
	if (ret == 0) {
		ret = mnt_context_mount(context);
		if (ret)
			ret = mount_error(context, ret);
	}
	mnt_free_context(context);
	return ret;
}

int probe_image_mount(struct probe_image *image)
{
	CLEANUP_FREE char *source = NULL;
	CLEANUP_FREE char *target = NULL;
	int ret;

	ret = path_of(image, IMAGE_FILE, &source);
	if (ret == 0)
		ret = path_of(image, MOUNT_POINT, &target);
	if (ret == 0)
		ret = mount_loop(source, target);
	if (ret < 0)
		return ret;
	image->root_fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (image->root_fd < 0) {
		ret = -errno;
		umount2(target, 0);
	}
	return ret;
}

int probe_image_unmount(struct probe_image *image)
{
	CLEANUP_FREE char *target = NULL;
	int ret;

	if (image->root_fd < 0)
		return 0;
	ret = path_of(image, MOUNT_POINT, &target);
	if (ret < 0)
		return ret;
	close(image->root_fd);
	image->root_fd = -1;
	return umount2(target, 0) < 0 ? -errno : 0;
}

int probe_image_open(const struct probe_image *image)
{
	CLEANUP_CLOSE int folder_fd = open_folder(image);
	int fd;

	if (folder_fd < 0)
		return -errno;
	fd = openat(folder_fd, IMAGE_FILE, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int remove_image(struct probe_image *image)
{
	int unmounted = probe_image_unmount(image);
	CLEANUP_CLOSE int folder_fd = open_folder(image);
	int ret;

	if (unmounted < 0)
		return unmounted;
	if (folder_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	ret = probe_remove(folder_fd, IMAGE_FILE, 0);
	if (ret == 0)
		ret = probe_remove(folder_fd, MOUNT_POINT, AT_REMOVEDIR);
	return ret < 0 ? ret : probe_remove(image->parent->fd, image->name, AT_REMOVEDIR);
}

int probe_image_run(const struct probe_directory *directory, struct interrupts *interrupts,
		    probe_image_work *work, struct feature_cost *ret_cost)
{
	struct probe_image image;
	struct feature_cost cost;
	int ret, removed;

	ret = make_image(directory, &image);
	if (ret == 0)
		ret = probe_interrupted(interrupts);
	if (ret == 0)
		ret = work(&image, interrupts, &cost);
	removed = remove_image(&image);
	ret = ret < 0 ? ret : removed;
	if (ret == 0)
		*ret_cost = cost;
	return ret;
}
