// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/exit-status.h"
#include "ui/files.h"

static char *one_path[] = { (char *)"file", NULL };
static char *two_paths[] = { (char *)"file", (char *)"other", NULL };

static struct global_options text_options = { .verbosity = -1 };
static struct global_options json_options = {
	.json = true, .format = FORMAT_JSON, .json_style = JSON_DOCUMENT, .verbosity = -1
};
static struct global_options line_options = {
	.json = true, .format = FORMAT_NDJSON, .json_style = JSON_LINES, .verbosity = -1
};

static struct file_options options_of(struct global_options *global)
{
	return (struct file_options){ .global = global, .paths = one_path, .path_count = 1 };
}

/* -- files that were found before -- */

static struct stat status_of(dev_t device, ino_t inode, nlink_t links)
{
	return (struct stat){ .st_dev = device, .st_ino = inode, .st_nlink = links };
}

static bool is_first(struct files *files, struct stat status)
{
	int ret = files_is_first(files, &status);

	assert_true(ret == 0 || ret == 1);
	return ret;
}

TEST(test_file_with_one_name)
{
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, NULL), 0);
	assert_true(is_first(&files, status_of(1, 10, 1)));
	/* a walk comes to it once, so it need not be remembered */
	assert_true(is_first(&files, status_of(1, 10, 1)));
	files_end(&files, 0);
}

TEST(test_file_with_several_names)
{
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, NULL), 0);
	assert_true(is_first(&files, status_of(1, 10, 2)));
	assert_false(is_first(&files, status_of(1, 10, 2)));
	/* another subvolume's file of the same number */
	assert_true(is_first(&files, status_of(2, 10, 2)));
	files_end(&files, 0);
}

TEST(test_paths_that_overlap)
{
	const struct file_options options = { .global = &text_options,
					      .paths = two_paths,
					      .path_count = 2 };
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, NULL), 0);
	assert_true(is_first(&files, status_of(1, 10, 1)));
	assert_false(is_first(&files, status_of(1, 10, 1)));
	files_end(&files, 0);
}

TEST(test_check)
{
	static const struct {
		struct found_file file;
		bool is_fine;
		int error;
	} cases[] = {
		{ { .type = S_IFREG }, true, 0 },   { { .type = S_IFDIR }, false, 0 },
		{ { .type = S_IFIFO }, false, 0 },  { { .type = S_IFCHR }, false, 0 },
		{ { .error = -ENOTTY }, false, 0 }, { { .error = -EACCES }, false, -EACCES },
		{ { .error = -ESTALE }, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct failure failure = found_file_check(&cases[i].file);

		assert_int_equal(!failure.action, cases[i].is_fine);
		assert_int_equal(failure.error, cases[i].error);
	}
}

TEST(test_failed)
{
	const struct failure vanished = { "cannot open", -ENOENT };
	const struct failure mounted_over = { "cannot open", -EXDEV };
	const struct failure other_filesystem = { "cannot open", -ENODEV };
	const struct failure denied = { "cannot open", -EACCES };
	const struct found_file found = { .name = "found" };
	const struct found_file named = { .name = "named", .named = true };
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, NULL), 0);
	files_failed(&files, &found, vanished);
	assert_int_equal(files.status, STATUS_OK);
	assert_int_equal(files.vanished_count, 1);
	files_failed(&files, &found, mounted_over);
	assert_int_equal(files.status, STATUS_OK);
	assert_int_equal(files.vanished_count, 1);
	assert_int_equal(files.skipped_mount_count, 1);
	files_failed(&files, &found, other_filesystem);
	assert_int_equal(files.status, STATUS_OK);
	assert_int_equal(files.skipped_mount_count, 1);
	files_failed(&files, &found, denied);
	assert_int_equal(files.status, STATUS_ERROR);

	files.status = STATUS_OK;
	files_failed(&files, &named, vanished);
	assert_int_equal(files.status, STATUS_ERROR);
	files_end(&files, 0);
}

/* Those of a walk that found no other error. */
static void assert_warnings(uint64_t vanished_count, uint64_t mount_count, const char *expected)
{
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(files_begin(&files, NULL), 0);
	files.vanished_count = vanished_count;
	files.skipped_mount_count = mount_count;
	assert_int_equal(files_end(&files, 0), STATUS_OK);
	text = capture_end();
	assert_string_equal(text, expected);
}

TEST(test_warning_of_vanished)
{
	assert_warnings(0, 0, "");
	assert_warnings(1, 0,
			"WARNING: 1 file or directory was deleted, renamed or replaced before "
			"it could be examined\n");
	assert_warnings(2, 0,
			"WARNING: 2 files or directories were deleted, renamed or replaced "
			"before they could be examined\n");
}

TEST(test_warning_of_mounts)
{
	assert_warnings(0, 1,
			"WARNING: 1 mount point of the same filesystem was not entered, "
			"and its files were not examined\n");
	assert_warnings(0, 2,
			"WARNING: 2 mount points of the same filesystem were not entered, "
			"and their files were not examined\n");
}

/* -- the loop -- */

/* A command that only counts what it is called for. */
struct counter {
	unsigned int reported;
};

static struct failure count_file(void *data, const struct opened_file *file)
{
	struct counter *counter = data;

	(void)file;
	counter->reported++;
	return NO_FAILURE;
}

static const struct file_ops counter_ops = { .report = count_file };

/* Returns the status; the caller frees what was printed. */
static int report(struct file_options *options, struct counter *counter, char **ret_text)
{
	struct files files = { .options = options };
	int ret, status;

	capture_begin();
	ret = files_begin(&files, "files");
	if (ret == 0)
		ret = files_each(&files, &counter_ops, counter);
	files_end_results(&files);
	status = files_end(&files, ret);
	*ret_text = capture_end();
	return status;
}

TEST(test_no_file)
{
	struct file_options options = { .global = &json_options, .paths_optional = true };
	struct counter counter = { 0 };
	CLEANUP_FREE char *text = NULL;

	assert_int_equal(report(&options, &counter, &text), STATUS_OK);
	assert_int_equal(counter.reported, 0);
	assert_string_equal(text, "{\n"
				  "  \"__header\": {\n"
				  "    \"version\": \"1\"\n"
				  "  },\n"
				  "  \"files\": []\n"
				  "}\n");
}

TEST(test_file_that_is_missing)
{
	char *paths[] = { (char *)"/nonexistent/file", NULL };
	struct file_options options = { .global = &line_options, .paths = paths, .path_count = 1 };
	struct counter counter = { 0 };
	CLEANUP_FREE char *text = NULL;

	assert_int_equal(report(&options, &counter, &text), STATUS_ERROR);
	assert_int_equal(counter.reported, 0);
	/* Standard error is not buffered. */
	assert_string_equal(text, "ERROR: cannot access '/nonexistent/file': "
				  "No such file or directory\n"
				  "{\"__header\":{\"version\":\"1\"}}\n");
}

TEST(test_list_that_is_missing)
{
	struct file_options options = { .global = &text_options, .files0_from = "/nonexistent" };
	struct counter counter = { 0 };
	CLEANUP_FREE char *text = NULL;

	assert_int_equal(report(&options, &counter, &text), STATUS_ERROR);
	assert_string_equal(text, "ERROR: cannot read the paths from '/nonexistent': "
				  "No such file or directory\n");
}

/* -- the report -- */

TEST(test_nothing_was_begun)
{
	const struct file_options options = options_of(&json_options);
	struct files files = { .options = &options };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(files_end(&files, -EACCES), STATUS_ERROR);
	text = capture_end();
	assert_string_equal(text, "ERROR: cannot continue: Permission denied\n");
}

TEST(test_status_of_files)
{
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, "files"), 0);
	files.status = STATUS_CHECK_FAILED;
	assert_int_equal(files_end(&files, 0), STATUS_CHECK_FAILED);
}

TEST(test_total_in_text)
{
	const struct file_options options = options_of(&text_options);
	struct files files = { .options = &options };

	assert_int_equal(files_begin(&files, "files"), 0);
	assert_true(files_have_total(&files, 0));
	assert_false(files_have_total(&files, -EROFS));
	/* it was the only one */
	files.has_failed = true;
	assert_false(files_have_total(&files, 0));
	files.file_count = 1;
	assert_true(files_have_total(&files, 0));
	files_end(&files, 0);
}

/* It is complete even if the walk failed; then its sums are null. */
TEST(test_total_in_json)
{
	const struct file_options options = options_of(&line_options);
	struct files files = { .options = &options };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(files_begin(&files, "files"), 0);
	files.has_failed = true;
	files_end_results(&files);
	assert_true(files_have_total(&files, -EROFS));
	files_begin_json_total(&files);
	json_add_uint(&files.out.json, "bytes", 1);
	files_end_json_total(&files);
	assert_false(files.out.json.has_no_numbers);
	assert_int_equal(files_end(&files, -EROFS), STATUS_ERROR);
	text = capture_end();
	assert_non_null(strstr(text, "\"total\":{\"file_count\":"));
	assert_non_null(strstr(text, "\"bytes\":null"));
	assert_non_null(strstr(text, "ERROR: cannot continue: Read-only file system\n"));
}

/* In another loop over the same files the same ones must fail. */
TEST(test_again)
{
	const struct file_options options = options_of(&text_options);
	const struct failure denied = { "cannot open", -EACCES };
	const struct found_file found = { .name = "found" };
	struct files first, files = { .options = &options, .walks_again = true };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(files_begin(&files, NULL), 0);
	files_failed(&files, &found, denied);
	files.status = STATUS_OK;
	assert_int_equal(files_begin_again(&files, &first), 0);
	files_failed(&files, &found, denied);
	assert_int_equal(files_end_again(&files, &first, 0), 0);
	assert_int_equal(files.status, STATUS_ERROR);
	assert_int_equal(files_begin_again(&files, &first), 0);
	assert_int_equal(files_end_again(&files, &first, 0), -EAGAIN);
	assert_int_equal(files_begin_again(&files, &first), 0);
	assert_int_equal(files_end_again(&files, &first, -ENOMEM), -ENOMEM);
	files_end(&files, 0);
	text = capture_end();
	/* only the first time */
	assert_string_equal(text, "ERROR: cannot open 'found': Permission denied\n");
}
