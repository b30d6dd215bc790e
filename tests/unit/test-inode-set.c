// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "path/inode-identity.h"
#include "test.h"

static struct inode_set *set;

static int setup(void **state)
{
	(void)state;
	return inode_set_new(&set);
}

static int teardown(void **state)
{
	(void)state;
	inode_set_free(set);
	return 0;
}

TEST_WITH(test_add, setup, teardown)
{
	assert_int_equal(inode_set_add(set, 1, 257), 1);
	assert_int_equal(inode_set_add(set, 1, 257), 0);
	assert_int_equal(inode_set_add(set, 1, 258), 1);
	/* the same number on another device is another file */
	assert_int_equal(inode_set_add(set, 2, 257), 1);
	assert_int_equal(inode_set_add(set, 1, 257), 0);
	assert_int_equal(inode_set_add(set, 2, 257), 0);
}

TEST_WITH(test_numbers, setup, teardown)
{
	assert_int_equal(inode_set_add_numbered(set, 1, 257, 7), 1);
	assert_int_equal(inode_set_add_numbered(set, 1, 257, 8), 0);
	assert_int_equal(inode_set_add_numbered(set, 1, 257, 7), 1);
	assert_int_equal(inode_set_add_numbered(set, 1, 257, 3), 1);
	assert_int_equal(inode_set_add_numbered(set, 1, 257, 7), 0);
	assert_int_equal(inode_set_add_numbered(set, 1, 258, 8), 1);
}

TEST_WITH(test_limits, setup, teardown)
{
	static const uint64_t numbers[] = { 0, 1, UINT32_MAX, 1ULL << 32, UINT64_MAX };
	const size_t count = ARRAY_SIZE(numbers);

	for (int expected = 1; expected >= 0; expected--)
		for (size_t i = 0; i < count * count; i++)
			assert_int_equal(inode_set_add(set, numbers[i / count], numbers[i % count]),
					 expected);
}

TEST_WITH(test_random, setup, teardown)
{
	static bool held[4][1024];

	srand(1);
	for (size_t i = 0; i < 20000; i++) {
		size_t device = rand() % 4, inode = rand() % 1024;

		assert_int_equal(inode_set_contains(set, device, inode), held[device][inode]);
		assert_int_equal(inode_set_add(set, device, inode), !held[device][inode]);
		held[device][inode] = true;
	}
}
