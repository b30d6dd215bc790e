// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/feature-status.h"
#include "test.h"

static char root[] = "/tmp/test-feature-status.XXXXXX";
static struct feature_status statuses[FEATURE_COUNT];

static int make_root(void **state)
{
	(void)state;
	strcpy(strrchr(root, '.'), ".XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* PATH below the root, with the folders above it. */
static void write_file(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void expect(enum feature_id id, enum feature_state state, enum feature_evidence evidence)
{
	assert_int_equal(statuses[id].state, state);
	assert_int_equal(statuses[id].evidence, evidence);
	assert_int_equal(!!statuses[id].symbol, evidence == FEATURE_BY_SYMBOL);
}

static void expect_all(enum feature_state state, enum feature_evidence evidence)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		expect(i, state, evidence);
}

TEST(test_release)
{
	feature_status_of_release("6.1.0-37-amd64", statuses);
	expect(FEATURE_FIEMAP_LEAF, FEATURE_ABSENT, FEATURE_BY_RELEASE);
	expect(FEATURE_SEND_READA, FEATURE_PRESENT, FEATURE_BY_RELEASE);
	feature_status_of_release("6.3.0", statuses);
	expect(FEATURE_FIEMAP_LEAF, FEATURE_PRESENT, FEATURE_BY_RELEASE);
	expect(FEATURE_LOG_DIR, FEATURE_ABSENT, FEATURE_BY_RELEASE);
	feature_status_of_release("6.10-rc1", statuses);
	expect_all(FEATURE_PRESENT, FEATURE_BY_RELEASE);
	feature_status_of_release("5.10.0-30-amd64", statuses);
	expect_all(FEATURE_ABSENT, FEATURE_BY_RELEASE);
	feature_status_of_release("mainline", statuses);
	expect_all(FEATURE_UNKNOWN, FEATURE_BY_NOTHING);
}

TEST_WITH(test_nothing_to_read, make_root, remove_root)
{
	feature_status_read(root, "6.18.0", statuses);
	expect_all(FEATURE_PRESENT, FEATURE_BY_RELEASE);
	feature_status_read(root, "?", statuses);
	expect_all(FEATURE_UNKNOWN, FEATURE_BY_NOTHING);
}

TEST_WITH(test_symbols, make_root, remove_root)
{
	write_file("/proc/kallsyms", "0000000000000000 T csum_exist_in_range\t[btrfs]\n"
				     "0000000000000000 T btrfs_csum_exists_in_range\t[btrfs]\n"
				     "an odd line\n"
				     "\n"
				     "0000000000000000 t log_new_dir_dentries\t[btrfs]");
	feature_status_read(root, "6.1.0-37-amd64", statuses);
	expect(FEATURE_NOCOW_CSUM, FEATURE_PRESENT, FEATURE_BY_SYMBOL);
	assert_string_equal(statuses[FEATURE_NOCOW_CSUM].symbol, "btrfs_csum_exists_in_range");
	expect(FEATURE_SEEK_CACHE, FEATURE_ABSENT, FEATURE_BY_RELEASE);
	expect(FEATURE_SEND_READA, FEATURE_PRESENT, FEATURE_BY_RELEASE);
}

static void expect_improved_by_symbol(const char *symbols)
{
	write_file("/proc/kallsyms", symbols);
	feature_status_read(root, "6.12.0", statuses);
	expect(FEATURE_SEEK_CACHE, FEATURE_IMPROVED, FEATURE_BY_SYMBOL);
	assert_string_equal(statuses[FEATURE_SEEK_CACHE].symbol, "btrfs_cut_range_after_states");
	expect(FEATURE_LOG_DIR, FEATURE_PRESENT, FEATURE_BY_RELEASE);
}

/* Of several symbols the one of the improvement counts, in any order. */
TEST_WITH(test_symbol_of_an_improvement, make_root, remove_root)
{
	expect_improved_by_symbol("0000000000000000 T btrfs_cut_range_after_states\t[btrfs]\n");
	expect_improved_by_symbol("0000000000000000 T btrfs_cut_range_after_states\t[btrfs]\n"
				  "0000000000000000 t fiemap_find_delalloc\t[btrfs]\n");
	expect_improved_by_symbol("0000000000000000 t fiemap_find_delalloc\t[btrfs]\n"
				  "0000000000000000 T btrfs_cut_range_after_states\t[btrfs]\n");
}

TEST_WITH(test_list_is_better_than_the_rest, make_root, remove_root)
{
	write_file("/proc/kallsyms", "0000000000000000 T btrfs_csum_exists_in_range\n");
	write_file("/sys/fs/btrfs/features/fastpath", "fiemap-leaf log-dir\n");
	feature_status_read(root, "6.18.0", statuses);
	expect(FEATURE_FIEMAP_LEAF, FEATURE_PRESENT, FEATURE_BY_LIST);
	expect(FEATURE_SEEK_CACHE, FEATURE_ABSENT, FEATURE_BY_LIST);
	expect(FEATURE_LOG_DIR, FEATURE_PRESENT, FEATURE_BY_LIST);
	expect(FEATURE_SEND_READA, FEATURE_ABSENT, FEATURE_BY_LIST);
	expect(FEATURE_NOCOW_CSUM, FEATURE_ABSENT, FEATURE_BY_LIST);
}

TEST_WITH(test_improved_in_the_list, make_root, remove_root)
{
	write_file("/sys/fs/btrfs/features/fastpath",
		   "fiemap-leaf seek-cache log-dir fiemap-leaf:improved log-dir:improved\n");
	feature_status_read(root, "6.12.0", statuses);
	expect(FEATURE_FIEMAP_LEAF, FEATURE_IMPROVED, FEATURE_BY_LIST);
	expect(FEATURE_SEEK_CACHE, FEATURE_PRESENT, FEATURE_BY_LIST);
	expect(FEATURE_LOG_DIR, FEATURE_IMPROVED, FEATURE_BY_LIST);
	expect(FEATURE_NOCOW_CSUM, FEATURE_ABSENT, FEATURE_BY_LIST);
}

TEST_WITH(test_empty_list, make_root, remove_root)
{
	write_file("/sys/fs/btrfs/features/fastpath", "\n");
	feature_status_read(root, "6.18.0", statuses);
	expect_all(FEATURE_ABSENT, FEATURE_BY_LIST);
	write_file("/sys/fs/btrfs/features/fastpath", "");
	feature_status_read(root, "6.18.0", statuses);
	expect_all(FEATURE_ABSENT, FEATURE_BY_LIST);
}

TEST_WITH(test_unreadable_files, make_root, remove_root)
{
	write_file("/proc/kallsyms/file", "");
	write_file("/sys/fs/btrfs/features/fastpath/file", "");
	feature_status_read(root, "6.18.0", statuses);
	expect_all(FEATURE_PRESENT, FEATURE_BY_RELEASE);
}

TEST(test_measured)
{
	struct feature_status status = { FEATURE_ABSENT, FEATURE_BY_RELEASE, NULL };

	(void)state;
	assert_false(feature_status_measured(&status, FEATURE_UNKNOWN));
	assert_int_equal(status.evidence, FEATURE_BY_RELEASE);
	assert_false(feature_status_measured(&status, FEATURE_PRESENT));
	assert_int_equal(status.state, FEATURE_PRESENT);
	assert_int_equal(status.evidence, FEATURE_BY_MEASURE);

	/* what the kernel says of itself counts more */
	status = (struct feature_status){ FEATURE_PRESENT, FEATURE_BY_SYMBOL, "symbol" };
	assert_true(feature_status_measured(&status, FEATURE_ABSENT));
	assert_int_equal(status.state, FEATURE_PRESENT);
	assert_int_equal(status.evidence, FEATURE_BY_SYMBOL);
	assert_string_equal(status.symbol, "symbol");

	status = (struct feature_status){ FEATURE_PRESENT, FEATURE_BY_LIST, NULL };
	assert_false(feature_status_measured(&status, FEATURE_PRESENT));
	assert_true(feature_status_measured(&status, FEATURE_ABSENT));
	assert_int_equal(status.state, FEATURE_PRESENT);
	assert_int_equal(status.evidence, FEATURE_BY_LIST);
}

static void expect_contradiction(enum feature_state told, enum feature_state measured,
				 bool expected)
{
	struct feature_status status = { told, FEATURE_BY_LIST, NULL };

	assert_int_equal(feature_status_measured(&status, measured), expected);
	assert_int_equal(status.state, told);
	assert_int_equal(status.evidence, FEATURE_BY_LIST);
}

/* What is improved is present, too, so one of the two does not contradict the other. */
TEST(test_measured_improved)
{
	struct feature_status status = { FEATURE_PRESENT, FEATURE_BY_RELEASE, NULL };

	(void)state;
	assert_false(feature_status_measured(&status, FEATURE_IMPROVED));
	assert_int_equal(status.state, FEATURE_IMPROVED);
	assert_int_equal(status.evidence, FEATURE_BY_MEASURE);

	expect_contradiction(FEATURE_IMPROVED, FEATURE_IMPROVED, false);
	expect_contradiction(FEATURE_IMPROVED, FEATURE_PRESENT, false);
	expect_contradiction(FEATURE_IMPROVED, FEATURE_ABSENT, true);
	expect_contradiction(FEATURE_PRESENT, FEATURE_IMPROVED, false);
	expect_contradiction(FEATURE_ABSENT, FEATURE_IMPROVED, true);
}
