// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/marked-process.h"
#include "test.h"

static char root[] = "/tmp/test-marked-process-XXXXXX";
static char mark[PROCESS_MARK_SIZE];

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void write_users(const char *id, unsigned int real, unsigned int effective,
			unsigned int saved, unsigned int of_files)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "%s/status", id);
	snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nUid:\t%u\t%u\t%u\t%u\nGid:\t0\n",
		 mark, real, effective, saved, of_files);
	write_file(path, text);
}

/* A process as /proc has it, in the current directory, which is ROOT. */
static void make_process(const char *id, const char *name, char state, int threads)
{
	char path[64], text[128];

	assert_int_equal(mkdir(id, 0700), 0);
	snprintf(path, sizeof(path), "%s/task", id);
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 0; i < threads; i++) {
		snprintf(path, sizeof(path), "%s/task/%d", id, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	write_users(id, geteuid(), geteuid(), geteuid(), geteuid());
	snprintf(path, sizeof(path), "%s/comm", id);
	snprintf(text, sizeof(text), "%s\n", name);
	write_file(path, text);
	snprintf(path, sizeof(path), "%s/stat", id);
	snprintf(text, sizeof(text), "%s (%s) %c 1 1 1", id, name, state);
	write_file(path, text);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	process_mark_of("database", mark);
	return mkdtemp(root) && chdir(root) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return chdir("/") == 0 ? system(command) : -1;
}

TEST_WITH(test_marks, setup, teardown)
{
	char other[PROCESS_MARK_SIZE];

	process_mark_of("database2", other);
	assert_int_equal(strlen(mark), PROCESS_MARK_SIZE - 1);
	assert_string_not_equal(mark, other);
}

TEST_WITH(test_found, setup, teardown)
{
	make_process("7", "fpcheck", 'D', 1);
	make_process("9", ") Z 1", 'S', 1);
	assert_int_equal(process_find_marked(root, mark), 0);
	make_process("12", mark, 'D', 1);
	assert_int_equal(process_find_marked(root, mark), 12);
}

/* The first thread has ended, and one of the others cannot. */
TEST_WITH(test_thread_left, setup, teardown)
{
	make_process("12", mark, 'Z', 2);
	assert_int_equal(process_find_marked(root, mark), 12);
}

TEST_WITH(test_ended, setup, teardown)
{
	make_process("12", mark, 'Z', 1);
	make_process("x", mark, 'D', 1);
	assert_int_equal(process_find_marked(root, mark), 0);
	assert_int_equal(process_find_marked("/missing", mark), 0);
}

/* A setuid program has the effective user of the caller. */
TEST_WITH(test_other_user, setup, teardown)
{
	const unsigned int own = geteuid(), other = own + 1;

	make_process("12", mark, 'D', 1);
	for (int i = 0; i < 4; i++) {
		write_users("12", i == 0 ? other : own, i == 1 ? other : own, i == 2 ? other : own,
			    i == 3 ? other : own);
		assert_int_equal(process_find_marked(root, mark), 0);
	}
	write_users("12", own, own, own, own);
	assert_int_equal(process_find_marked(root, mark), 12);
	assert_int_equal(unlink("12/status"), 0);
	assert_int_equal(process_find_marked(root, mark), 0);
}

TEST_WITH(test_other_program, setup, teardown)
{
	make_process("12", mark, 'D', 1);
	assert_int_equal(symlink("/bin/sh", "12/exe"), 0);
	assert_int_equal(process_find_marked(root, mark), 0);
	assert_int_equal(unlink("12/exe"), 0);
	assert_int_equal(symlink("/proc/self/exe", "12/exe"), 0);
	assert_int_equal(process_find_marked(root, mark), 12);
}

/* A file whose path is PROGRAM's with SUFFIX and what the kernel adds after an upgrade. */
static void make_program(char path[PATH_MAX], const char *suffix)
{
	char program[PATH_MAX / 2];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_in_range(length, 1, sizeof(program) - 2);
	program[length] = '\0';
	snprintf(path, PATH_MAX, "%s%s (deleted)", program, suffix);
	write_file(path, "");
	assert_int_equal(symlink(path, "12/exe"), 0);
}

TEST_WITH(test_older_version, setup, teardown)
{
	char path[PATH_MAX];

	make_process("12", mark, 'D', 1);
	make_program(path, "");
	assert_int_equal(process_find_marked(root, mark), 12);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink("12/exe"), 0);
	make_program(path, "-2");
	assert_int_equal(process_find_marked(root, mark), 0);
	assert_int_equal(unlink(path), 0);
}

static void wait_for_end(const char *mark_of_child, int marked, int end)
{
	process_mark_self(mark_of_child);
	if (write(marked, "", 1) == 1 && read(end, &(char){ 0 }, 1) == 0)
		_exit(0);
	_exit(1);
}

/* Not the caller, but its child, as long as that runs. */
TEST_WITH(test_self, setup, teardown)
{
	int marked[2], end[2], status;
	pid_t child;

	assert_int_equal(pipe(marked), 0);
	assert_int_equal(pipe(end), 0);
	process_mark_self(mark);
	assert_int_equal(process_find_marked(NULL, mark), 0);
	child = fork();
	if (child == 0) {
		close(end[1]);
		wait_for_end(mark, marked[1], end[0]);
	}
	assert_int_equal(read(marked[0], &(char){ 0 }, 1), 1);
	assert_int_equal(process_find_marked(NULL, mark), child);
	close(end[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(process_find_marked(NULL, mark), 0);
	close(end[0]);
	close(marked[0]);
	close(marked[1]);
}
