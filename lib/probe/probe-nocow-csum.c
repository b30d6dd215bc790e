// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/fs.h>

#include <btrfs/ctree.h>

#include "fs/inode-flags.h"
#include "path/temporary-file.h"
#include "probe/feature-probe.h"
#include "probe/image-inode-flags.h"
#include "probe/probe-files.h"
#include "probe/probe-image.h"
#include "sys/cleanup.h"
#include "sys/min-cpu-time.h"

#define FILE_NAME "checksummed"
#define LARGE (32 << 20)
#define SMALL (64 << 10)
#define CHECKS 200

/* In one write, so that it is one extent. */
static int write_checksummed(int fd)
{
	CLEANUP_FREE char *data = calloc(1, LARGE);
	int ret;

	if (!data)
		return -ENOMEM;
	ret = write_at(fd, data, LARGE, 0);
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	return ret;
}

static int make_checksummed(const struct probe_image *image, uint64_t *ret_inode)
{
	CLEANUP_CLOSE int fd = openat(image->root_fd, FILE_NAME,
				      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	*ret_inode = status.st_ino;
	return write_checksummed(fd);
}

/* No call forbids to copy what has checksums. */
static int forbid_copies(const struct probe_image *image, uint64_t inode)
{
	return image_inode_flags_edit(image->file_fd, BTRFS_FS_TREE_OBJECTID, inode,
				      INODE_NODATACOW | INODE_NODATASUM);
}

/* A direct write that must not wait. Not every C library has a function for it. */
static ssize_t write_at_once(int fd, const struct iovec *range)
{
	return syscall(SYS_pwritev2, fd, range, 1L, 0L, 0L, RWF_NOWAIT);
}

/* Such a write ends with the check: nothing is written. */
static int try_writes(int fd, void *data)
{
	for (int i = 0; i < CHECKS; i++) {
		if (write_at_once(fd, data) >= 0)
			return -EPROTO;
		if (errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static int time_checks(int root_fd, struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(root_fd, FILE_NAME, O_WRONLY | O_DIRECT | O_CLOEXEC);
	/* Never touched: there is nothing behind it. */
	void *data = mmap(NULL, LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (data == MAP_FAILED)
		return -errno;
	ret = fd < 0 ? -errno :
		       min_cpu_time_of(try_writes, fd, &(struct iovec){ data, SMALL },
				       &ret_cost->reference);
	if (ret == 0)
		ret = min_cpu_time_of(try_writes, fd, &(struct iovec){ data, LARGE },
				      &ret_cost->cost);
	munmap(data, LARGE);
	return ret;
}

static int prepare(struct probe_image *image, struct interrupts *interrupts)
{
	uint64_t inode = 0;
	int ret;

	ret = make_checksummed(image, &inode);
	if (ret == 0)
		ret = probe_image_unmount(image);
	if (ret == 0)
		ret = forbid_copies(image, inode);
	return ret < 0 ? ret : probe_interrupted(interrupts);
}

int probe_nocow_csum(struct probe_image *image, struct interrupts *interrupts,
		     struct feature_cost *ret_cost)
{
	int ret;

	ret = prepare(image, interrupts);
	if (ret == 0)
		ret = probe_image_mount(image);
	return ret < 0 ? ret : time_checks(image->root_fd, ret_cost);
}
