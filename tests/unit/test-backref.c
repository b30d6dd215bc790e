// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fs/backref.h"
#include "kernel-answers.h"
#include "sys/cleanup.h"
#include "test.h"

#define BYTENR MIB(13)
#define FIRST_SIZE 4096
#define LARGEST_SIZE MIB(16)
#define PATHS_SIZE 4096

/* A container with room for some values, and its size. */
struct container {
	union {
		struct btrfs_data_container header;
		char bytes[256];
	};
	size_t size;
};

static struct container container_of(const uint64_t *values, uint32_t count)
{
	struct container container = { .size = sizeof(struct btrfs_data_container) };

	container.header.elem_cnt = count;
	if (count)
		memcpy(container.bytes + container.size, values, count * sizeof(*values));
	container.size += count * sizeof(*values);
	return container;
}

static void set_value(struct container *container, size_t index, uint64_t value)
{
	memcpy(container->bytes + sizeof(container->header) + index * sizeof(value), &value,
	       sizeof(value));
}

static int check_refs(const struct container *container, size_t size, size_t *ret_count)
{
	/* of that size, so that a sanitizer sees a byte too much */
	CLEANUP_FREE char *exact = malloc(size + !size);

	assert_non_null(exact);
	memcpy(exact, container->bytes, size);
	return backref_check_refs(exact, size, ret_count);
}

static int check_paths(const struct container *container, size_t size, size_t *ret_count)
{
	CLEANUP_FREE char *exact = malloc(size + !size);

	assert_non_null(exact);
	memcpy(exact, container->bytes, size);
	return backref_check_paths(exact, size, ret_count);
}

TEST(test_check_refs)
{
	static const uint64_t values[] = { 257, 0, 5, 258, 4096, 256 };
	const struct container container = container_of(values, 6);
	size_t count = 99;

	assert_int_equal(check_refs(&container, container.size, &count), 0);
	assert_int_equal(count, 2);
	/* a count beyond the size, and a header cut off */
	count = 99;
	for (size_t size = 0; size < container.size; size++)
		assert_int_equal(check_refs(&container, size, &count), -EPROTO);
	assert_int_equal(count, 99);
}

TEST(test_check_refs_incomplete_triple)
{
	static const uint64_t values[6] = { 0 };

	for (uint32_t count = 0; count <= 6; count++) {
		const struct container container = container_of(values, count);
		size_t refs;

		assert_int_equal(check_refs(&container, container.size, &refs),
				 count % 3 ? -EPROTO : 0);
	}
}

TEST(test_check_refs_huge_count)
{
	struct container container = container_of(NULL, 0);
	size_t count;

	container.header.elem_cnt = UINT32_MAX;
	assert_int_equal(check_refs(&container, sizeof(container.bytes), &count), -EPROTO);
	/* 8 * 3 * 0x0aaaaaab is 8 in 32 bits */
	container.header.elem_cnt = 3 * 0x0aaaaaabU;
	assert_int_equal(check_refs(&container, sizeof(container.bytes), &count), -EPROTO);
}

/* Two paths behind their positions: "a" and "bc". */
static struct container two_paths(void)
{
	static const uint64_t positions[] = { 16, 18 };
	struct container container = container_of(positions, 2);

	memcpy(container.bytes + container.size, "a\0bc", 5);
	container.size += 5;
	return container;
}

TEST(test_check_paths)
{
	const struct container container = two_paths();
	size_t count = 99;

	assert_int_equal(check_paths(&container, container.size, &count), 0);
	assert_int_equal(count, 2);
	/* without its end the second path does not end */
	count = 99;
	for (size_t size = 0; size < container.size; size++)
		assert_int_equal(check_paths(&container, size, &count), -EPROTO);
	assert_int_equal(count, 99);
}

TEST(test_check_paths_position_out_of_range)
{
	const struct container good = two_paths();
	const uint64_t wrong[] = {
		/* in the header's or the positions' place, behind the end, far away */
		0,    15,	  good.size - sizeof(struct btrfs_data_container),
		1000, UINT64_MAX, UINT64_MAX - 15,
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct container container = good;
		size_t count;

		set_value(&container, 1, wrong[i]);
		assert_int_equal(check_paths(&container, container.size, &count), -EPROTO);
	}
}

TEST(test_check_paths_none)
{
	const struct container container = container_of(NULL, 0);
	size_t count = 99;

	assert_int_equal(check_paths(&container, container.size, &count), 0);
	assert_int_equal(count, 0);
}

static struct backref_query *query;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || backref_query_new(&query);
}

static int teardown(void **state)
{
	backref_query_free(query);
	return ioctl_mock_teardown(state);
}

static const struct extent_ref two_refs[] = { { 257, 0, 5 }, { 258, 4096, 256 } };

static void assert_two_refs(bool expect_complete)
{
	struct extent_ref *refs;
	bool complete;
	size_t count;

	assert_int_equal(backref_query_extent(query, MOCK_FD, BYTENR, &refs, &count, &complete), 0);
	assert_int_equal(count, 2);
	assert_memory_equal(refs, two_refs, sizeof(two_refs));
	assert_int_equal(complete, expect_complete);
}

static void assert_query_fails(int ret)
{
	struct extent_ref *refs = NULL;
	bool complete = true;
	size_t count = 99;

	assert_int_equal(backref_query_extent(query, MOCK_FD, BYTENR, &refs, &count, &complete),
			 ret);
	assert_null(refs);
	assert_int_equal(count, 99);
}

TEST_WITH(test_query, setup, teardown)
{
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 2, 0, 0, 0);
	assert_two_refs(true);
}

TEST_WITH(test_query_interrupted, setup, teardown)
{
	expect_logical_ino(BYTENR, FIRST_SIZE, NULL, 0, 0, 0, EINTR);
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 2, 0, 0, 0);
	assert_two_refs(true);
}

TEST_WITH(test_query_errors, setup, teardown)
{
	static const int errors[] = { EPERM, ENOENT, ENOTTY, ENOMEM };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_logical_ino(BYTENR, FIRST_SIZE, NULL, 0, 0, 0, errors[i]);
		assert_query_fails(-errors[i]);
	}
}

/* More than fits is asked for again, with room for what was missing and as much again. */
TEST_WITH(test_query_grows, setup, teardown)
{
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 1, KIB(10), 1, 0);
	expect_logical_ino(BYTENR, 2 * FIRST_SIZE + KIB(10), two_refs, 2, 0, 0, 0);
	assert_two_refs(true);

	/* the next query starts small again */
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 2, 0, 0, 0);
	assert_two_refs(true);
}

/* The next query asks for twice as many as there were. */
TEST_WITH(test_query_after_many, setup, teardown)
{
	static const struct extent_ref many[300];
	const uint64_t next_size = sizeof(struct btrfs_data_container) + 2 * sizeof(many);
	struct extent_ref *refs;
	bool complete;
	size_t count;

	expect_logical_ino(BYTENR, FIRST_SIZE, many, 1, KIB(10), 299, 0);
	expect_logical_ino(BYTENR, 2 * FIRST_SIZE + KIB(10), many, 300, 0, 0, 0);
	assert_int_equal(backref_query_extent(query, MOCK_FD, BYTENR, &refs, &count, &complete), 0);
	assert_int_equal(count, 300);

	expect_logical_ino(BYTENR, next_size, two_refs, 2, 0, 0, 0);
	assert_two_refs(true);
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 2, 0, 0, 0);
	assert_two_refs(true);
}

TEST_WITH(test_query_grows_to_the_largest_size_at_most, setup, teardown)
{
	static const uint32_t missing[] = {
		LARGEST_SIZE - 2 * FIRST_SIZE,
		LARGEST_SIZE,
		UINT32_MAX - 1,
		UINT32_MAX,
	};

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
		expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 1, missing[i], 1, 0);
		expect_logical_ino(BYTENR, LARGEST_SIZE, two_refs, 2, 0, 0, 0);
		assert_two_refs(true);
	}
}

/* References are being added while the buffer already is more than half of the largest. */
TEST_WITH(test_query_grows_from_more_than_half, setup, teardown)
{
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 1, MIB(9), 1, 0);
	expect_logical_ino(BYTENR, 2 * FIRST_SIZE + MIB(9), two_refs, 1, 24, 1, 0);
	expect_logical_ino(BYTENR, LARGEST_SIZE, two_refs, 2, 24, 1, 0);
	assert_two_refs(false);
}

TEST_WITH(test_query_stays_incomplete, setup, teardown)
{
	expect_logical_ino(BYTENR, FIRST_SIZE, two_refs, 1, UINT32_MAX, 1, 0);
	expect_logical_ino(BYTENR, LARGEST_SIZE, two_refs, 2, 24, 1, 0);
	assert_two_refs(false);
}

TEST_WITH(test_query_count_beyond_the_buffer, setup, teardown)
{
	const struct btrfs_data_container answer = { .elem_cnt = 3 * 171 };

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_LOGICAL_INO_V2,
		.answer = &answer,
		.answer_size = sizeof(answer),
		.pointer_offset = offsetof(struct btrfs_ioctl_logical_ino_args, inodes),
	});
	assert_query_fails(-EPROTO);
}

static void expect_ino_paths(uint64_t inode, const struct container *answer, int error)
{
	const struct btrfs_ioctl_ino_path_args asked = { .inum = inode, .size = PATHS_SIZE };

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_INO_PATHS,
		.expected = &asked,
		.expected_size = offsetof(struct btrfs_ioctl_ino_path_args, fspath),
		.error = error,
		.answer = answer ? answer->bytes : NULL,
		.answer_size = answer ? answer->size : 0,
		.pointer_offset = offsetof(struct btrfs_ioctl_ino_path_args, fspath),
	});
}

TEST_WITH(test_names, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct container container = two_paths();

	for (uint32_t missed = 0; missed <= 1; missed++) {
		char **names;
		bool complete;

		container.header.elem_missed = missed;
		expect_ino_paths(257, &container, 0);
		assert_int_equal(backref_inode_names(MOCK_FD, 257, &names, &complete), 0);
		assert_string_equal(names[0], "a");
		assert_string_equal(names[1], "bc");
		assert_null(names[2]);
		assert_int_equal(complete, !missed);
		free_names(names);
	}
}

TEST_WITH(test_names_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const int errors[] = { EPERM, ENOENT, ENOTTY };
	struct container broken = two_paths();
	char **names = NULL;
	bool complete;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_ino_paths(257, NULL, errors[i]);
		assert_int_equal(backref_inode_names(MOCK_FD, 257, &names, &complete), -errors[i]);
	}

	set_value(&broken, 0, PATHS_SIZE);
	expect_ino_paths(257, &broken, 0);
	assert_int_equal(backref_inode_names(MOCK_FD, 257, &names, &complete), -EPROTO);
	assert_null(names);
}

static void expect_ino_lookup(uint64_t tree, uint64_t inode, const char *name, size_t size,
			      int error)
{
	const struct btrfs_ioctl_ino_lookup_args asked = { .treeid = tree, .objectid = inode };
	struct btrfs_ioctl_ino_lookup_args answer = asked;

	memcpy(answer.name, name, size);
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_INO_LOOKUP,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

TEST_WITH(test_one_name, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const char *const answers[][2] = {
		{ "file/", "file" },
		{ "dir/file/", "dir/file" },
		{ "no slash", "no slash" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		char **names;

		expect_ino_lookup(256, 257, answers[i][0], strlen(answers[i][0]), 0);
		assert_int_equal(backref_inode_one_name(MOCK_FD, 256, 257, &names), 0);
		assert_string_equal(names[0], answers[i][1]);
		assert_null(names[1]);
		free_names(names);
	}
}

TEST_WITH(test_one_name_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const int errors[] = { EPERM, ENOENT };
	char endless[BTRFS_INO_LOOKUP_PATH_MAX];
	char **names = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_ino_lookup(256, 257, "x", 1, errors[i]);
		assert_int_equal(backref_inode_one_name(MOCK_FD, 256, 257, &names), -errors[i]);
	}

	/* no name, and one without an end */
	expect_ino_lookup(256, 257, "", 0, 0);
	assert_int_equal(backref_inode_one_name(MOCK_FD, 256, 257, &names), -EPROTO);
	memset(endless, 'x', sizeof(endless));
	expect_ino_lookup(256, 257, endless, sizeof(endless), 0);
	assert_int_equal(backref_inode_one_name(MOCK_FD, 256, 257, &names), -EPROTO);
	assert_null(names);
}
