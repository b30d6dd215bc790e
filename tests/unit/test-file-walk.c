// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "../large-file.h"
#include "fs/file-walk.h"
#include "sys/cleanup.h"
#include "test.h"

/* the mode of a directory whose files others can exchange */
#define OTHERS_WRITE 0730

static char root[32];
static struct path_store store;
static struct path_text text;

/* What the kernel has not got, or forbids: 0, or an errno of openat2(). */
static int openat2_error;
static bool no_proc;
/* What openat2() looks up is at once renamed to another directory, and back again. */
static bool names_leave;
/* A file was opened for reading at once, rather than looked at first. */
static bool opened_at_once;

/* Everything below ROOT is on btrfs; the program is linked with -Wl,--wrap=fstatfs. */
int __wrap_fstatfs(int fd, struct statfs *filesystem) LARGE_FILE_SYMBOL("__wrap_fstatfs");
int __wrap_fstatfs(int fd, struct statfs *filesystem)
{
	char link[32], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	memset(filesystem, 0, sizeof(*filesystem));
	if (strncmp(path, root, strlen(root)) == 0)
		filesystem->f_type = BTRFS_SUPER_MAGIC;
	else if (strncmp(path, "/proc/", 6) == 0 && !no_proc)
		filesystem->f_type = PROC_SUPER_MAGIC;
	else
		filesystem->f_type = EXT4_SUPER_MAGIC;
	return 0;
}

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	const struct open_how *how = (const struct open_how *)c;

	if (number != SYS_openat2)
		return __real_syscall(number, a, b, c, d, e);
	if (!(how->flags & (O_PATH | O_DIRECTORY)))
		opened_at_once = true;
	/* the kernel looks whether what it found is within the directory where it was asked to */
	if (names_leave && how->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) {
		errno = EXDEV;
		return -1;
	}
	if (!openat2_error)
		return __real_syscall(number, a, b, c, d, e);
	errno = openat2_error;
	return -1;
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
	openat2_error = 0;
	no_proc = false;
	names_leave = false;
	opened_at_once = false;
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
		"a",	   "a-again",	"link",	   "dir-link", "fifo",	"dir/b",
		"dir/c\n", "dir/sub/d", "dir/sub", "dir",      "empty", "",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		remove(in_root(names[i]));
	path_text_free(&text);
	return access(root, F_OK) == 0 || store.size ? -1 : 0;
}

static const char *path_of(const struct found_file *file)
{
	const char *path = path_text_of(&text, file->directory, file->name);

	assert_non_null(path);
	return path;
}

static struct file_walk *start(char *const *paths, bool recursive)
{
	const struct file_walk_options options = {
		.store = &store,
		.paths = paths,
		.recursive = recursive,
	};
	struct file_walk *walk;

	assert_int_equal(file_walk_new(&walk, &options), 0);
	return walk;
}

static void assert_named(struct file_walk *walk, const char *path, int error)
{
	struct found_file file;

	assert_int_equal(file_walk_next(walk, &file), 1);
	assert_string_equal(path_of(&file), path);
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
		found[found_count++] = strdup(path_of(&file) + strlen(root) + 1);
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

TEST_WITH(test_named_files, setup, teardown)
{
	char *const paths[] = { in_root("dir/b"), in_root("dir"), in_root("fifo"), NULL };
	struct file_walk *walk = start(paths, false);

	assert_named(walk, paths[0], 0);
	assert_named(walk, paths[1], 0);
	assert_named(walk, paths[2], 0);
	assert_end(walk);
}

TEST_WITH(test_type, setup, teardown)
{
	/* a symbolic link that was named is followed */
	char *const paths[] = { in_root("link"), in_root("dir"), in_root("fifo"), NULL };
	static const mode_t expected[] = { S_IFREG, S_IFDIR, S_IFIFO };
	struct file_walk *walk = start(paths, false);
	struct found_file file;

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(file_walk_next(walk, &file), 1);
		assert_int_equal(file.type, expected[i]);
	}
	assert_end(walk);
}

TEST_WITH(test_no_paths, setup, teardown)
{
	char *const paths[] = { NULL };

	assert_end(start(paths, true));
}

/* What cannot be looked at is told, and the rest still comes. */
TEST_WITH(test_errors, setup, teardown)
{
	char *const paths[] = {
		in_root("missing"), in_root("a/below"), "", "/tmp", in_root("a"), NULL,
	};

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
TEST_WITH(test_recursive, setup, teardown)
{
	static const char *const below_root[] = { "a", "a-again", "dir/b", "dir/c\n", "dir/sub/d" };
	static const char *const below_dir[] = { "dir/b", "dir/c\n", "dir/sub/d" };
	char *const paths[] = { root, NULL };
	char *const dir[] = { in_root("dir"), NULL };

	assert_found(start(paths, true), below_root, 5);
	assert_found(start(dir, true), below_dir, 3);
}

TEST_WITH(test_recursive_empty_directory, setup, teardown)
{
	char *const paths[] = { in_root("empty"), NULL };

	assert_end(start(paths, true));
}

TEST_WITH(test_recursive_through_a_named_link, setup, teardown)
{
	static const char *const expected[] = { "dir-link/b", "dir-link/c\n", "dir-link/sub/d" };
	char *const paths[] = { in_root("dir-link"), NULL };

	assert_found(start(paths, true), expected, 3);
}

TEST_WITH(test_recursive_with_a_named_file, setup, teardown)
{
	char *const paths[] = { in_root("a"), NULL };
	struct file_walk *walk = start(paths, true);

	assert_named(walk, paths[0], 0);
	assert_end(walk);
}

/* What leads to a file counts, and not how often it was found. */
TEST_WITH(test_arguments, setup, teardown)
{
	char *const paths[] = { in_root("a"), in_root("missing"), root, NULL };
	struct file_walk *walk = start(paths, true);
	size_t counts[3] = { 0 };
	struct found_file file;

	while (file_walk_next(walk, &file) > 0) {
		assert_in_range(file.argument, 0, 2);
		counts[file.argument]++;
	}
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	assert_in_range(counts[2], 2, SIZE_MAX);
	file_walk_free(walk);
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
	const struct file_walk_options options = {
		.store = &store,
		.list = list,
		.recursive = recursive,
	};
	struct file_walk *walk;

	assert_int_equal(file_walk_new(&walk, &options), 0);
	return walk;
}

TEST_WITH(test_list, setup, teardown)
{
	char bytes[256];
	const char *a = in_root("a"), *b = in_root("dir/c\n");
	/* an empty name in the middle, and no NUL at the end */
	int size = snprintf(bytes, sizeof(bytes), "%s%c%c%s", a, 0, 0, b);
	FILE *list = list_of(bytes, size);
	struct file_walk *walk = start_list(list, false);

	assert_named(walk, a, 0);
	assert_named(walk, "", -ENOENT);
	assert_named(walk, b, 0);
	assert_end(walk);
}

TEST_WITH(test_list_with_directories, setup, teardown)
{
	static const char *const expected[] = { "dir/sub/d" };
	char bytes[256];
	int size = snprintf(bytes, sizeof(bytes), "%s%c%s", in_root("dir/sub"), 0,
			    in_root("empty"));
	FILE *list = list_of(bytes, size);

	assert_found(start_list(list, true), expected, 1);
}

TEST_WITH(test_empty_list, setup, teardown)
{
	FILE *list = list_of("", 0);

	assert_end(start_list(list, true));
}

TEST_WITH(test_list_that_cannot_be_read, setup, teardown)
{
	FILE *list = fopen(root, "r");
	struct file_walk *walk = start_list(list, false);
	struct found_file file;

	assert_non_null(list);
	assert_int_equal(file_walk_next(walk, &file), -EISDIR);
	file_walk_free(walk);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* A walk that ends early leaves nothing open. */
TEST_WITH(test_free_in_the_middle, setup, teardown)
{
	char *const paths[] = { in_root("a"), root, NULL };
	struct file_walk *walk;
	struct found_file file;
	int before = lowest_free_descriptor();

	for (int count = 1; count <= 3; count++) {
		walk = start(paths, true);
		for (int i = 0; i < count; i++)
			assert_int_equal(file_walk_next(walk, &file), 1);
		file_walk_free(walk);
		assert_int_equal(lowest_free_descriptor(), before);
	}
}

/* The walk's next file whose path ends in NAME, kept. */
static struct found_file find(struct file_walk *walk, const char *name)
{
	struct found_file file, kept;

	do {
		assert_int_equal(file_walk_next(walk, &file), 1);
	} while (strcmp(strrchr(path_of(&file), '/') + 1, name) != 0);
	assert_int_equal(found_file_keep(walk, &file, &kept), 0);
	return kept;
}

static void assert_opens(const struct file_walk *walk, const struct found_file *file, ino_t inode)
{
	struct stat status, opened;
	int fd = file_walk_open(walk, file, &status);
	char byte;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &opened), 0);
	assert_int_equal(status.st_ino, inode);
	assert_int_equal(opened.st_ino, inode);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
}

static void assert_opens_not(const struct file_walk *walk, const struct found_file *file, int error)
{
	int before = lowest_free_descriptor();
	struct stat status;

	assert_int_equal(file_walk_open(walk, file, &status), error);
	assert_int_equal(lowest_free_descriptor(), before);
}

static ino_t inode_of(const char *name)
{
	struct stat status;

	assert_int_equal(lstat(in_root(name), &status), 0);
	return status.st_ino;
}

static void replace(const char *name, const char *by)
{
	assert_int_equal(unlink(in_root(name)), 0);
	assert_int_equal(rename(in_root(by), in_root(name)), 0);
}

/* What was found in a directory of this MODE is opened there, wherever that is by now. */
static void check_found_files(mode_t mode)
{
	char *const paths[] = { in_root("dir"), NULL };
	struct file_walk *walk;
	struct found_file b;
	ino_t inode = inode_of("dir/b");

	assert_int_equal(chmod(in_root("dir"), mode), 0);
	walk = start(paths, true);
	b = find(walk, "b");
	assert_opens(walk, &b, inode);
	assert_int_equal(rename(in_root("dir"), in_root("moved")), 0);
	assert_int_equal(mkdir(in_root("dir"), 0700), 0);
	assert_int_equal(mkfifo(in_root("dir/b"), 0600), 0);
	assert_opens(walk, &b, inode);
	assert_int_equal(remove(in_root("dir/b")), 0);
	assert_int_equal(remove(in_root("dir")), 0);
	assert_int_equal(rename(in_root("moved"), in_root("dir")), 0);

	/* a link, a FIFO and a directory in its place; the right ones for these follow */
	assert_int_equal(unlink(in_root("dir/b")), 0);
	assert_int_equal(symlink("../a", in_root("dir/b")), 0);
	assert_opens_not(walk, &b, -ENOENT);
	replace("dir/b", "fifo");
	assert_opens_not(walk, &b, -ENOENT);
	assert_int_equal(unlink(in_root("dir/b")), 0);
	assert_opens_not(walk, &b, -ENOENT);
	assert_int_equal(mkdir(in_root("dir/b"), 0700), 0);
	assert_opens_not(walk, &b, -ENOENT);
	assert_int_equal(rmdir(in_root("dir/b")), 0);

	/* a file that is saved by an editor */
	assert_int_equal(rename(in_root("a"), in_root("dir/b")), 0);
	assert_opens(walk, &b, inode_of("dir/b"));
	found_file_drop(&b);
	file_walk_free(walk);
}

TEST_WITH(test_open_found, setup, teardown)
{
	check_found_files(OTHERS_WRITE);
	assert_false(opened_at_once);
}

TEST_WITH(test_open_found_where_nobody_else_writes, setup, teardown)
{
	check_found_files(0700);
	/* in a user namespace that may be anybody's number */
	assert_int_equal(opened_at_once, geteuid() != 65534);
}

static bool is_opened_at_once(struct file_walk *walk, const char *name)
{
	struct found_file file = find(walk, name);

	opened_at_once = false;
	assert_opens(walk, &file, inode_of(path_of(&file) + strlen(root) + 1));
	found_file_drop(&file);
	return opened_at_once;
}

/* Each directory for itself: neither what is above nor what is below counts. */
TEST_WITH(test_who_writes_in_which_directory, setup, teardown)
{
	char *const paths[] = { in_root("dir"), NULL };
	struct file_walk *walk;

	assert_int_equal(chmod(in_root("dir/sub"), OTHERS_WRITE), 0);
	walk = start(paths, true);
	assert_false(is_opened_at_once(walk, "d"));
	file_walk_free(walk);
	walk = start(paths, true);
	assert_int_equal(is_opened_at_once(walk, "b"), geteuid() != 65534);
	file_walk_free(walk);

	assert_int_equal(chmod(in_root("dir/sub"), 0700), 0);
	assert_int_equal(chmod(in_root("dir"), OTHERS_WRITE), 0);
	walk = start(paths, true);
	assert_int_equal(is_opened_at_once(walk, "d"), geteuid() != 65534);
	file_walk_free(walk);
	walk = start(paths, true);
	assert_false(is_opened_at_once(walk, "b"));
	file_walk_free(walk);
}

/* -EXDEV is kept for mounts, which are left out without a word. */
TEST_WITH(test_what_is_renamed_is_no_mount, setup, teardown)
{
	static const char *const below_root[] = { "a", "a-again", "dir/b", "dir/c\n", "dir/sub/d" };
	char *const paths[] = { root, NULL };

	names_leave = true;
	check_found_files(OTHERS_WRITE);
	make_file("a");
	assert_found(start(paths, true), below_root, ARRAY_SIZE(below_root));
}

TEST_WITH(test_open_found_without_openat2, setup, teardown)
{
	openat2_error = ENOSYS;
	check_found_files(OTHERS_WRITE);
}

TEST_WITH(test_open_found_with_openat2_forbidden, setup, teardown)
{
	openat2_error = EPERM;
	check_found_files(OTHERS_WRITE);
}

TEST_WITH(test_open_found_without_proc, setup, teardown)
{
	no_proc = true;
	check_found_files(OTHERS_WRITE);
}

TEST_WITH(test_open_found_with_neither, setup, teardown)
{
	openat2_error = ENOSYS;
	no_proc = true;
	check_found_files(OTHERS_WRITE);
}

/* What was named is what it was when it was named, by whatever links. */
TEST_WITH(test_open_named, setup, teardown)
{
	char *const paths[] = { in_root("link"), NULL };
	struct file_walk *walk = start(paths, false);
	struct found_file link = find(walk, "link");
	ino_t inode = inode_of("a");

	assert_opens(walk, &link, inode);
	replace("link", "fifo");
	assert_opens(walk, &link, inode);
	found_file_drop(&link);
	file_walk_free(walk);
}

TEST_WITH(test_open_named_without_proc, setup, teardown)
{
	char *const paths[] = { in_root("link"), NULL };
	struct file_walk *walk;
	struct found_file link;

	no_proc = true;
	walk = start(paths, false);
	link = find(walk, "link");
	assert_opens(walk, &link, inode_of("a"));
	replace("link", "fifo");
	assert_opens_not(walk, &link, -ENOENT);
	unlink(in_root("link"));
	assert_opens_not(walk, &link, -ENOENT);
	found_file_drop(&link);
	file_walk_free(walk);
}

/*
 * A directory that is gone or replaced when it is entered. Its parent has one other directory, which is
 * entered first: the file in that one shows that both names were read.
 */
static void check_vanished_directory(void (*replace_directory)(const char *name))
{
	static const char *const names[] = { "pair", "pair/0", "pair/1" };
	char *const paths[] = { in_root("pair"), NULL };
	int vanished = 0, found = 0, ret;
	struct found_file file;
	struct file_walk *walk;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(mkdir(in_root(names[i]), 0700), 0);
	make_file("pair/0/file");
	make_file("pair/1/file");
	make_file("empty/file");
	walk = start(paths, true);
	while ((ret = file_walk_next(walk, &file)) > 0) {
		if (file.error) {
			assert_int_equal(file.error, -ENOENT);
			vanished++;
		} else if (!found++) {
			replace_directory(strstr(path_of(&file), "pair/0/") ? "pair/1" : "pair/0");
		}
	}
	assert_int_equal(ret, 0);
	assert_int_equal(found, 1);
	assert_int_equal(vanished, 1);
	file_walk_free(walk);

	remove(in_root("pair/0/file"));
	remove(in_root("pair/1/file"));
	remove(in_root("empty/file"));
	for (size_t i = ARRAY_SIZE(names); i-- > 0;)
		remove(in_root(names[i]));
}

static void remove_directory(const char *name)
{
	char file[16];

	snprintf(file, sizeof(file), "%s/file", name);
	assert_int_equal(remove(in_root(file)), 0);
	assert_int_equal(remove(in_root(name)), 0);
}

static void link_directory(const char *name)
{
	remove_directory(name);
	assert_int_equal(symlink("../empty", in_root(name)), 0);
}

static void file_for_directory(const char *name)
{
	remove_directory(name);
	make_file(name);
}

TEST_WITH(test_directory_removed, setup, teardown)
{
	check_vanished_directory(remove_directory);
}

TEST_WITH(test_directory_replaced, setup, teardown)
{
	check_vanished_directory(link_directory);
	check_vanished_directory(file_for_directory);
}

/* A kept file keeps its directory, as long as it is kept. */
TEST_WITH(test_keep, setup, teardown)
{
	char *const paths[] = { in_root("dir/sub"), NULL };
	int before = lowest_free_descriptor();
	struct file_walk *walk = start(paths, true);
	struct found_file first = find(walk, "d"), second, next;

	assert_int_equal(found_file_keep(walk, &first, &second), 0);
	assert_int_equal(file_walk_next(walk, &next), 0);
	found_file_drop(&first);
	assert_opens(walk, &second, inode_of("dir/sub/d"));
	found_file_drop(&second);
	file_walk_free(walk);
	assert_int_equal(lowest_free_descriptor(), before);
}
