// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

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
	if (ioctl_mock_setup(state) || named_set_new(&set, true, true))
		return -1;
	set->filesystems = calloc(1, sizeof(*set->filesystems));
	set->filesystems[0].fd = MOCK_FD;
	set->filesystems[0].checksums = (struct checksum_format){ .sector_size = 4096, .size = 4 };
	set->filesystem_count = 1;
	return 0;
}

static int teardown(void **state)
{
	named_set_free(set);
	return ioctl_mock_teardown(state);
}

static void on_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	assert_true(extents_asked);
}

static const struct freed_space_ops ops = { .progress = on_progress };

static void add_extent(uint64_t bytenr, uint64_t disk_bytes)
{
	record_sort_add(set->extents, &(struct named_extent){
					      .bytenr = bytenr,
					      .disk_bytes = disk_bytes,
					      .of_file = 1,
				      });
}

static void add_inode(uint64_t inode, uint32_t link_count)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .item_bytes = 800,
					     .link_count = link_count,
				     });
}

static void add_name(uint64_t inode, uint64_t parent, uint64_t hash)
{
	record_sort_add(set->inodes, &(struct named_inode){
					     .subvolid = SUBVOLID,
					     .inode = inode,
					     .parent = parent,
					     .name_hash = hash,
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

static void judge(uint64_t disk, uint64_t freed, uint64_t kept)
{
	struct freed_space space;
	char *failed_in;

	expect_no_profile();
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	assert_null(failed_in);
	assert_int_equal(space.disk_bytes, disk);
	assert_int_equal(space.freed_bytes, freed);
	assert_int_equal(space.kept_bytes, kept);
	assert_false(space.has_raw_bytes);
}

static void test_all_who_refer_to_it_are_in_the_set(void **state)
{
	const struct extent_ref both[] = { { 301, 0, SUBVOLID }, { 300, 0, SUBVOLID } };

	(void)state;
	add_extent(MIB(4), 100);
	add_extent(MIB(4), 100);
	add_inode(301, 1);
	add_inode(300, 1);
	expect_refs(MIB(4), both, 2);
	judge(100, 100, 0);
}

static void test_one_of_them_is_not(void **state)
{
	const struct extent_ref others[] = {
		{ 300, 0, SUBVOLID }, { 299, 0, SUBVOLID },    { 300, 0, SUBVOLID + 1 },
		{ 301, 0, SUBVOLID }, { 302, 4096, SUBVOLID },
	};
	const struct extent_ref own = { 300, 0, SUBVOLID };

	(void)state;
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

static void test_a_number_in_another_subvolume_is_another_inode(void **state)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID - 1 };

	(void)state;
	add_extent(MIB(4), 100);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	judge(100, 0, 100);
}

static void test_addresses_are_of_one_filesystem(void **state)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };
	const struct named_extent other = {
		.bytenr = MIB(4),
		.disk_bytes = 1000,
		.filesystem = 1,
	};
	struct named_filesystem *two = calloc(2, sizeof(*two));
	struct freed_space space;
	char *failed_in;

	(void)state;
	two[0].fd = two[1].fd = MOCK_FD;
	free(set->filesystems);
	set->filesystems = two;
	set->filesystem_count = 2;
	add_extent(MIB(4), 100);
	record_sort_add(set->extents, &other);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	expect_refs(MIB(4), &ref, 1);
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.freed_bytes, 100);
	assert_int_equal(space.kept_bytes, 1000);
	assert_false(space.has_raw_bytes);
}

static void test_an_extent_is_kept_once(void **state)
{
	const struct extent_ref refs[] = {
		{ 400, 0, SUBVOLID },
		{ 401, 0, SUBVOLID },
		{ 400, 4096, SUBVOLID },
		{ 300, 0, SUBVOLID },
	};

	(void)state;
	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_inode(300, 1);
	expect_refs(MIB(4), refs, 4);
	expect_refs(MIB(8), &refs[3], 1);
	judge(1100, 1000, 100);
}

static void test_an_inode_goes_with_all_of_its_names(void **state)
{
	const struct extent_ref refs[] = { { 300, 0, SUBVOLID }, { 301, 0, SUBVOLID } };

	(void)state;
	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_inode(300, 2);
	add_inode(301, 2);
	/* one name given twice, and two of one directory */
	add_name(300, 257, 1);
	add_name(300, 257, 1);
	add_name(301, 257, 1);
	add_name(301, 257, 2);
	expect_refs(MIB(4), &refs[0], 1);
	expect_refs(MIB(8), &refs[1], 1);
	judge(1100, 1000, 100);
}

static void test_an_extent_that_is_gone(void **state)
{
	(void)state;
	add_extent(MIB(4), 100);
	expect_logical_ino(MIB(4), FIRST_SIZE, NULL, 0, 0, 0, ENOENT);
	judge(100, 0, 0);
}

static void test_a_cut_list_keeps_it(void **state)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };
	struct freed_space space;
	char *failed_in;

	(void)state;
	add_extent(MIB(4), 100);
	add_inode(300, 1);
	expect_logical_ino(MIB(4), FIRST_SIZE, &ref, 1, LARGEST_SIZE, 5, 0);
	expect_logical_ino(MIB(4), LARGEST_SIZE, &ref, 1, 24, 1, 0);
	expect_no_profile();
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.freed_bytes, 0);
	assert_int_equal(space.kept_bytes, 100);
	assert_int_equal(space.incomplete_count, 1);
}

static void test_metadata(void **state)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID };
	const struct named_extent with_checksums = {
		.bytenr = MIB(4),
		.disk_bytes = MIB(1),
		.has_checksums = 1,
	};
	struct freed_space space;
	char *failed_in;

	(void)state;
	record_sort_add(set->extents, &with_checksums);
	add_inode(300, 1);
	/* with a name elsewhere */
	add_inode(301, 2);
	add_name(301, 257, 1);
	expect_refs(MIB(4), &ref, 1);
	expect_no_profile();
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	/* of no file: the rest of a subvolume */
	assert_int_equal(space.disk_bytes, 0);
	assert_int_equal(space.freed_bytes, MIB(1));
	/* 256 checksums, and at 80% an item of the extent tree and those of one inode */
	assert_int_equal(space.freed_metadata_bytes, 256 * 4 + (800 + 78) * 100 / 80);
}

/* sha256, and blocks of 64 KiB */
static void test_metadata_with_large_checksums(void **state)
{
	const struct extent_ref ref = { 300, 0, SUBVOLID }, other = { 301, 0, SUBVOLID };
	struct named_extent with_checksums = {
		.bytenr = MIB(4),
		.disk_bytes = MIB(1),
		.has_checksums = 1,
	};
	struct freed_space space;
	char *failed_in;

	(void)state;
	set->filesystems[0].checksums = (struct checksum_format){ .sector_size = 65536,
								  .size = 32 };
	record_sort_add(set->extents, &with_checksums);
	with_checksums.bytenr = MIB(8);
	record_sort_add(set->extents, &with_checksums);
	add_inode(300, 1);
	expect_refs(MIB(4), &ref, 1);
	/* it is kept, with its checksums */
	expect_refs(MIB(8), &other, 1);
	expect_no_profile();
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.freed_bytes, MIB(1));
	assert_int_equal(space.freed_metadata_bytes, 16 * 32 + (800 + 78) * 100 / 80);
}

static void test_without_judgement_nothing_is_looked_up(void **state)
{
	struct freed_space space;
	char *failed_in;

	(void)state;
	set->is_judged = false;
	add_extent(MIB(4), 100);
	add_extent(MIB(8), 1000);
	add_extent(MIB(4), 100);
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), 0);
	assert_int_equal(space.disk_bytes, 1100);
	assert_int_equal(space.freed_bytes, 0);
}

static void test_failures(void **state)
{
	struct freed_space space;
	char *failed_in;

	(void)state;
	add_extent(MIB(4), 100);
	expect_logical_ino(MIB(4), FIRST_SIZE, NULL, 0, 0, 0, EPERM);
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), -EPERM);
	assert_null(failed_in);
}

static void test_sizes_that_would_wrap(void **state)
{
	struct freed_space space;
	char *failed_in;

	(void)state;
	add_extent(MIB(4), UINT64_MAX);
	add_extent(MIB(8), 1);
	expect_refs(MIB(4), NULL, 0);
	expect_refs(MIB(8), NULL, 0);
	assert_int_equal(freed_space_find(set, &ops, NULL, &space, &failed_in), -EPROTO);
}

#define SET_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SET_TEST(test_all_who_refer_to_it_are_in_the_set),
		SET_TEST(test_one_of_them_is_not),
		SET_TEST(test_a_number_in_another_subvolume_is_another_inode),
		SET_TEST(test_addresses_are_of_one_filesystem),
		SET_TEST(test_an_extent_is_kept_once),
		SET_TEST(test_an_inode_goes_with_all_of_its_names),
		SET_TEST(test_an_extent_that_is_gone),
		SET_TEST(test_a_cut_list_keeps_it),
		SET_TEST(test_metadata),
		SET_TEST(test_metadata_with_large_checksums),
		SET_TEST(test_without_judgement_nothing_is_looked_up),
		SET_TEST(test_failures),
		SET_TEST(test_sizes_that_would_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
