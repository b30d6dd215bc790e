// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/loop.h>
#include <linux/major.h>

#include "probe/probe-image.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/detached-mount.h"

/*
 * Of a sparse file. A tenth of it is the largest extent there can be. Linux 7.3 writes dirty data at
 * once where 1 GiB is all there is: the space for metadata is short then.
 */
#define IMAGE_SIZE (4LL << 30)
#define ATTEMPTS 64
#define RELEASE_WAITS 100
#define RELEASE_WAIT_NS (10 * NANOSECONDS_PER_MILLISECOND)

static int fail(struct probe_failure *failure, const char *step, int err)
{
	failure->step = step;
	return err;
}

static void close_once(int *fd)
{
	close_fd(fd);
	*fd = -1;
}

static int make_file(struct probe_image *image, int directory_fd)
{
	/* O_EXCL: it can never be given a name. */
	image->file_fd = openat(directory_fd, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (image->file_fd < 0 || ftruncate(image->file_fd, IMAGE_SIZE) < 0)
		return fail(image->failure, "cannot create an image", -errno);
	return 0;
}

/* -- the loop device -- */

static bool is_loop_device(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISBLK(status.st_mode) &&
	       major(status.st_rdev) == LOOP_MAJOR;
}

static int open_device(struct probe_image *image, int number)
{
	snprintf(image->device, sizeof(image->device), "/dev/loop%d", number);
	image->device_fd = open(image->device, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (image->device_fd < 0)
		return errno == ENOENT ? -ENODEV : -errno;
	return is_loop_device(image->device_fd) ? 0 : -ENODEV;
}

static int attach_free(struct probe_image *image, int control_fd)
{
	const struct loop_config config = {
		.fd = image->file_fd,
		.info.lo_flags = LO_FLAGS_AUTOCLEAR,
	};
	int number = ioctl(control_fd, LOOP_CTL_GET_FREE);
	int ret;

	if (number < 0)
		return -errno;
	ret = open_device(image, number);
	if (ret == 0 && ioctl(image->device_fd, LOOP_CONFIGURE, &config) < 0)
		ret = -errno;
	if (ret < 0)
		close_once(&image->device_fd);
	return ret;
}

static int attach(struct probe_image *image)
{
	CLEANUP_CLOSE int control_fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int ret = -EBUSY;

	if (control_fd < 0)
		ret = errno == ENOENT ? -ENODEV : -errno;
	/* Others may take the free one first. */
	for (int i = 0; i < ATTEMPTS && control_fd >= 0 && ret == -EBUSY; i++)
		ret = attach_free(image, control_fd);
	return ret < 0 ? fail(image->failure, "cannot set up a loop device", ret) : 0;
}

/* -- the file system -- */

/* Leaves of what mkfs.btrfs said the line that tells the error. */
static void keep_reason(char said[PROBE_SAID_SIZE], int wait_status)
{
	const char *prefix = "ERROR: ";
	const char *reason = strstr(said, prefix);

	reason = reason ? reason + strlen(prefix) : said;
	memmove(said, reason, strlen(reason) + 1);
	said[strcspn(said, "\n")] = '\0';
	if (*said)
		return;
	if (WIFSIGNALED(wait_status))
		snprintf(said, PROBE_SAID_SIZE, "ended by signal %d", WTERMSIG(wait_status));
	else
		snprintf(said, PROBE_SAID_SIZE, "exit status %d", WEXITSTATUS(wait_status));
}

/*
 * By a descriptor of its own, which holds the device: if it outlived this process, the number could
 * be that of another image by then.
 */
static int run_mkfs(struct probe_image *image, const char *program)
{
	char device[PROBE_DEVICE_SIZE];
	char *const argv[] = { "mkfs.btrfs", "-q", "-d", "single", "-m", "single", device, NULL };
	char said[PROBE_SAID_SIZE];
	int wait_status, ret;
	size_t length;

	snprintf(device, sizeof(device), "/proc/self/fd/%d", image->device_fd);
	ret = child_run_errors(program, argv, image->device_fd, -1, said, sizeof(said) - 1, &length,
			       &wait_status);
	if (ret < 0)
		return fail(image->failure, "cannot run mkfs.btrfs", ret);
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
		return 0;
	said[length] = '\0';
	keep_reason(said, wait_status);
	memcpy(image->failure->said, said, sizeof(said));
	return fail(image->failure, "mkfs.btrfs failed", -EIO);
}

static int make_filesystem(struct probe_image *image)
{
	CLEANUP_FREE char *program = NULL;
	int ret;

	ret = program_find("mkfs.btrfs", &program);
	if (ret == -ENOENT) {
		/* not every C library has a text for the error */
		snprintf(image->failure->said, PROBE_SAID_SIZE, "not installed");
		ret = -ENOPKG;
	}
	if (ret < 0)
		return fail(image->failure, "cannot find mkfs.btrfs", ret);
	return run_mkfs(image, program);
}

int probe_image_new(int directory_fd, struct probe_failure *failure, struct probe_image *ret_image)
{
	struct probe_image image = {
		.file_fd = -1,
		.device_fd = -1,
		.mount_fd = -1,
		.root_fd = -1,
		.failure = failure,
	};
	int ret;

	ret = make_file(&image, directory_fd);
	if (ret == 0)
		ret = attach(&image);
	if (ret == 0)
		ret = make_filesystem(&image);
	if (ret < 0)
		probe_image_free(&image);
	else
		*ret_image = image;
	return ret;
}

void probe_image_free(struct probe_image *image)
{
	close_once(&image->root_fd);
	close_once(&image->mount_fd);
	close_once(&image->device_fd);
	close_once(&image->file_fd);
}

/* -- the mount -- */

int probe_image_mount(struct probe_image *image)
{
	int ret = detached_mount_open("btrfs", image->device);

	if (ret < 0)
		return fail(image->failure, "cannot mount the image", ret);
	image->mount_fd = ret;
	image->root_fd = openat(image->mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (image->root_fd >= 0)
		return 0;
	ret = -errno;
	close_once(&image->mount_fd);
	return fail(image->failure, "cannot open the image's root directory", ret);
}

/* Returns 0 if nobody claims the device, as a file system does, else a negative errno. */
static int try_claim(const char *device)
{
	CLEANUP_CLOSE int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

int probe_image_unmount(struct probe_image *image)
{
	const struct timespec wait = { .tv_nsec = RELEASE_WAIT_NS };
	int ret;

	close_once(&image->root_fd);
	close_once(&image->mount_fd);
	for (int i = 0; (ret = try_claim(image->device)) == -EBUSY && i < RELEASE_WAITS; i++)
		nanosleep(&wait, NULL);
	return ret < 0 ? fail(image->failure, "cannot unmount the image", ret) : 0;
}
