// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fs/tree-search.h"
#include "kernel-answers.h"
#include "test.h"

#define TREE 5
#define OBJECTID 257
#define TYPE 108
#define ROOM (64 * 1024)

static struct tree_search *search;

/* A search from offset 100 to 1000. */
static int setup(void **state)
{
	return ioctl_mock_setup(state) ||
	       tree_search_new(&search, MOCK_FD, TREE, OBJECTID, TYPE, 100, 1000);
}

static int teardown(void **state)
{
	tree_search_free(search);
	return ioctl_mock_teardown(state);
}

static struct search_key key_from(uint64_t min_offset)
{
	return (struct search_key){
		.tree = TREE,
		.objectid = OBJECTID,
		.type = TYPE,
		.min_offset = min_offset,
		.max_offset = 1000,
	};
}

static struct tree_item item_at(uint64_t offset, const char *data)
{
	return (struct tree_item){
		.objectid = OBJECTID,
		.type = TYPE,
		.offset = offset,
		.leaf_generation = offset + 7,
		.data = data,
		.size = strlen(data),
	};
}

static void expect_from(uint64_t min_offset, const struct tree_item *items, uint32_t count)
{
	const struct search_key key = key_from(min_offset);

	expect_tree_search(&key, items, count, 0);
}

static void assert_next(uint64_t offset, const char *data)
{
	struct tree_item item;

	assert_int_equal(tree_search_next(search, &item), 1);
	assert_int_equal(item.objectid, OBJECTID);
	assert_int_equal(item.type, TYPE);
	assert_int_equal(item.offset, offset);
	assert_int_equal(item.leaf_generation, offset + 7);
	assert_int_equal(item.size, strlen(data));
	assert_memory_equal(item.data, data, item.size);
}

/* Nothing more comes, and the result is not touched. */
static void assert_ends_with(int ret)
{
	struct tree_item item = { .objectid = 99 };

	assert_int_equal(tree_search_next(search, &item), ret);
	assert_int_equal(item.objectid, 99);
}

TEST_WITH(test_empty_tree, setup, teardown)
{
	expect_from(100, NULL, 0);
	assert_ends_with(0);
	/* the end stays the end, without another call */
	assert_ends_with(0);
}

/* Each call goes on behind the last item of the one before. */
TEST_WITH(test_several_calls, setup, teardown)
{
	const struct tree_item first[] = { item_at(100, "a"), item_at(200, "bc") };
	const struct tree_item second[] = { item_at(201, "") };

	expect_from(100, first, 2);
	expect_from(201, second, 1);
	expect_from(202, NULL, 0);
	assert_next(100, "a");
	assert_next(200, "bc");
	assert_next(201, "");
	assert_ends_with(0);
}

TEST_WITH(test_item_at_the_end_of_the_range_is_the_last, setup, teardown)
{
	const struct tree_item items[] = { item_at(1000, "end") };

	expect_from(100, items, 1);
	assert_next(1000, "end");
	assert_ends_with(0);
}

/* There is no offset after the largest to go on from. */
TEST_WITH(test_largest_offset, setup, teardown)
{
	const struct search_key key = { TREE, OBJECTID, TYPE, 0, UINT64_MAX };
	const struct tree_item items[] = { item_at(UINT64_MAX, "x") };
	struct tree_item item;

	tree_search_free(search);
	search = NULL;
	assert_int_equal(tree_search_new(&search, MOCK_FD, TREE, OBJECTID, TYPE, 0, UINT64_MAX), 0);
	expect_tree_search(&key, items, 1, 0);
	assert_int_equal(tree_search_next(search, &item), 1);
	assert_ends_with(0);
}

TEST_WITH(test_errors_are_passed_on, setup, teardown)
{
	static const int errors[] = { EPERM, ENOTTY, ENOENT, EOVERFLOW, EIO };
	const struct search_key key = key_from(100);

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_tree_search(&key, NULL, 0, errors[i]);
		assert_ends_with(-errors[i]);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

TEST_WITH(test_interrupted_call_is_made_again, setup, teardown)
{
	const struct search_key key = key_from(100);
	const struct tree_item items[] = { item_at(1000, "x") };

	expect_tree_search(&key, NULL, 0, EINTR);
	expect_tree_search(&key, items, 1, 0);
	assert_next(1000, "x");
}

TEST_WITH(test_error_in_the_second_call, setup, teardown)
{
	const struct search_key key = key_from(101);
	const struct tree_item items[] = { item_at(100, "x") };

	expect_from(100, items, 1);
	expect_tree_search(&key, NULL, 0, EIO);
	assert_next(100, "x");
	assert_ends_with(-EIO);
}

TEST_WITH(test_items_that_were_not_asked_for, setup, teardown)
{
	struct tree_item wrong[] = {
		item_at(100, ""), item_at(100, ""),  item_at(100, ""),
		item_at(99, ""),  item_at(1001, ""),
	};

	wrong[0].objectid = OBJECTID + 1;
	wrong[1].type = TYPE + 1;
	wrong[2].type = TYPE - 1;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		expect_from(100, &wrong[i], 1);
		assert_ends_with(-EPROTO);
		/* nothing after it is to be trusted */
		assert_ends_with(0);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

/* An item given again, in the same answer or in the next one, would come for ever. */
TEST_WITH(test_no_progress, setup, teardown)
{
	const struct tree_item twice[] = { item_at(100, "x"), item_at(100, "x") };
	const struct tree_item backwards[] = { item_at(300, "x"), item_at(200, "x") };

	expect_from(100, twice, 2);
	assert_next(100, "x");
	assert_ends_with(-EPROTO);
	assert_int_equal(teardown(state), 0);

	assert_int_equal(setup(state), 0);
	expect_from(100, backwards, 2);
	assert_next(300, "x");
	assert_ends_with(-EPROTO);
	assert_int_equal(teardown(state), 0);

	assert_int_equal(setup(state), 0);
	expect_from(100, twice, 1);
	expect_from(101, twice, 1);
	assert_next(100, "x");
	assert_ends_with(-EPROTO);
}

/* The kernel claims more items than it wrote; the rest of the buffer is no item. */
TEST_WITH(test_more_items_claimed_than_written, setup, teardown)
{
	const struct search_key key = key_from(100);
	char answer[2 * sizeof(struct btrfs_ioctl_search_header)] = { 0 };
	const struct btrfs_ioctl_search_header header = {
		.transid = 107,
		.objectid = OBJECTID,
		.offset = 100,
		.type = TYPE,
	};

	memcpy(answer, &header, sizeof(header));
	expect_raw_tree_search(&key, answer, sizeof(answer), UINT32_MAX);
	assert_next(100, "");
	assert_ends_with(-EPROTO);
}

/* A valid item fills the buffer, so the header of the one that is claimed to follow lies behind. */
TEST_WITH(test_more_items_claimed_than_fit, setup, teardown)
{
	const struct search_key key = key_from(100);
	const struct btrfs_ioctl_search_header header = {
		.objectid = OBJECTID,
		.offset = 100,
		.type = TYPE,
		.len = ROOM - sizeof(header) - 8,
	};
	char *answer = calloc(1, ROOM);
	struct tree_item item;

	assert_non_null(answer);
	memcpy(answer, &header, sizeof(header));
	expect_raw_tree_search(&key, answer, ROOM, 2);
	free(answer);
	assert_int_equal(tree_search_next(search, &item), 1);
	assert_int_equal(item.size, header.len);
	assert_ends_with(-EPROTO);
}

TEST_WITH(test_item_that_reaches_beyond_the_buffer, setup, teardown)
{
	static const uint32_t lengths[] = {
		ROOM - sizeof(struct btrfs_ioctl_search_header) + 1,
		UINT32_MAX - sizeof(struct btrfs_ioctl_search_header) + 1,
		UINT32_MAX,
	};
	const struct search_key key = key_from(100);

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		const struct btrfs_ioctl_search_header header = {
			.objectid = OBJECTID,
			.offset = 100,
			.type = TYPE,
			.len = lengths[i],
		};

		expect_raw_tree_search(&key, &header, sizeof(header), 1);
		assert_ends_with(-EPROTO);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

/* Items follow each other without padding, so headers lie anywhere. */
TEST_WITH(test_unaligned_items, setup, teardown)
{
	const struct tree_item items[] = {
		item_at(100, "a"),	 item_at(101, "bcd"), item_at(102, ""),
		item_at(103, "efghijk"), item_at(1000, "l"),
	};

	expect_from(100, items, ARRAY_SIZE(items));
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		assert_next(items[i].offset, items[i].data);
	assert_ends_with(0);
}

/* The buffer is exactly as large as what may be read, so that a sanitizer sees a byte too much. */
TEST(test_parse_every_size)
{
	const struct btrfs_ioctl_search_header header = { .objectid = 1, .len = 5 };
	const size_t whole = sizeof(header) + header.len;

	for (size_t size = 0; size <= whole; size++) {
		char *buffer = malloc(size + 1);
		char *exact;
		struct tree_item item;
		size_t position = 0;

		assert_non_null(buffer);
		/* an odd address */
		exact = buffer + 1;
		memcpy(exact, &header, size < sizeof(header) ? size : sizeof(header));
		if (size < whole) {
			assert_int_equal(tree_search_parse(exact, size, &position, &item), -EPROTO);
			assert_int_equal(position, 0);
		} else {
			assert_int_equal(tree_search_parse(exact, size, &position, &item), 0);
			assert_int_equal(position, whole);
			assert_ptr_equal(item.data, exact + sizeof(header));
			assert_int_equal(item.size, 5);
		}
		free(buffer);
	}
}

TEST(test_parse_position_behind_the_end)
{
	struct tree_item item;
	size_t position = 2;

	assert_int_equal(tree_search_parse("x", 1, &position, &item), -EPROTO);
	assert_int_equal(position, 2);
}
