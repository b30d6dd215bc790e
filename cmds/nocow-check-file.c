// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "fs/filesystem.h"
#include "fs/inode-flags.h"
#include "fs/subvolume.h"
#include "nocow-check-file.h"
#include "sys/clock.h"
#include "ui/message.h"

/* Others go on working, so that what was found out of a subvolume holds no longer than that. */
#define KNOWN_FOR (5 * NANOSECONDS_PER_SECOND)

static void complain_no_privilege(struct known_subvolume *known)
{
	known->no_tree_search = true;
	warning("without CAP_SYS_ADMIN (root) the answers come from inode flags and FIEMAP alone");
}

/* What waits for a commit is not in the trees, so that commits first. */
static int look_at_subvolume(int fd, struct known_subvolume *known)
{
	int ret;

	ret = subvolume_id_of(fd, &known->subvolid);
	if (ret < 0)
		return ret;
	/* Without privilege there is no use in a commit. */
	ret = subvolume_last_snapshot(fd, known->subvolid, &known->last_snapshot);
	if (ret < 0)
		return ret;
	ret = filesystem_commit(fd);
	if (ret < 0)
		return ret;
	nocow_check_forget_subvolume(known);
	ret = unwritable_chunks_find(NULL, fd, &known->unwritable);
	if (ret < 0)
		return ret;
	return subvolume_last_snapshot(fd, known->subvolid, &known->last_snapshot);
}

/* Returns 1 if trees may be searched, 0 if not, or a negative errno. */
static int find_subvolume(struct known_subvolume *known, int fd, dev_t device)
{
	int ret;

	if (known->no_tree_search)
		return 0;
	if (known->device == device && monotonic_ns() < known->known_until)
		return 1;
	known->known_until = 0;
	ret = look_at_subvolume(fd, known);
	if (ret == -EPERM) {
		complain_no_privilege(known);
		return 0;
	}
	if (ret < 0)
		return ret;
	known->device = device;
	known->known_until = monotonic_ns() + KNOWN_FOR;
	return 1;
}

int nocow_check_look_at_file(struct known_subvolume *known, int fd, const struct stat *status,
			     struct nocow_file *ret_file)
{
	int ret;

	ret = find_subvolume(known, fd, status->st_dev);
	if (ret < 0)
		return ret;
	*ret_file = (struct nocow_file){
		.fd = fd,
		.inode = status->st_ino,
		.size = status->st_size,
		.link_count = status->st_nlink,
		.searchable = ret > 0,
		.subvolid = known->subvolid,
		.last_snapshot = known->last_snapshot,
		.unwritable = known->unwritable,
	};
	if (!ret_file->searchable)
		return inode_flags_of(fd, &ret_file->inode_flags);
	return inode_flags_all_of(fd, ret_file->inode, &ret_file->inode_flags);
}

void nocow_check_forget_subvolume(struct known_subvolume *known)
{
	unwritable_chunks_free(known->unwritable);
	known->unwritable = NULL;
}
