// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/dir-item.h"
#include "send/send-inodes.h"
#include "text/decimal.h"

/* The largest item in the largest node. */
#define ITEM_ROOM (64 << 10)
/* Lookups for one path. There are two trees for each name, so they could double with each. */
#define LOOKUPS_MAX 1024

struct send_inodes {
	int fd;
	/* where a directory is looked up: in the subvolume, then in its parent */
	uint64_t trees[2];
	int tree_count;
	struct tree_batch *batch;
	int lookups_left;
	/* the last inode that was found, 0: none */
	uint64_t last;
	/* the last file that the stream created, 0: none; and its name, which can change */
	uint64_t created;
	char created_path[PATH_MAX];
};

int send_inodes_new(struct send_inodes **ret_inodes, int fd, uint64_t parent)
{
	struct send_inodes *inodes = calloc(1, sizeof(*inodes));
	int ret;

	if (!inodes)
		return -ENOMEM;
	ret = tree_batch_new(&inodes->batch, ITEM_ROOM);
	if (ret < 0) {
		free(inodes);
		return ret;
	}
	inodes->fd = fd;
	inodes->trees[1] = parent;
	inodes->tree_count = parent ? 2 : 1;

	*ret_inodes = inodes;
	return 0;
}

void send_inodes_free(struct send_inodes *inodes)
{
	if (!inodes)
		return;
	tree_batch_free(inodes->batch);
	free(inodes);
}

/* The created file has another name if it, or a directory above it, is renamed. */
static void rename_created(struct send_inodes *inodes, const char *from, const char *to)
{
	size_t from_length = strlen(from);
	const char *rest = inodes->created_path + from_length;
	char path[PATH_MAX];

	if (strncmp(inodes->created_path, from, from_length) != 0 || (*rest && *rest != '/'))
		return;
	if (snprintf(path, sizeof(path), "%s%s", to, rest) >= (int)sizeof(path))
		inodes->created = 0;
	else
		strcpy(inodes->created_path, path);
}

void send_inodes_follow(struct send_inodes *inodes, const struct send_command *command)
{
	if (command->type == SEND_MKFILE) {
		inodes->created = command->inode;
		snprintf(inodes->created_path, sizeof(inodes->created_path), "%s", command->path);
	} else if (command->type == SEND_RENAME) {
		rename_created(inodes, command->path, command->path_to);
	}
}

/* The inode in a temporary name, which is oINODE-GENERATION-NUMBER. */
static bool parse_temporary_name(const char *name, size_t length, uint64_t *ret_inode)
{
	const char *end = name + length;
	uint64_t numbers[3];

	if (!length || *name++ != 'o')
		return false;
	for (int i = 0; i < 3; i++) {
		if (i && (name == end || *name++ != '-'))
			return false;
		if (!decimal_read(&name, end, &numbers[i]))
			return false;
	}
	*ret_inode = numbers[0];
	return name == end;
}

static int look_up(struct send_inodes *inodes, uint64_t tree, uint64_t directory, const char *name,
		   size_t length, uint64_t *ret_inode)
{
	if (!inodes->lookups_left)
		return 0;
	inodes->lookups_left--;
	return dir_item_lookup(inodes->batch, inodes->fd, tree, directory, name, length, ret_inode);
}

/* The item of INODE in TREE. Returns 1, 0 if it is not there, or a negative errno. */
static int read_inode(struct send_inodes *inodes, uint64_t tree, uint64_t inode,
		      struct btrfs_inode_item *ret_raw)
{
	const struct tree_key key = { .objectid = inode, .type = BTRFS_INODE_ITEM_KEY };
	struct tree_item item;
	int ret;

	ret = tree_batch_fetch(inodes->batch, inodes->fd, tree, key, key, 1);
	if (ret == 0)
		ret = tree_batch_next(inodes->batch, &item);
	if (ret <= 0)
		return ret;
	if (!item.data || item.size < sizeof(*ret_raw))
		return -EPROTO;
	memcpy(ret_raw, item.data, sizeof(*ret_raw));
	return 1;
}

/* Whether INODE is not as it is in the parent. Returns 1, 0, or a negative errno. */
static int has_changed(struct send_inodes *inodes, uint64_t inode)
{
	uint64_t changes[2] = { 0 };

	for (int i = 0; i < inodes->tree_count; i++) {
		struct btrfs_inode_item raw;
		int ret = read_inode(inodes, inodes->trees[i], inode, &raw);

		if (ret < 0)
			return ret;
		if (ret > 0)
			changes[i] = le64toh(raw.transid);
	}
	return changes[0] != changes[1];
}

/*
 * Of two inodes the file under way is one that has changed; else the first one after the last that
 * was found, because the kernel sends inodes in ascending order.
 */
static int consider(struct send_inodes *inodes, uint64_t inode, uint64_t *best)
{
	int changed, best_changed;

	if (!*best || *best == inode) {
		*best = inode;
		return 0;
	}
	changed = has_changed(inodes, inode);
	best_changed = changed < 0 ? changed : has_changed(inodes, *best);
	if (best_changed < 0)
		return best_changed;
	if (changed > best_changed ||
	    (changed == best_changed &&
	     (*best <= inodes->last || (inode > inodes->last && inode < *best))))
		*best = inode;
	return 0;
}

/*
 * Considers the inodes that PATH below DIRECTORY can be. A directory can have its name in the parent
 * until it is renamed, the file itself has its own names already.
 */
static int consider_below(struct send_inodes *inodes, uint64_t directory, const char *path,
			  uint64_t *best)
{
	size_t length = strcspn(path, "/");
	const char *rest = path + length + (path[length] == '/');
	int tree_count = *rest ? inodes->tree_count : 1;
	uint64_t before = 0;

	for (int i = 0; i < tree_count; i++) {
		uint64_t inode = 0;
		int ret;

		ret = look_up(inodes, inodes->trees[i], directory, path, length, &inode);
		if (ret < 0)
			return ret;
		if (ret == 0 || inode == before)
			continue;
		before = inode;
		ret = *rest ? consider_below(inodes, inode, rest, best) :
			      consider(inodes, inode, best);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int send_inodes_find(struct send_inodes *inodes, const char *path, uint64_t *ret_inode)
{
	size_t length = strcspn(path, "/");
	uint64_t temporary, best = 0;
	int ret = 0;

	inodes->lookups_left = LOOKUPS_MAX;
	if (inodes->created && strcmp(path, inodes->created_path) == 0)
		best = inodes->created;
	else
		ret = consider_below(inodes, BTRFS_FIRST_FREE_OBJECTID, path, &best);
	/* The kernel gives no temporary name that is also a name of the subvolume or its parent. */
	if (ret == 0 && !best && parse_temporary_name(path, length, &temporary)) {
		if (path[length])
			ret = consider_below(inodes, temporary, path + length + 1, &best);
		else
			best = temporary;
	}
	/* Without the rest of the lookups it would be a guess. */
	if (ret < 0 || !best || !inodes->lookups_left)
		return ret;

	inodes->last = best;
	*ret_inode = best;
	return 1;
}

int send_inodes_size(struct send_inodes *inodes, uint64_t inode, uint64_t *ret_size)
{
	struct btrfs_inode_item raw;
	int ret = read_inode(inodes, inodes->trees[0], inode, &raw);

	if (ret > 0)
		*ret_size = le64toh(raw.size);
	return ret;
}
