// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/btrfs.h>

#include "fs/commit-counters.h"
#include "ioctl-mock.h"
#include "sys/clock.h"
#include "test.h"

#define FSID_TEXT "01234567-89ab-cdef-0011-2233445566ff"

static const struct btrfs_ioctl_fs_info_args asked = { .flags = BTRFS_FS_INFO_FLAG_GENERATION };

static struct commit_counters counters;
static char root[40];
static char directory[128];
static char path[192];

/* An empty folder in sysfs' place. */
static int setup(void **state)
{
	strcpy(root, "/tmp/test-commit-counters-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(directory, sizeof(directory), "%s/%s", root, FSID_TEXT);
	snprintf(path, sizeof(path), "%s/commit_stats", directory);
	return mkdir(directory, 0700) || ioctl_mock_setup(state);
}

static int teardown(void **state)
{
	unlink(path);
	rmdir(directory);
	return rmdir(root) || ioctl_mock_teardown(state);
}

static void write_stats(const char *text)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

static void expect_info(uint64_t flags, uint64_t generation, int error)
{
	static const uint8_t fsid[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff };
	struct btrfs_ioctl_fs_info_args answer = { .flags = flags, .generation = generation };

	memcpy(answer.fsid, fsid, sizeof(fsid));
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

static void read_counters(void)
{
	assert_int_equal(commit_counters_read(root, MOCK_FD, &counters), 0);
}

TEST_WITH(test_read, setup, teardown)
{
	write_stats("commits 3\nlast_commit_ms 4\nmax_commit_ms 5\ntotal_commit_ms 6\n");
	expect_info(BTRFS_FS_INFO_FLAG_GENERATION, 77, 0);
	read_counters();
	assert_true(counters.generation_known);
	assert_int_equal(counters.generation, 77);
	assert_true(counters.stats_known);
	assert_int_equal(counters.commits, 3);
	assert_int_equal(counters.last_commit_ms, 4);
	assert_int_equal(counters.max_commit_ms, 5);
	assert_int_equal(counters.total_commit_ms, 6);
}

/* Later kernels have one more; their order is no promise. */
TEST_WITH(test_read_other_lines, setup, teardown)
{
	write_stats("total_commit_ms 6\ncommits 3\ncur_commit_ms 9\nlast_commit_ms 4\n"
		    "max_commit_ms 5\n");
	expect_info(BTRFS_FS_INFO_FLAG_GENERATION, 77, 0);
	read_counters();
	assert_true(counters.stats_known);
	assert_int_equal(counters.commits, 3);
	assert_int_equal(counters.total_commit_ms, 6);
}

/* What cannot be understood is not known. */
TEST_WITH(test_read_strange_stats, setup, teardown)
{
	static const char *const texts[] = {
		"",
		"commits 3\nlast_commit_ms 4\nmax_commit_ms 5\n",
		"commits 3\nlast_commit_ms 4\nmax_commit_ms 5\ntotal_commit_ms -6\n",
		"commits 3\nlast_commit_ms 4\nmax_commit_ms 5\ntotal_commit_ms 6",
		"commits: 3\nlast_commit_ms 4\nmax_commit_ms 5\ntotal_commit_ms 6\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_stats(texts[i]);
		expect_info(BTRFS_FS_INFO_FLAG_GENERATION, 77, 0);
		read_counters();
		assert_true(counters.generation_known);
		assert_false(counters.stats_known);
	}
}

TEST_WITH(test_read_on_old_kernels, setup, teardown)
{
	expect_info(0, 0, 0);
	read_counters();
	assert_false(counters.generation_known);
	assert_false(counters.stats_known);
}

TEST_WITH(test_read_error, setup, teardown)
{
	const struct commit_counters untouched = counters;

	expect_info(0, 0, ENOTTY);
	assert_int_equal(commit_counters_read(root, MOCK_FD, &counters), -ENOTTY);
	assert_memory_equal(&counters, &untouched, sizeof(untouched));
}

TEST_WITH(test_read_generation, setup, teardown)
{
	counters = (struct commit_counters){ .stats_known = true, .commits = 3 };
	expect_info(BTRFS_FS_INFO_FLAG_GENERATION, 78, 0);
	assert_int_equal(commit_counters_read_generation(MOCK_FD, &counters), 0);
	assert_true(counters.generation_known);
	assert_int_equal(counters.generation, 78);
	assert_true(counters.stats_known);
	assert_int_equal(counters.commits, 3);
	expect_info(0, 0, ENOTTY);
	assert_int_equal(commit_counters_read_generation(MOCK_FD, &counters), -ENOTTY);
	assert_int_equal(counters.generation, 78);
}

static void learn(struct generation_offset *offset, uint64_t generation, uint64_t commits,
		  bool known)
{
	generation_offset_learn(offset, &(struct commit_counters){
						.generation_known = true,
						.stats_known = known,
						.generation = generation,
						.commits = commits,
					});
}

TEST(test_generation_offset)
{
	struct generation_offset offset = { 0 };

	learn(&offset, 9, 0, false);
	assert_int_equal(offset.generations, 0);
	/* the last commit is not counted yet */
	learn(&offset, 107, 4, true);
	assert_int_equal(offset.generations, 103);
	learn(&offset, 107, 5, true);
	assert_int_equal(offset.generations, 102);
	learn(&offset, 109, 6, true);
	learn(&offset, 109, 0, false);
	assert_int_equal(offset.generations, 102);
}

/* As many transactions there were when the file system was mounted, the running one included. */
#define OFFSET 102

/*
 * An fsync of 20 ms. What the generation was at the change before it, how many commits were
 * counted when it had returned, and the generation at the change behind it.
 */
static struct fsync_evidence evidence(uint64_t before, uint64_t commits, uint64_t later)
{
	return (struct fsync_evidence){
		.before = { true, true, before, before - OFFSET, 900, 900, 900 },
		.after = { true, true, before, commits, 19, 900, 919 },
		.later = { true, true, later, commits, 19, 900, 919 },
		.duration_ns = 20 * 1000000,
	};
}

static void expect_kind(struct fsync_evidence seen, enum fsync_kind kind)
{
	const struct generation_offset offset = { OFFSET };

	assert_string_equal(fsync_kind_name(fsync_kind_of(&seen, &offset)), fsync_kind_name(kind));
}

TEST(test_log)
{
	expect_kind(evidence(107, 5, 107), FSYNC_LOG);
	/* the one before is not counted yet */
	expect_kind(evidence(107, 4, 107), FSYNC_LOG);
}

TEST(test_full)
{
	struct fsync_evidence seen = evidence(107, 6, 108);

	expect_kind(seen, FSYNC_FULL);
	/* so short that milliseconds do not tell */
	seen.duration_ns = 900000;
	seen.after.last_commit_ms = 0;
	expect_kind(seen, FSYNC_FULL);
	/* the whole fsync was the commit, in milliseconds */
	seen = evidence(107, 6, 108);
	seen.after.last_commit_ms = 20;
	expect_kind(seen, FSYNC_FULL);
	seen.duration_ns--;
	expect_kind(seen, FSYNC_UNCERTAIN);
	/* the first one after the mount */
	expect_kind(evidence(OFFSET, 1, OFFSET + 1), FSYNC_FULL);
}

TEST(test_uncertain)
{
	struct fsync_evidence seen = evidence(107, 6, 108);

	/* committed after the fsync, or counted after it, the one before or not */
	expect_kind(evidence(107, 5, 108), FSYNC_UNCERTAIN);
	expect_kind(evidence(107, 4, 108), FSYNC_UNCERTAIN);
	/* more than one went by */
	expect_kind(evidence(107, 6, 109), FSYNC_UNCERTAIN);
	expect_kind(evidence(107, 7, 109), FSYNC_UNCERTAIN);
	/* it began before the fsync */
	seen.after.last_commit_ms = 21;
	expect_kind(seen, FSYNC_UNCERTAIN);
	/* what no kernel answers */
	expect_kind(evidence(107, 6, 106), FSYNC_UNCERTAIN);
}

TEST(test_without_stats)
{
	struct fsync_evidence log = evidence(107, 0, 107), full = evidence(107, 6, 108);
	const struct generation_offset unknown = { 0 };

	assert_int_equal(fsync_kind_of(&full, &unknown), FSYNC_UNCERTAIN);
	log.before.stats_known = log.after.stats_known = false;
	assert_int_equal(fsync_kind_of(&log, &unknown), FSYNC_LOG);
	full.after.stats_known = false;
	expect_kind(full, FSYNC_UNCERTAIN);
}

TEST(test_without_generation)
{
	struct fsync_evidence seen = evidence(0, 5, 0);

	seen.before.generation_known = false;
	expect_kind(seen, FSYNC_UNCERTAIN);
	seen.before.generation_known = true;
	seen.later.generation_known = false;
	expect_kind(seen, FSYNC_UNCERTAIN);
}

TEST(test_change)
{
	const struct commit_counters before = {
		.stats_known = true,
		.commits = 5,
		.total_commit_ms = 70,
	};
	struct commit_counters after = { .stats_known = true, .commits = 7, .total_commit_ms = 73 };
	struct commit_change change = commit_counters_change(&before, &after);

	assert_true(change.known);
	assert_int_equal(change.count, 2);
	assert_int_equal(change.total_ns, 3 * NANOSECONDS_PER_MILLISECOND);
	assert_true(commit_counters_change(&before, &before).known);
	/* no kernel counts down */
	assert_false(commit_counters_change(&after, &before).known);
	after.total_commit_ms = 69;
	assert_false(commit_counters_change(&before, &after).known);
	after.total_commit_ms = 73;
	after.commits = 4;
	assert_false(commit_counters_change(&before, &after).known);
	after.commits = 7;
	after.stats_known = false;
	assert_false(commit_counters_change(&before, &after).known);
	assert_false(commit_counters_change(&after, &before).known);
}
