// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "file-walk.h"
#include "test.h"

static char root[32];

/* Everything below ROOT is on btrfs; the program is linked with -Wl,--wrap=statfs. */
int __wrap_statfs(const char *path, struct statfs *filesystem);
int __wrap_statfs(const char *path, struct statfs *filesystem)
{
	memset(filesystem, 0, sizeof(*filesystem));
	filesystem->f_type = strncmp(path, root, strlen(root)) == 0 ? BTRFS_SUPER_MAGIC :
								       EXT4_SUPER_MAGIC;
	return 0;
}

/* ROOT/NAME, valid for the next few calls. */
static char *in_root(const char *name)
{
	static char paths[8][64];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void make_file(const char *name)
{
	int fd = open(in_root(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-file-walk-XXXXXX");
	assert_non_null(mkdtemp(root));
	make_file("a");
	assert_int_equal(link(in_root("a"), in_root("a-again")), 0);
	assert_int_equal(symlink("a", in_root("link")), 0);
	assert_int_equal(symlink("dir", in_root("dir-link")), 0);
	assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
	assert_int_equal(mkdir(in_root("dir"), 0700), 0);
	make_file("dir/b");
	make_file("dir/c\n");
	assert_int_equal(mkdir(in_root("dir/sub"), 0700), 0);
	make_file("dir/sub/d");
	assert_int_equal(mkdir(in_root("empty"), 0700), 0);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {
		"a", "a-again", "link", "dir-link", "fifo", "dir/b", "dir/c\n", "dir/sub/d",
		"dir/sub", "dir", "empty", "",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		remove(in_root(names[i]));
	return access(root, F_OK) == 0 ? -1 : 0;
}

static struct file_walk *start(char *const *paths, bool recursive)
{
	const struct file_walk_options options = { .paths = paths, .recursive = recursive };
	struct file_walk *walk;

	assert_int_equal(file_walk_new(&walk, &options), 0);
	return walk;
}

static void assert_named(struct file_walk *walk, const char *path, int error)
{
	struct found_file file;

	assert_int_equal(file_walk_next(walk, &file), 1);
	assert_string_equal(file.path, path);
	assert_true(file.named);
	assert_int_equal(file.error, error);
}

static void assert_end(struct file_walk *walk)
{
	struct found_file file;

	assert_int_equal(file_walk_next(walk, &file), 0);
	file_walk_free(walk);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of the rest of the walk, in any order, are those of EXPECTED. */
static void assert_found(struct file_walk *walk, const char *const *expected, size_t count)
{
	char *found[16];
	size_t found_count = 0;
	struct found_file file;
	int ret;

	while ((ret = file_walk_next(walk, &file)) > 0) {
		assert_int_equal(file.error, 0);
		assert_false(file.named);
		assert_int_equal(file.type, S_IFREG);
		assert_true(found_count < ARRAY_SIZE(found));
		found[found_count++] = strdup(file.path + strlen(root) + 1);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(found_count, count);
	qsort(found, found_count, sizeof(*found), compare_strings);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(found[i], expected[i]);
		free(found[i]);
	}
	file_walk_free(walk);
}

static void test_named_files(void **state)
{
	char *const paths[] = { in_root("dir/b"), in_root("dir"), in_root("fifo"), NULL };
	struct file_walk *walk = start(paths, false);

	(void)state;
	assert_named(walk, paths[0], 0);
	assert_named(walk, paths[1], 0);
	assert_named(walk, paths[2], 0);
	assert_end(walk);
}

static void test_type(void **state)
{
	/* a symbolic link that was named is followed */
	char *const paths[] = { in_root("link"), in_root("dir"), in_root("fifo"), NULL };
	static const mode_t expected[] = { S_IFREG, S_IFDIR, S_IFIFO };
	struct file_walk *walk = start(paths, false);
	struct found_file file;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(file_walk_next(walk, &file), 1);
		assert_int_equal(file.type, expected[i]);
	}
	assert_end(walk);
}

static void test_no_paths(void **state)
{
	char *const paths[] = { NULL };

	(void)state;
	assert_end(start(paths, true));
}

/* What cannot be looked at is told, and the rest still comes. */
static void test_errors(void **state)
{
	char *const paths[] = {
		in_root("missing"), in_root("a/below"), "", "/tmp", in_root("a"), NULL,
	};

	(void)state;
	for (int recursive = 0; recursive <= 1; recursive++) {
		struct file_walk *walk = start(paths, recursive);

		assert_named(walk, paths[0], -ENOENT);
		assert_named(walk, paths[1], -ENOTDIR);
		assert_named(walk, "", -ENOENT);
		assert_named(walk, "/tmp", -ENOTTY);
		assert_named(walk, paths[4], 0);
		assert_end(walk);
	}
}

/* Regular files only, each name of them. */
static void test_recursive(void **state)
{
	static const char *const below_root[] = { "a", "a-again", "dir/b", "dir/c\n", "dir/sub/d" };
	static const char *const below_dir[] = { "dir/b", "dir/c\n", "dir/sub/d" };
	char *const paths[] = { root, NULL };
	char *const dir[] = { in_root("dir"), NULL };

	(void)state;
	assert_found(start(paths, true), below_root, 5);
	assert_found(start(dir, true), below_dir, 3);
}

static void test_recursive_empty_directory(void **state)
{
	char *const paths[] = { in_root("empty"), NULL };

	(void)state;
	assert_end(start(paths, true));
}

static void test_recursive_through_a_named_link(void **state)
{
	static const char *const expected[] = { "dir-link/b", "dir-link/c\n", "dir-link/sub/d" };
	char *const paths[] = { in_root("dir-link"), NULL };

	(void)state;
	assert_found(start(paths, true), expected, 3);
}

static void test_recursive_with_a_named_file(void **state)
{
	char *const paths[] = { in_root("a"), NULL };
	struct file_walk *walk = start(paths, true);

	(void)state;
	assert_named(walk, paths[0], 0);
	assert_end(walk);
}

static FILE *list_of(const char *bytes, size_t size)
{
	FILE *list = tmpfile();

	assert_non_null(list);
	assert_int_equal(fwrite(bytes, 1, size, list), size);
	rewind(list);
	return list;
}

static struct file_walk *start_list(FILE *list, bool recursive)
{
	const struct file_walk_options options = { .list = list, .recursive = recursive };
	struct file_walk *walk;

	assert_int_equal(file_walk_new(&walk, &options), 0);
	return walk;
}

static void test_list(void **state)
{
	char bytes[256];
	const char *a = in_root("a"), *b = in_root("dir/c\n");
	/* an empty name in the middle, and no NUL at the end */
	int size = snprintf(bytes, sizeof(bytes), "%s%c%c%s", a, 0, 0, b);
	FILE *list = list_of(bytes, size);
	struct file_walk *walk = start_list(list, false);

	(void)state;
	assert_named(walk, a, 0);
	assert_named(walk, "", -ENOENT);
	assert_named(walk, b, 0);
	assert_end(walk);
	fclose(list);
}

static void test_list_with_directories(void **state)
{
	static const char *const expected[] = { "dir/sub/d" };
	char bytes[256];
	int size = snprintf(bytes, sizeof(bytes), "%s%c%s", in_root("dir/sub"), 0, in_root("empty"));
	FILE *list = list_of(bytes, size);

	(void)state;
	assert_found(start_list(list, true), expected, 1);
	fclose(list);
}

static void test_empty_list(void **state)
{
	FILE *list = list_of("", 0);

	(void)state;
	assert_end(start_list(list, true));
	fclose(list);
}

static void test_list_that_cannot_be_read(void **state)
{
	FILE *list = fopen(root, "r");
	struct file_walk *walk = start_list(list, false);
	struct found_file file;

	(void)state;
	assert_non_null(list);
	assert_int_equal(file_walk_next(walk, &file), -EISDIR);
	file_walk_free(walk);
	fclose(list);
}

/* A walk that ends early leaves nothing open. */
static void test_free_in_the_middle(void **state)
{
	char *const paths[] = { root, NULL };
	struct file_walk *walk;
	struct found_file file;
	int before = dup(0), after;

	(void)state;
	close(before);
	walk = start(paths, true);
	assert_int_equal(file_walk_next(walk, &file), 1);
	file_walk_free(walk);
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

#define WALK_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WALK_TEST(test_named_files),
		WALK_TEST(test_type),
		WALK_TEST(test_no_paths),
		WALK_TEST(test_errors),
		WALK_TEST(test_recursive),
		WALK_TEST(test_recursive_empty_directory),
		WALK_TEST(test_recursive_through_a_named_link),
		WALK_TEST(test_recursive_with_a_named_file),
		WALK_TEST(test_list),
		WALK_TEST(test_list_with_directories),
		WALK_TEST(test_empty_list),
		WALK_TEST(test_list_that_cannot_be_read),
		WALK_TEST(test_free_in_the_middle),
	};

	return cmocka_run_group_tests_name("file-walk", tests, NULL, NULL);
}
