// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sharing/unique-shared-bytes.h"
#include "test.h"

static struct unique_shared_bytes *set;

static int setup(void **state)
{
	(void)state;
	srand(1);
	return unique_shared_bytes_new(&set);
}

static int teardown(void **state)
{
	(void)state;
	unique_shared_bytes_free(set);
	return 0;
}

static int add(uint64_t bytenr, uint64_t length)
{
	const struct mapped_extent extent = { .bytenr = bytenr, .length = length };

	return unique_shared_bytes_add(set, &extent);
}

static void assert_bytes(uint64_t expected)
{
	uint64_t bytes = 0;

	assert_int_equal(unique_shared_bytes_total(set, &bytes), 0);
	assert_int_equal(bytes, expected);
}

TEST_WITH(test_empty, setup, teardown)
{
	assert_bytes(0);
}

TEST_WITH(test_unions, setup, teardown)
{
	static const struct {
		struct {
			uint64_t bytenr, length;
		} extents[4];
		uint64_t bytes;
	} cases[] = {
		/* the same twice, apart, touching, overlapping, inside, one that joins two */
		{ { { 100, 10 }, { 100, 10 } }, 10 },
		{ { { 100, 10 }, { 200, 10 } }, 20 },
		{ { { 100, 10 }, { 110, 10 } }, 20 },
		{ { { 100, 10 }, { 105, 10 } }, 15 },
		{ { { 100, 10 }, { 102, 3 }, { 106, 2 } }, 10 },
		{ { { 100, 10 }, { 120, 10 }, { 105, 20 } }, 30 },
		/* in falling order */
		{ { { 300, 10 }, { 200, 10 }, { 100, 10 }, { 95, 10 } }, 35 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].extents); j++)
			assert_int_equal(add(cases[i].extents[j].bytenr,
					     cases[i].extents[j].length),
					 0);
		assert_bytes(cases[i].bytes);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

TEST_WITH(test_against_a_bitmap, setup, teardown)
{
	static bool held[1 << 16];

	for (size_t extents = 1; extents <= 4096; extents *= 4) {
		uint64_t expected = 0;

		for (size_t i = 0; i < ARRAY_SIZE(held); i++)
			held[i] = false;
		for (size_t i = 0; i < extents; i++) {
			size_t length = rand() % 64;
			size_t start = rand() % (ARRAY_SIZE(held) - length);

			assert_int_equal(add(start, length), 0);
			for (size_t j = start; j < start + length; j++)
				held[j] = true;
		}
		for (size_t i = 0; i < ARRAY_SIZE(held); i++)
			expected += held[i];
		assert_bytes(expected);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

TEST_WITH(test_overflow, setup, teardown)
{
	assert_int_equal(add(UINT64_MAX - 9, 10), -EPROTO);
	assert_int_equal(add(UINT64_MAX, UINT64_MAX), -EPROTO);
	assert_int_equal(add(UINT64_MAX - 10, 10), 0);
	assert_bytes(10);
}

TEST_WITH(test_largest_sum, setup, teardown)
{
	assert_int_equal(add(0, UINT64_MAX), 0);
	assert_int_equal(add(5, 10), 0);
	assert_bytes(UINT64_MAX);
}

#define EXTENTS_PER_THREAD 10000

static void *add_many(void *argument)
{
	const uint64_t first = (uintptr_t)argument;

	for (uint64_t i = 0; i < EXTENTS_PER_THREAD; i++)
		if (add(4 * (first + 4 * i), 2) < 0)
			return set;
	return NULL;
}

TEST_WITH(test_several_threads, setup, teardown)
{
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, (void *)i), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_bytes(ARRAY_SIZE(threads) * EXTENTS_PER_THREAD * 2);
}
