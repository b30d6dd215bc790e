// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/backref.h"
#include "fs/subvolume.h"
#include "sharing/owner-names.h"
#include "sys/cleanup.h"

struct owner_names {
	int fd;
	uint8_t fsid[FSID_SIZE];
	/* the subvolume asked for last; owners of one often follow each other */
	uint64_t subvolid;
	bool is_known;
	int subvolume_error;
	char *subvolume;
	char *directory;
	int subvolume_fd;
	char **names;
};

int owner_names_new(struct owner_names **ret_names, int fd)
{
	struct owner_names *names = calloc(1, sizeof(*names));
	int ret;

	if (!names)
		return -ENOMEM;
	ret = filesystem_id_of(fd, names->fsid);
	if (ret < 0) {
		free(names);
		return ret;
	}
	names->fd = fd;
	names->subvolume_fd = -1;

	*ret_names = names;
	return 0;
}

static void forget_subvolume(struct owner_names *names)
{
	close_fd(&names->subvolume_fd);
	names->subvolume_fd = -1;
	free(names->subvolume);
	names->subvolume = NULL;
	free(names->directory);
	names->directory = NULL;
	names->is_known = false;
}

void owner_names_free(struct owner_names *names)
{
	if (!names)
		return;
	forget_subvolume(names);
	free_names(names->names);
	free(names);
}

static int find_subvolume(struct owner_names *names, uint64_t subvolid)
{
	int ret;

	if (names->is_known && names->subvolid == subvolid)
		return 0;

	forget_subvolume(names);
	ret = subvolume_path(names->fd, subvolid, &names->subvolume);
	if (ret == -ENOMEM)
		return ret;
	names->subvolid = subvolid;
	names->subvolume_error = ret;
	names->is_known = true;
	if (ret < 0)
		return 0;

	ret = subvolume_open_mounted(names->fsid, subvolid, names->subvolume, &names->directory);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	names->subvolume_fd = ret;
	return 0;
}

static int find_names(struct owner_names *names, const struct extent_owner *owner,
		      bool *ret_complete)
{
	int ret = -ENOENT;

	if (names->subvolume_fd >= 0)
		ret = backref_inode_names(names->subvolume_fd, owner->inode, &names->names,
					  ret_complete);
	if (ret < 0 && ret != -ENOMEM) {
		ret = backref_inode_one_name(names->fd, owner->subvolid, owner->inode,
					     &names->names);
		*ret_complete = false;
	}
	return ret == -ENOMEM ? ret : 0;
}

int owner_names_find_subvolume(struct owner_names *names, uint64_t subvolid,
			       struct owner_name *ret_name)
{
	int ret = find_subvolume(names, subvolid);

	if (ret < 0)
		return ret;
	*ret_name = (struct owner_name){
		.subvolume = names->subvolume,
		.subvolume_error = names->subvolume_error,
		.directory = names->directory,
	};
	return 0;
}

int owner_names_find(struct owner_names *names, const struct extent_owner *owner,
		     struct owner_name *ret_name)
{
	bool complete = true;
	int ret;

	free_names(names->names);
	names->names = NULL;
	ret = find_subvolume(names, owner->subvolid);
	if (ret < 0)
		return ret;
	ret = find_names(names, owner, &complete);
	if (ret < 0)
		return ret;

	*ret_name = (struct owner_name){
		.subvolume = names->subvolume,
		.subvolume_error = names->subvolume_error,
		.directory = names->directory,
		.names = names->names,
		.complete = complete,
	};
	return 0;
}
