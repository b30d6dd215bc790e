// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/device-stats.h"
#include "test.h"

#define REAL \
	" 1042451    27271 14965936   193540 10098259  1787775 231141150  4797988        0   592292  5153749      385        0 20416688     2078   139546   160141\n"

static const uint8_t fsid[FSID_SIZE] = "0123456789abcdef";
#define FSID_TEXT "30313233-3435-3637-3839-616263646566"

static int parse(const char *text, struct device_stats *ret_stats)
{
	return device_stats_parse(text, strlen(text), ret_stats);
}

TEST(test_parse)
{
	struct device_stats stats;

	assert_int_equal(parse(REAL, &stats), 0);
	assert_int_equal(stats.reads, 1042451);
	assert_int_equal(stats.read_bytes, 14965936ULL * 512);
	assert_int_equal(stats.read_ns, 193540000000);
	assert_int_equal(stats.busy_ns, 592292000000);
	assert_int_equal(stats.in_flight, 0);
	assert_int_equal(stats.device_count, 1);
	/* of kernels before 4.18 */
	assert_int_equal(parse("1 2 3 4 5 6 7 8 9 10 11\n", &stats), 0);
	assert_int_equal(stats.busy_ns, 10000000);
	assert_int_equal(stats.in_flight, 9);
}

TEST(test_parse_errors)
{
	static const char *const texts[] = {
		"",
		"\n",
		"1 2 3 4 5 6 7 8 9 10",
		"1 2 3 4 5 6 7 8 9 10 \n11",
		"1 2 3 4 5 -6 7 8 9 10 11",
		"1 2 x 4 5 6 7 8 9 10 11",
		"99999999999999999999 2 3 4 5 6 7 8 9 10 11",
		"1 2 18446744073709551615 4 5 6 7 8 9 10 11",
		"1 2 3 18446744073709551615 5 6 7 8 9 10 11",
	};
	struct device_stats stats = { .reads = 99 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], &stats), -EPROTO);
		assert_int_equal(stats.reads, 99);
	}
}

/* -- a file system's devices -- */

static char root[] = "/tmp/test-device-stats.XXXXXX";

static int make_root(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[200];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static void make_directory(const char *path)
{
	char name[400];

	snprintf(name, sizeof(name), "%s/%s", root, path);
	assert_int_equal(mkdir(name, 0700), 0);
}

static void make_device(const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), FSID_TEXT "/devices/%s", name);
	make_directory(path);
	snprintf(path, sizeof(path), "%s/" FSID_TEXT "/devices/%s/stat", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

TEST_WITH(test_several_devices, make_root, remove_root)
{
	struct device_stats stats = { .reads = 99 };

	assert_int_equal(device_stats_read(root, fsid, &stats), -ENOENT);
	make_directory(FSID_TEXT);
	make_directory(FSID_TEXT "/devices");
	assert_int_equal(device_stats_read(root, fsid, &stats), -ENOENT);
	assert_int_equal(stats.reads, 99);
	make_device("sda1", "1 2 3 4 5 6 7 8 9 10 11\n");
	make_device("sdb", "10 2 30 40 5 6 7 8 9 100 11 12 13\n");
	assert_int_equal(device_stats_read(root, fsid, &stats), 0);
	assert_int_equal(stats.device_count, 2);
	assert_int_equal(stats.reads, 11);
	assert_int_equal(stats.read_bytes, 33 * 512);
	assert_int_equal(stats.read_ns, 44000000);
	assert_int_equal(stats.busy_ns, 110000000);
	make_device("sdc", "nothing");
	assert_int_equal(device_stats_read(root, fsid, &stats), -EPROTO);
	assert_int_equal(stats.reads, 11);
}

TEST(test_subtract)
{
	const struct device_stats before = { 10, 1000, 5, 7, 1, 2 };
	const struct device_stats after = { 15, 3000, 6, 3, 4, 2 };
	struct device_stats change = device_stats_subtract(&after, &before);

	assert_int_equal(change.reads, 5);
	assert_int_equal(change.read_bytes, 2000);
	assert_int_equal(change.read_ns, 1);
	assert_int_equal(change.busy_ns, 0);
	assert_int_equal(change.in_flight, 4);
	assert_int_equal(change.device_count, 2);
}
