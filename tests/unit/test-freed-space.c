// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/freed-space.h"
#include "test.h"

#define SUBVOLID 256
#define FIRST_SIZE 4096
#define LARGEST_SIZE (16 * 1024 * 1024)

static struct named_set *set;

static int setup(void **state)
{
	if (ioctl_mock_setup(state) || named_set_new(&set, true, true, 0))
		return -1;
	set->filesystems = calloc(1, sizeof(*set->filesystems));
	set->filesystems[0].fd = MOCK_FD;
	set->filesystem_count = 1;
	return 0;
}

static int teardown(void **state)
{
	named_set_free(set);
	return ioctl_mock_teardown(state);
}

static int on_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	assert_true(extents_asked);
	return 0;
}

static const struct freed_space_ops ops = { .progress = on_progress };

static void add_extent(uint64_t bytenr, uint64_t disk_bytes)
{
	record_sort_add(set->extents, &(struct named_extent){
					      .bytenr = bytenr,
					      .disk_bytes = disk_bytes,
					      .of_file = 1,
					      .is_in_set = 1,
				      });
}

static void add_inode(uint64_t inode, uint32_t link_count)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .link_count = link_count,
				     });
}

static void add_name(uint64_t inode, uint64_t parent, char name)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .parent = parent,
					     .name_hash = named_set_name_hash(&name, 1),
				     });
}

static void expect_refs(uint64_t bytenr, const struct extent_ref *refs, uint32_t count)
{
	expect_logical_ino(bytenr, FIRST_SIZE, refs, count, 0, 0, 0);
}

/* The profile of the data is not known. */
static void expect_no_profile(void)
{
	ioctl_mock_expect(&(struct ioctl_call){ .request = BTRFS_IOC_SPACE_INFO, .error = ENOTTY });
}

/* What judge() found. */
static struct freed_space found;

static void judge(uint64_t disk, uint64_t freed, uint64_t kept)
{
	struct freed_space space;
	char *failed_in;

	expect_no_profile();
	assert_int_equal(freed_space_find(set, NULL, &ops, NULL, &space, &failed_in), 0);
	assert_null(failed_in);
	assert_int_equal(space.disk_bytes, disk);
	assert_int_equal(space.freed_bytes, freed);
	assert_int_equal(space.kept_bytes, kept);
	assert_false(space.has_raw_bytes);
	found = space;
}

TEST_WITH(test_all_who_refer_to_it_are_in_the_set, setup, teardown)
{
	const struct extent_ref both[] = { { 301, 0, SUBVOLID }, { 300, 0, SUBVOLID } };

	add_extent(MIB(4), 100);
	add_extent(MIB(4), 100);
	add_inode(301, 1);
	add_inode(300, 1);
	expect_refs(MIB(4), both, 2);
	judge(100, 100, 0);
}

TEST_WITH(test_one_of_them_is_not, setup, teardown)
{
	const struct extent_ref others[] = {
		{ 300, 0, SUBVOLID }, { 299, 0, SUBVOLID },    { 300, 0, SUBVOLID + 1 },
		{ 301, 0, SUBVOLID }, { 302, 4096, SUBVOLID },
	};
	const struct extent_ref own = { 300, 0, SUBVOLID };

	/* before, after and between those in the set, and with the same number elsewhere */
	for (uint64_t i = 1; i < 5; i++) {
		const struct extent_ref two[] = { others[0], others[i] };

		add_extent(MIB(i), i);
		expect_refs(MIB(i), i == 3 ? &own : two, i == 3 ? 1 : 2);
	}
	add_inode(300, 1);
	add_inode(301, 1);
	judge(10, 3, 7);
}

TEST_WITH(test_a_number_in_another_subvolume_is_another_inode, setup, teardown)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID - 1 };

	add_extent(MIB(4), 100);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	judge(100, 0, 100);
}

TEST_WITH(test_addresses_are_of_one_filesystem, setup, teardown)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };
	const struct named_extent other = {
		.bytenr = MIB(4),
		.disk_bytes = 1000,
		.filesystem = 1,
		.is_in_set = 1,
	};
	struct named_filesystem *two = calloc(2, sizeof(*two));
	struct freed_space space;
	char *failed_in;

	two[0].fd = two[1].fd = MOCK_FD;
	free(set->filesystems);
	set->filesystems = two;
	set->filesystem_count = 2;
	add_extent(MIB(4), 100);
	record_sort_add(set->extents, &other);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	expect_refs(MIB(4), &ref, 1);
	assert_int_equal(freed_space_find(set, NULL, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.freed_bytes, 100);
	assert_int_equal(space.kept_bytes, 1000);
	assert_false(space.has_raw_bytes);
}

TEST_WITH(test_an_extent_is_kept_once, setup, teardown)
{
	const struct extent_ref refs[] = {
		{ 400, 0, SUBVOLID },
		{ 401, 0, SUBVOLID },
		{ 400, 4096, SUBVOLID },
		{ 300, 0, SUBVOLID },
	};

	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_inode(300, 1);
	expect_refs(MIB(4), refs, 4);
	expect_refs(MIB(8), &refs[3], 1);
	judge(1100, 1000, 100);
}

/* The names that an inode has in the end: one letter each, in directory 257, and others in 258. */
static void expect_names(uint64_t inode, const char *names, const char *others, bool all_found)
{
	struct __attribute__((packed)) {
		struct btrfs_inode_ref ref;
		char name;
	} refs[2][4] = { 0 };
	const char *const texts[] = { names, others };
	struct tree_item items[2];
	struct batch_key key = {
		.tree = SUBVOLID,
		.min = { inode, BTRFS_INODE_REF_KEY, 0 },
		.max = { inode, BTRFS_INODE_EXTREF_KEY, UINT64_MAX },
		.most = UINT32_MAX,
		.room = 64 * 1024,
	};
	uint32_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; texts[i][j]; j++) {
			refs[i][j].ref.name_len = htole16(1);
			refs[i][j].name = texts[i][j];
		}
		if (*texts[i])
			items[count++] = (struct tree_item){
				.objectid = inode,
				.type = BTRFS_INODE_REF_KEY,
				.offset = 257 + i,
				.data = refs[i],
				.size = strlen(texts[i]) * sizeof(refs[i][0]),
			};
	}
	expect_batch(&key, items, count, 0);
	if (!all_found)
		return;
	key.min.offset = items[count - 1].offset + 1;
	expect_batch(&key, NULL, 0, 0);
}

TEST_WITH(test_an_inode_goes_with_all_of_its_names, setup, teardown)
{
	const struct extent_ref refs[] = { { 300, 0, SUBVOLID }, { 301, 0, SUBVOLID } };

	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_inode(300, 2);
	add_inode(301, 2);
	/* one name given twice, and two of one directory */
	add_name(300, 257, 'a');
	add_name(300, 257, 'a');
	add_name(301, 257, 'a');
	add_name(301, 257, 'b');
	expect_refs(MIB(4), &refs[0], 1);
	expect_refs(MIB(8), &refs[1], 1);
	expect_names(301, "ab", "", true);
	judge(1100, 1000, 100);
}

/* A name that was moved during the walk can be found twice. */
TEST_WITH(test_names_that_are_no_longer_there, setup, teardown)
{
	const struct extent_ref refs[] = { { 300, 0, SUBVOLID }, { 301, 0, SUBVOLID } };

	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	for (uint64_t inode = 300; inode < 302; inode++) {
		add_inode(inode, 2);
		add_name(inode, 257, 'a');
		add_name(inode, 258, 'a');
		add_name(inode, 258, 'b');
	}
	expect_refs(MIB(4), &refs[0], 1);
	expect_refs(MIB(8), &refs[1], 1);
	expect_names(300, "b", "a", false);
	expect_names(301, "a", "b", true);
	judge(1100, 1000, 100);
}

TEST_WITH(test_an_extent_that_is_gone, setup, teardown)
{
	add_extent(MIB(4), 100);
	expect_logical_ino(MIB(4), FIRST_SIZE, NULL, 0, 0, 0, ENOENT);
	judge(100, 0, 0);
	assert_int_equal(found.moved_count, 1);
}

TEST_WITH(test_extents_that_are_being_moved, setup, teardown)
{
	const struct extent_ref refs[] = {
		{ 300, 0, SUBVOLID },
		{ 257, 0, BTRFS_DATA_RELOC_TREE_OBJECTID },
	};

	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_extent(MIB(12), 10000);
	add_inode(300, 1);
	expect_refs(MIB(4), refs, 2);
	expect_refs(MIB(8), NULL, 0);
	expect_refs(MIB(12), refs, 1);
	judge(11100, 10000, 0);
	assert_int_equal(found.moved_count, 2);
}

/* The set has files of SUBVOLID. */
static void add_subvolume(void)
{
	struct named_subvolume *named = calloc(1, sizeof(*named));

	assert_non_null(named);
	named->subvolid = SUBVOLID;
	set->subvolumes = calloc(1, sizeof(named));
	assert_non_null(set->subvolumes);
	set->subvolumes[0] = named;
	set->subvolume_count = 1;
}

/* Of all references to an extent of 100 bytes the kernel lists only these. */
static void judge_cut_list(const struct extent_ref *refs, uint32_t count, uint64_t kept)
{
	add_subvolume();
	add_extent(MIB(4), 100);
	add_inode(300, 1);
	expect_logical_ino(MIB(4), FIRST_SIZE, refs, count, LARGEST_SIZE, 5, 0);
	expect_logical_ino(MIB(4), LARGEST_SIZE, refs, count, 24, 1, 0);
	judge(100, 0, kept);
	assert_int_equal(found.uncertain_bytes, 100 - kept);
	assert_int_equal(found.incomplete_count, kept ? 0 : 1);
}

TEST_WITH(test_a_cut_list_leaves_it_open, setup, teardown)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };

	judge_cut_list(&ref, 1, 0);
}

TEST_WITH(test_a_cut_list_with_another_subvolume_keeps_it, setup, teardown)
{
	const struct extent_ref refs[] = { { 300, 0, SUBVOLID }, { 300, 0, SUBVOLID + 1 } };

	judge_cut_list(refs, 2, 100);
}

TEST_WITH(test_what_a_leaf_outside_holds_is_not_looked_up, setup, teardown)
{
	add_extent(MIB(4), 100);
	record_sort_add(set->extents, &(struct named_extent){
					      .bytenr = MIB(4),
					      .disk_bytes = 100,
					      .is_held_outside = 1,
				      });
	judge(100, 0, 100);
}

/* In leaves that only whole subvolumes of the set have. */
static void add_leaf_refs(uint64_t bytenr, uint32_t count, uint32_t argument)
{
	record_sort_add(set->extents, &(struct named_extent){
					      .bytenr = bytenr,
					      .disk_bytes = 100,
					      .is_in_set = 1,
					      .leaf_ref_count = count,
					      .holders = { argument, argument },
				      });
}

/* The item of the extent says that there are so many references. */
static void expect_ref_count(uint64_t bytenr, uint64_t count)
{
	const struct btrfs_extent_item raw = {
		.refs = htole64(count),
		.flags = htole64(BTRFS_EXTENT_FLAG_DATA),
	};
	const struct tree_item item = {
		bytenr, BTRFS_EXTENT_ITEM_KEY, 100, 60, &raw, sizeof(raw),
	};
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		1,
		16 * 1024,
	};

	expect_batch(&key, &item, 1, 0);
}

TEST_WITH(test_leaves_that_have_all_references, setup, teardown)
{
	add_leaf_refs(MIB(4), 1, 0);
	add_leaf_refs(MIB(4), 2, 0);
	expect_ref_count(MIB(4), 3);
	judge(0, 100, 0);
}

TEST_WITH(test_leaves_that_do_not_have_all_references, setup, teardown)
{
	const struct extent_ref refs[] = { { 300, 0, SUBVOLID }, { 300, 0, SUBVOLID + 1 } };

	add_leaf_refs(MIB(4), 2, 0);
	expect_ref_count(MIB(4), 3);
	expect_refs(MIB(4), refs, 2);
	judge(0, 0, 100);
}

TEST_WITH(test_without_judgement_nothing_is_looked_up, setup, teardown)
{
	struct freed_space space;
	char *failed_in;

	set->is_judged = false;
	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_extent(MIB(4), 100);
	assert_int_equal(freed_space_find(set, NULL, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.disk_bytes, 1100);
	assert_int_equal(space.freed_bytes, 0);
}

static void add_inode_of(uint32_t argument, uint64_t inode, uint32_t link_count)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .link_count = link_count,
					     .argument = argument,
				     });
}

static void add_name_of(uint32_t argument, uint64_t inode, uint64_t parent)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .parent = parent,
					     .name_hash = named_set_name_hash("a", 1),
					     .argument = argument,
				     });
}

static void assert_argument(size_t argument, uint64_t alone, uint64_t with_above)
{
	assert_int_equal(set->arguments[argument].freed_alone_bytes, alone);
	assert_int_equal(set->arguments[argument].freed_with_above_bytes, with_above);
}

/* The first and the last argument that hold an extent decide where it is freed. */
TEST_WITH(test_arguments, setup, teardown)
{
	const struct extent_ref all[] = {
		{ 300, 0, SUBVOLID },
		{ 301, 0, SUBVOLID },
		{ 302, 0, SUBVOLID },
		{ 303, 0, SUBVOLID },
	};

	set->arguments = calloc(3, sizeof(*set->arguments));
	set->argument_count = 3;
	add_inode_of(0, 300, 1);
	add_inode_of(1, 301, 1);
	/* both names have to go, and the inode was found by the first one */
	add_inode_of(0, 302, 2);
	add_name_of(0, 302, 257);
	add_name_of(1, 302, 258);
	add_extent(MIB(1), 1);
	expect_refs(MIB(1), &all[0], 1);
	add_extent(MIB(2), 10);
	expect_refs(MIB(2), &all[0], 2);
	add_extent(MIB(3), 100);
	expect_refs(MIB(3), &all[1], 1);
	add_extent(MIB(4), 1000);
	expect_refs(MIB(4), &all[2], 1);
	add_extent(MIB(5), 10000);
	expect_refs(MIB(5), &all[0], 4);
	expect_names(302, "a", "a", true);
	judge(11111, 1111, 10000);
	assert_argument(0, 1, 1);
	assert_argument(1, 100, 1111);
	assert_argument(2, 0, 1111);
}

TEST_WITH(test_failures, setup, teardown)
{
	struct freed_space space;
	char *failed_in;

	add_extent(MIB(4), 100);
	expect_logical_ino(MIB(4), FIRST_SIZE, NULL, 0, 0, 0, EPERM);
	assert_int_equal(freed_space_find(set, NULL, &ops, NULL, &space, &failed_in), -EPERM);
	assert_null(failed_in);
}

TEST_WITH(test_sizes_that_would_wrap, setup, teardown)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };
	struct freed_space space;
	char *failed_in;

	add_extent(MIB(4), UINT64_MAX);
	add_extent(MIB(8), 1);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	expect_refs(MIB(8), &ref, 1);
	assert_int_equal(freed_space_find(set, NULL, &ops, NULL, &space, &failed_in), -EPROTO);
}
