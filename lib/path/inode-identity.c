// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/fcntl.h>
#include <linux/stat.h>

#include "path/inode-identity.h"

/* As the kernel has it: the structs of some C libraries are without the mount. */
static int kernel_statx(int fd, const char *name, unsigned int flags, unsigned int mask,
			struct statx *ret_status)
{
	return syscall(SYS_statx, fd, name, flags, mask, ret_status) < 0 ? -errno : 0;
}

int inode_identity_of(int fd, struct inode_identity *ret_identity)
{
	struct statx status;
	int ret = kernel_statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status);

	if (ret < 0)
		return ret;
	*ret_identity = (struct inode_identity){
		.inode = status.stx_ino,
		.birth_s = status.stx_btime.tv_sec,
		.birth_ns = status.stx_btime.tv_nsec,
	};
	return 0;
}

int mount_identity_of(int fd, uint64_t *ret_mount)
{
	struct statx status;
	int ret = kernel_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status);

	if (ret < 0)
		return ret;
	if (status.stx_mask & STATX_MNT_ID)
		*ret_mount = status.stx_mnt_id;
	else
		*ret_mount = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
	return 0;
}

bool is_name_of_inode(int directory, const char *name, dev_t device, ino_t inode)
{
	struct statx status;

	if (kernel_statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO,
			 &status) < 0)
		return false;
	return status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT &&
	       !(status.stx_attributes & STATX_ATTR_MOUNT_ROOT) && status.stx_ino == inode &&
	       makedev(status.stx_dev_major, status.stx_dev_minor) == device;
}

struct inode_key {
	dev_t device;
	ino_t inode;
	uint64_t number;
};

struct inode_set {
	void *tree;
};

static int compare_keys(const void *a, const void *b)
{
	const struct inode_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

int inode_set_new(struct inode_set **ret_set)
{
	struct inode_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	*ret_set = set;
	return 0;
}

void inode_set_free(struct inode_set *set)
{
	if (!set)
		return;
	tdestroy(set->tree, free);
	free(set);
}

/* Returns 1 if NEW was added, 0 with *RET_KEY if one was there already, or -ENOMEM. */
static int add_key(struct inode_set *set, struct inode_key new, struct inode_key **ret_key)
{
	struct inode_key *key = malloc(sizeof(*key));
	struct inode_key **node;

	if (!key)
		return -ENOMEM;
	*key = new;
	node = tsearch(key, &set->tree, compare_keys);
	if (!node) {
		free(key);
		return -ENOMEM;
	}
	*ret_key = *node;
	if (*node == key)
		return 1;
	free(key);
	return 0;
}

int inode_set_add(struct inode_set *set, dev_t device, ino_t inode)
{
	struct inode_key *key;

	return add_key(set, (struct inode_key){ .device = device, .inode = inode }, &key);
}

int inode_set_add_numbered(struct inode_set *set, dev_t device, ino_t inode, uint64_t number)
{
	struct inode_key *key;
	int ret = add_key(set, (struct inode_key){ device, inode, number }, &key);

	if (ret)
		return ret;
	if (key->number < number)
		return 0;
	key->number = number;
	return 1;
}

bool inode_set_contains(const struct inode_set *set, dev_t device, ino_t inode)
{
	const struct inode_key key = { .device = device, .inode = inode };

	return tfind(&key, &set->tree, compare_keys) != NULL;
}
