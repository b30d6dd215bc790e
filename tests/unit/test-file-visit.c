// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture.h"
#include "test.h"
#include "ui/exit-status.h"
#include "ui/file-visit.h"

static struct stat status_of(dev_t device, ino_t inode, nlink_t links)
{
	return (struct stat){ .st_dev = device, .st_ino = inode, .st_nlink = links };
}

static bool is_first(struct file_visit *visit, struct stat status)
{
	int ret = file_visit_is_first(visit, &status);

	assert_true(ret == 0 || ret == 1);
	return ret;
}

static void test_file_with_one_name(void **state)
{
	struct file_visit visit;

	(void)state;
	assert_int_equal(file_visit_init(&visit, false), 0);
	assert_true(is_first(&visit, status_of(1, 10, 1)));
	/* a walk comes to it once, so it need not be remembered */
	assert_true(is_first(&visit, status_of(1, 10, 1)));
	file_visit_free(&visit);
}

static void test_file_with_several_names(void **state)
{
	struct file_visit visit;

	(void)state;
	assert_int_equal(file_visit_init(&visit, false), 0);
	assert_true(is_first(&visit, status_of(1, 10, 2)));
	assert_false(is_first(&visit, status_of(1, 10, 2)));
	/* another subvolume's file of the same number */
	assert_true(is_first(&visit, status_of(2, 10, 2)));
	file_visit_free(&visit);
}

static void test_paths_that_overlap(void **state)
{
	struct file_visit visit;

	(void)state;
	assert_int_equal(file_visit_init(&visit, true), 0);
	assert_true(is_first(&visit, status_of(1, 10, 1)));
	assert_false(is_first(&visit, status_of(1, 10, 1)));
	file_visit_free(&visit);
}

static void test_check(void **state)
{
	static const struct {
		struct found_file file;
		bool is_fine;
		int error;
	} cases[] = {
		{ { .type = S_IFREG }, true, 0 },   { { .type = S_IFDIR }, false, 0 },
		{ { .type = S_IFIFO }, false, 0 },  { { .type = S_IFCHR }, false, 0 },
		{ { .error = -ENOTTY }, false, 0 }, { { .error = -EACCES }, false, -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct failure failure = file_visit_check(&cases[i].file);

		assert_int_equal(!failure.action, cases[i].is_fine);
		assert_int_equal(failure.error, cases[i].error);
	}
}

static void test_failed(void **state)
{
	const struct failure vanished = { "cannot open", -ENOENT };
	const struct failure mounted_over = { "cannot open", -EXDEV };
	const struct failure other_filesystem = { "cannot open", -ENODEV };
	const struct failure denied = { "cannot open", -EACCES };
	struct file_visit visit;

	(void)state;
	assert_int_equal(file_visit_init(&visit, false), 0);
	file_visit_failed(&visit, "found", false, vanished);
	assert_int_equal(visit.status, STATUS_OK);
	assert_int_equal(visit.vanished_count, 1);
	file_visit_failed(&visit, "found", false, mounted_over);
	assert_int_equal(visit.status, STATUS_OK);
	assert_int_equal(visit.vanished_count, 1);
	assert_int_equal(visit.skipped_mount_count, 1);
	file_visit_failed(&visit, "found", false, other_filesystem);
	assert_int_equal(visit.status, STATUS_OK);
	assert_int_equal(visit.skipped_mount_count, 1);
	file_visit_failed(&visit, "found", false, denied);
	assert_int_equal(visit.status, STATUS_ERROR);

	visit.status = STATUS_OK;
	file_visit_failed(&visit, "named", true, vanished);
	assert_int_equal(visit.status, STATUS_ERROR);
	file_visit_free(&visit);
}

static void assert_warning(uint64_t vanished_count, const char *expected)
{
	const struct file_visit visit = { .vanished_count = vanished_count };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	file_visit_warn_of_vanished(&visit);
	text = capture_end();
	assert_string_equal(text, expected);
}

static void test_warning_of_vanished(void **state)
{
	(void)state;
	assert_warning(0, "");
	assert_warning(1, "WARNING: 1 file or directory was deleted, renamed or replaced before "
			  "it could be examined\n");
	assert_warning(2, "WARNING: 2 files or directories were deleted, renamed or replaced "
			  "before they could be examined\n");
}

static void assert_mount_warning(uint64_t count, const char *expected)
{
	const struct file_visit visit = { .skipped_mount_count = count };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	file_visit_warn_of_mounts(&visit);
	text = capture_end();
	assert_string_equal(text, expected);
}

static void test_warning_of_mounts(void **state)
{
	(void)state;
	assert_mount_warning(0, "");
	assert_mount_warning(1, "WARNING: 1 mount point of the same filesystem was not entered, "
				"and its files were not examined\n");
	assert_mount_warning(2, "WARNING: 2 mount points of the same filesystem were not entered, "
				"and their files were not examined\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_with_one_name),
		cmocka_unit_test(test_file_with_several_names),
		cmocka_unit_test(test_paths_that_overlap),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_warning_of_vanished),
		cmocka_unit_test(test_warning_of_mounts),
	};

	return cmocka_run_group_tests_name("file-visit", tests, NULL, NULL);
}
