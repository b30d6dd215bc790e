// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/extent-owners.h"
#include "test.h"

#define SUBVOLID 256
#define INODE 300
#define FIRST_SIZE 4096
#define RELOCATION BTRFS_DATA_RELOC_TREE_OBJECTID

/* The file's own reference. */
#define SELF(offset)                      \
	{                                 \
		INODE, (offset), SUBVOLID \
	}

static struct extent_owners *owners;

static struct owner_disagreement disagreements[8];
static size_t disagreement_count;
static uint64_t last_progress;

static void on_disagreement(void *data, const struct owner_disagreement *disagreement)
{
	assert_ptr_equal(data, &owners);
	assert_true(disagreement_count < ARRAY_SIZE(disagreements));
	disagreements[disagreement_count++] = *disagreement;
}

static void on_progress(void *data, uint64_t asked)
{
	assert_ptr_equal(data, &owners);
	assert_true(asked > last_progress);
	last_progress = asked;
}

static const struct extent_owners_ops ops = {
	.disagreement = on_disagreement,
	.progress = on_progress,
};

static int setup(void **state)
{
	disagreement_count = 0;
	last_progress = 0;
	return ioctl_mock_setup(state) || extent_owners_new(&owners, SUBVOLID, INODE);
}

static int teardown(void **state)
{
	extent_owners_free(owners);
	return ioctl_mock_teardown(state);
}

static void add(uint64_t bytenr, uint64_t bytes, bool flagged_shared)
{
	const struct file_extent extent = { .disk_bytenr = bytenr };

	extent_owners_add(owners, &extent, bytes, flagged_shared);
}

static void expect_refs(uint64_t bytenr, const struct extent_ref *refs, uint32_t count)
{
	expect_logical_ino(bytenr, FIRST_SIZE, refs, count, 0, 0, 0);
}

static int resolve(void)
{
	assert_int_equal(extent_owners_sort(owners), 0);
	return extent_owners_resolve(owners, MOCK_FD, NULL, &ops, &owners);
}

static void assert_owners(const struct extent_owner *expected, size_t expected_count)
{
	const struct extent_owner *const *list;
	size_t count;

	list = extent_owners_list(owners, &count);
	assert_int_equal(count, expected_count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list[i]->subvolid, expected[i].subvolid);
		assert_int_equal(list[i]->inode, expected[i].inode);
		assert_int_equal(list[i]->extent_count, expected[i].extent_count);
		assert_int_equal(list[i]->bytes, expected[i].bytes);
	}
}

TEST_WITH(test_no_extents, setup, teardown)
{
	assert_int_equal(resolve(), 0);
	assert_owners(NULL, 0);
	assert_int_equal(disagreement_count, 0);
}

/* Owners by falling bytes, those with the same number of bytes by subvolume and inode. */
TEST_WITH(test_several_extents, setup, teardown)
{
	static const struct extent_ref first[] = {
		SELF(0),
		{ 301, 0, 256 },
		{ 302, 0, 256 },
		{ 300, 0, 5 },
	};
	static const struct extent_ref second[] = { { 302, 8192, 256 }, SELF(KIB(4)) };
	static const struct extent_ref third[] = { SELF(KIB(12)) };
	static const struct extent_owner expected[] = {
		{ 256, 302, 2, KIB(12) },
		{ 5, 300, 1, KIB(4) },
		{ 256, 301, 1, KIB(4) },
	};

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(8), true);
	add(MIB(3), KIB(4), false);
	expect_refs(MIB(1), first, 4);
	expect_refs(MIB(2), second, 2);
	expect_refs(MIB(3), third, 1);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 3);
	assert_int_equal(disagreement_count, 0);
	assert_int_equal(extent_owners_incomplete_count(owners), 0);
}

/* The mock's table has one call for each, so a second one fails the test. */
TEST_WITH(test_each_extent_is_asked_for_once, setup, teardown)
{
	static const struct extent_ref refs[] = {
		SELF(0),
		SELF(KIB(64)),
		{ 301, 0, 256 },
		{ 301, KIB(4), 256 },
	};
	static const struct extent_owner expected[] = { { 256, 301, 2, KIB(24) } };

	/* apart from each other, and in falling order */
	add(MIB(2), KIB(4), false);
	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(8), true);
	add(MIB(1), KIB(8), false);
	expect_refs(MIB(1), refs, 4);
	expect_refs(MIB(2), refs, 4);
	assert_int_equal(resolve(), 0);
	/* several references of one owner to an extent count once */
	assert_owners(expected, 1);
	/* the flag on one of an extent's pieces is enough */
	assert_int_equal(disagreement_count, 0);
}

/* The first owner of all has nobody before it to be compared with. */
TEST_WITH(test_several_references_of_the_first_owner, setup, teardown)
{
	static const struct extent_ref refs[] = {
		{ 200, KIB(4), 256 },
		SELF(0),
		{ 200, 0, 256 },
	};
	static const struct extent_owner expected[] = { { 256, 200, 1, KIB(4) } };

	add(MIB(1), KIB(4), true);
	expect_refs(MIB(1), refs, ARRAY_SIZE(refs));
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
}

TEST_WITH(test_same_inode_number_in_another_subvolume, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), { INODE, 0, 257 } };
	static const struct extent_owner expected[] = { { 257, INODE, 1, KIB(4) } };

	add(MIB(1), KIB(4), true);
	expect_refs(MIB(1), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
}

/* A file that holds an extent twice and marks it as shared shares it with itself. */
TEST_WITH(test_shared_with_itself, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), SELF(MIB(1)) };
	static const struct extent_owner expected[] = { { SUBVOLID, INODE, 1, KIB(8) } };

	add(MIB(1), KIB(4), true);
	add(MIB(1), KIB(4), true);
	expect_refs(MIB(1), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
	assert_int_equal(disagreement_count, 0);
}

/* An overwrite in the middle leaves two references to an extent that nobody shares. */
TEST_WITH(test_two_own_references_without_the_flag, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), SELF(KIB(8)) };

	add(MIB(1), KIB(4), false);
	add(MIB(1), KIB(4), false);
	expect_refs(MIB(1), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_owners(NULL, 0);
	assert_int_equal(disagreement_count, 0);
}

TEST_WITH(test_flagged_without_other_owners, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0) };

	add(MIB(1), KIB(4), true);
	expect_refs(MIB(1), refs, 1);
	assert_int_equal(resolve(), 0);
	assert_owners(NULL, 0);
	assert_int_equal(disagreement_count, 1);
	assert_int_equal(disagreements[0].bytenr, MIB(1));
	assert_true(disagreements[0].flagged_shared);
	assert_int_equal(disagreements[0].other_owner_count, 0);
}

TEST_WITH(test_other_owners_without_the_flag, setup, teardown)
{
	static const struct extent_ref refs[] = {
		SELF(0),
		{ 301, 0, 256 },
		{ 302, 0, 256 },
		{ 302, KIB(4), 256 },
	};
	static const struct extent_owner expected[] = {
		{ 256, 301, 1, KIB(4) },
		{ 256, 302, 1, KIB(4) },
	};

	add(MIB(1), KIB(4), false);
	expect_refs(MIB(1), refs, 4);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 2);
	assert_int_equal(disagreement_count, 1);
	assert_int_equal(disagreements[0].bytenr, MIB(1));
	assert_false(disagreements[0].flagged_shared);
	assert_int_equal(disagreements[0].other_owner_count, 2);
}

/* The file has written to them meanwhile, or they were moved. */
TEST_WITH(test_no_reference_of_the_file, setup, teardown)
{
	static const struct extent_ref refs[] = { { 301, 0, 256 } };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(4), false);
	add(MIB(3), KIB(4), false);
	expect_refs(MIB(1), refs, 1);
	expect_refs(MIB(2), refs, 0);
	expect_logical_ino(MIB(3), FIRST_SIZE, NULL, 0, 0, 0, ENOENT);
	assert_int_equal(resolve(), 0);
	assert_int_equal(extent_owners_doubtful_count(owners), 3);
	assert_int_equal(disagreement_count, 0);
}

/* A relocation's copy is no owner, and may be why FIEMAP flags an extent. */
TEST_WITH(test_copy_of_a_relocation, setup, teardown)
{
	static const struct extent_ref copy[] = { SELF(0), { 258, 0, RELOCATION } };
	static const struct extent_ref shared[] = { SELF(0),
						    { 301, 0, 256 },
						    { 258, 0, RELOCATION } };
	static const struct extent_owner expected[] = { { 256, 301, 1, KIB(8) } };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(8), true);
	expect_refs(MIB(1), copy, ARRAY_SIZE(copy));
	expect_refs(MIB(2), shared, ARRAY_SIZE(shared));
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
	assert_int_equal(extent_owners_doubtful_count(owners), 1);
	assert_int_equal(disagreement_count, 0);
}

TEST_WITH(test_no_doubt, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), { 301, 0, 256 } };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(4), false);
	expect_refs(MIB(1), refs, 2);
	expect_refs(MIB(2), refs, 1);
	assert_int_equal(resolve(), 0);
	assert_int_equal(extent_owners_doubtful_count(owners), 0);
}

/* The flag of the other ones can have come and gone with a copy. */
TEST_WITH(test_doubtful_flags, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), SELF(KIB(8)) };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(4), true);
	add(MIB(3), KIB(4), false);
	expect_refs(MIB(1), refs, 1);
	expect_refs(MIB(2), refs, 2);
	expect_refs(MIB(3), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_int_equal(extent_owners_doubtful_count(owners), 2);
}

TEST_WITH(test_extent_that_is_gone, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), { 301, 0, 256 } };
	static const struct extent_owner expected[] = { { 256, 301, 1, KIB(8) } };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(8), true);
	expect_logical_ino(MIB(1), FIRST_SIZE, NULL, 0, 0, 0, ENOENT);
	expect_refs(MIB(2), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
	assert_int_equal(disagreement_count, 0);
}

TEST_WITH(test_errors_end_it, setup, teardown)
{
	static const int errors[] = { EPERM, ENOTTY, EIO };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		add(MIB(1), KIB(4), true);
		add(MIB(2), KIB(4), true);
		expect_logical_ino(MIB(1), FIRST_SIZE, NULL, 0, 0, 0, errors[i]);
		assert_int_equal(resolve(), -errors[i]);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

TEST_WITH(test_incomplete_list, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), { 301, 0, 256 } };

	add(MIB(1), KIB(4), true);
	add(MIB(2), KIB(4), true);
	expect_logical_ino(MIB(1), FIRST_SIZE, refs, 2, UINT32_MAX, 1, 0);
	expect_logical_ino(MIB(1), MIB(16), refs, 2, 24, 1, 0);
	expect_refs(MIB(2), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_int_equal(extent_owners_incomplete_count(owners), 1);
}

TEST_WITH(test_progress, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0) };

	for (size_t i = 0; i < 600; i++) {
		add(MIB(1) + KIB(8) * i, KIB(4), false);
		expect_refs(MIB(1) + KIB(8) * i, refs, 1);
	}
	assert_int_equal(resolve(), 0);
	assert_in_range(last_progress, 300, 600);
}

TEST_WITH(test_bytes_stop_at_the_largest_number, setup, teardown)
{
	static const struct extent_ref refs[] = { SELF(0), { 301, 0, 256 } };
	static const struct extent_owner expected[] = { { 256, 301, 2, UINT64_MAX } };

	add(MIB(1), UINT64_MAX, true);
	add(MIB(1), UINT64_MAX, true);
	add(MIB(2), UINT64_MAX, true);
	expect_refs(MIB(1), refs, 2);
	expect_refs(MIB(2), refs, 2);
	assert_int_equal(resolve(), 0);
	assert_owners(expected, 1);
}
