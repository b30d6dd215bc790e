// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/dir-item.h"
#include "send/send-inodes.h"
#include "test.h"

#define PARENT 300
#define TOP BTRFS_FIRST_FREE_OBJECTID

/* The names in the subvolume (tree 0), and in its parent. */
static const struct {
	uint64_t tree, directory;
	const char *name;
	uint64_t inode;
} entries[] = {
	{ 0, TOP, "file", 257 },
	{ 0, TOP, "renamed", 258 },
	{ 0, 258, "moved", 259 },
	{ 0, 258, "below", 260 },
	{ 0, 260, "deep", 261 },
	{ 0, TOP, "o9-9-9", 262 },
	{ PARENT, TOP, "file", 257 },
	{ PARENT, TOP, "before", 258 },
	{ PARENT, 258, "was", 260 },
	{ PARENT, 260, "deep", 261 },
	/* a name that another directory has now */
	{ PARENT, TOP, "renamed", 270 },
	{ PARENT, 270, "old", 271 },
	/* a directory was renamed, and a newer one has its name and a file of the same name */
	{ PARENT, TOP, "archive", 310 },
	{ PARENT, 310, "log", 305 },
	{ 0, TOP, "attic", 310 },
	{ 0, 310, "log", 305 },
	{ 0, TOP, "archive", 320 },
	{ 0, 320, "log", 321 },
	{ PARENT, TOP, "x", 390 },
	{ 0, TOP, "x", 391 },
	{ 0, 390, "f", 401 },
	{ 0, 391, "f", 400 },
};

static int lookup_count, error;

int __wrap_dir_item_lookup(struct tree_batch *batch, int fd, uint64_t tree_id, uint64_t directory,
			   const char *name, size_t name_length, uint64_t *ret_inode);

int __wrap_dir_item_lookup(struct tree_batch *batch, int fd, uint64_t tree_id, uint64_t directory,
			   const char *name, size_t name_length, uint64_t *ret_inode)
{
	(void)batch;
	(void)fd;
	lookup_count++;
	if (error)
		return error;
	/* a file system in which every name is there, in both trees */
	if (name_length == 1 && *name == '*') {
		*ret_inode = 1000 + lookup_count;
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (entries[i].tree != tree_id || entries[i].directory != directory ||
		    strlen(entries[i].name) != name_length ||
		    strncmp(entries[i].name, name, name_length) != 0)
			continue;
		*ret_inode = entries[i].inode;
		return 1;
	}
	return 0;
}

/* Where an inode was changed last; one that is not here did not change since the parent. */
static const struct {
	uint64_t inode, tree, transid;
} changes[] = {
	{ 305, 0, 30 },
	{ 321, 0, 30 },
	/* in directories that were exchanged: the older one did not change */
	{ 401, 0, 30 },
};

static struct {
	uint64_t tree, inode;
	struct btrfs_inode_item raw;
} fetched;

int __wrap_tree_batch_fetch(struct tree_batch *batch, int fd, uint64_t tree_id, struct tree_key min,
			    struct tree_key max, uint32_t most);
int __wrap_tree_batch_next(struct tree_batch *batch, struct tree_item *ret_item);

int __wrap_tree_batch_fetch(struct tree_batch *batch, int fd, uint64_t tree_id, struct tree_key min,
			    struct tree_key max, uint32_t most)
{
	(void)batch;
	(void)fd;
	(void)max;
	(void)most;
	assert_int_equal(min.type, BTRFS_INODE_ITEM_KEY);
	fetched.tree = tree_id;
	fetched.inode = min.objectid;
	return 0;
}

int __wrap_tree_batch_next(struct tree_batch *batch, struct tree_item *ret_item)
{
	uint64_t transid = 20;

	(void)batch;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		if (changes[i].inode == fetched.inode && changes[i].tree == fetched.tree)
			transid = changes[i].transid;
	fetched.raw = (struct btrfs_inode_item){ .transid = htole64(transid) };
	*ret_item = (struct tree_item){ .data = &fetched.raw, .size = sizeof(fetched.raw) };
	return 1;
}

static struct send_inodes *inodes;

static int setup(void **state)
{
	(void)state;
	lookup_count = error = 0;
	return send_inodes_new(&inodes, -1, PARENT);
}

static int teardown(void **state)
{
	(void)state;
	send_inodes_free(inodes);
	return 0;
}

/* 0: not found */
static uint64_t find(const char *path)
{
	uint64_t inode = 99;
	int ret = send_inodes_find(inodes, path, &inode);

	assert_true(ret == 1 || (ret == 0 && inode == 99));
	return ret ? inode : 0;
}

static void follow(enum send_command_type type, const char *path, const char *path_to,
		   uint64_t inode)
{
	const struct send_command command = {
		.type = type,
		.path = path,
		.path_to = path_to,
		.inode = inode,
	};

	send_inodes_follow(inodes, &command);
}

TEST_WITH(test_names, setup, teardown)
{
	assert_int_equal(find("file"), 257);
	assert_int_equal(find("renamed/below/deep"), 261);
	assert_int_equal(find("renamed/nothing"), 0);
	assert_int_equal(find("file/moved"), 0);
	assert_int_equal(find(""), 0);
}

TEST_WITH(test_names_of_the_parent, setup, teardown)
{
	assert_int_equal(find("before/was/deep"), 261);
	/* a directory that is renamed already, below one that is not, and the other way round */
	assert_int_equal(find("before/below/deep"), 261);
	assert_int_equal(find("renamed/was/deep"), 261);
	/* a file has its own name already */
	assert_int_equal(find("renamed/old"), 0);
	/* the kernel sends them in this order */
	assert_int_equal(find("archive/log"), 305);
	assert_int_equal(find("archive/log"), 321);
	assert_int_equal(find("attic/log"), 305);
	assert_int_equal(find("x/f"), 401);
}

TEST_WITH(test_temporary_names, setup, teardown)
{
	assert_int_equal(find("o257-8-0"), 257);
	assert_int_equal(find("o260-8-1/deep"), 261);
	assert_int_equal(find("o258-8-0/was/deep"), 261);
	/* a name of the subvolume */
	assert_int_equal(find("o9-9-9"), 262);
	assert_int_equal(find("o257-8"), 0);
	assert_int_equal(find("o257-8-"), 0);
	assert_int_equal(find("o257-8-0x"), 0);
	assert_int_equal(find("o257:8-0"), 0);
	assert_int_equal(find("o"), 0);
	assert_int_equal(find("o99999999999999999999-8-0"), 0);
	assert_int_equal(find("file/o257-8-0"), 0);
}

TEST_WITH(test_created, setup, teardown)
{
	follow(SEND_MKFILE, "o500-8-0", "", 500);
	assert_int_equal(find("o500-8-0"), 500);
	assert_int_equal(lookup_count, 0);
	follow(SEND_RENAME, "o500-8-0", "dir/new", 0);
	assert_int_equal(find("dir/new"), 500);
	follow(SEND_RENAME, "di", "elsewhere", 0);
	follow(SEND_RENAME, "dir", "other", 0);
	assert_int_equal(find("other/new"), 500);
	assert_int_equal(lookup_count, 0);
	assert_int_equal(find("dir/new"), 0);
	/* a directory is not a file with extents */
	follow(SEND_MKDIR, "o501-8-0", "", 501);
	assert_int_equal(find("other/new"), 500);
}

TEST_WITH(test_renamed_too_long, setup, teardown)
{
	char path[PATH_MAX];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	follow(SEND_MKFILE, "dir/new", "", 500);
	follow(SEND_RENAME, "dir", path, 0);
	assert_int_equal(find("dir/new"), 0);
}

/* Two trees could double the lookups with each component. */
TEST_WITH(test_limit, setup, teardown)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '/' : '*';
	strcpy(path + sizeof(path) - 6, "/none");
	assert_int_equal(find(path), 0);
	assert_in_range(lookup_count, 2, 10000);
}

TEST_WITH(test_error, setup, teardown)
{
	uint64_t inode = 99;

	error = -EIO;
	assert_int_equal(send_inodes_find(inodes, "file", &inode), -EIO);
	assert_int_equal(inode, 99);
}
