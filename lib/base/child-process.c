// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child-process.h"
#include "base/cleanup.h"

static int wait_for(pid_t pid, int *ret_wait_status)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	*ret_wait_status = status;
	return 0;
}

int child_run(const char *path, char *const *argv, int *ret_wait_status)
{
	pid_t pid;
	int ret;

	ret = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	return ret ? -ret : wait_for(pid, ret_wait_status);
}

/* The output goes to its place first: OUTPUT may be one of the other standard files. */
static int redirect(posix_spawn_file_actions_t *actions, int output, int output_as)
{
	int other = output_as == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
	int ret;

	ret = posix_spawn_file_actions_adddup2(actions, output, output_as);
	if (!ret)
		ret = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY,
						       0);
	if (!ret)
		ret = posix_spawn_file_actions_addopen(actions, other, "/dev/null", O_WRONLY, 0);
	return -ret;
}

static int spawn_into(const char *path, char *const *argv, int output, int output_as,
		      pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int ret;

	ret = -posix_spawn_file_actions_init(&actions);
	if (ret < 0)
		return ret;
	ret = redirect(&actions, output, output_as);
	if (ret == 0)
		ret = -posix_spawn(ret_pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return ret;
}

static int read_all(int fd, char *buffer, size_t size, size_t *ret_length)
{
	size_t length = 0;

	while (length < size) {
		ssize_t count = read(fd, buffer + length, size - length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		length += count;
	}
	*ret_length = length;
	return 0;
}

/* OUTPUT_AS is the standard file of the program that RET_FD reads from. */
static int spawn_with_pipe(const char *path, char *const *argv, int output_as, int *ret_fd,
			   pid_t *ret_pid)
{
	int ends[2];
	int ret;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ret = spawn_into(path, argv, ends[1], output_as, ret_pid);
	close(ends[1]);
	if (ret < 0) {
		close(ends[0]);
		return ret;
	}
	*ret_fd = ends[0];
	return 0;
}

static int drain(int fd)
{
	char buffer[512];
	size_t length;
	int ret;

	do {
		ret = read_all(fd, buffer, sizeof(buffer), &length);
	} while (ret == 0 && length);
	return ret;
}

int child_run_errors(const char *path, char *const *argv, char *buffer, size_t size,
		     size_t *ret_length, int *ret_wait_status)
{
	int fd = -1, wait_status = 0, ret, waited;
	size_t length;
	pid_t pid;

	ret = spawn_with_pipe(path, argv, STDERR_FILENO, &fd, &pid);
	if (ret < 0)
		return ret;
	ret = read_all(fd, buffer, size, &length);
	if (ret == 0)
		ret = drain(fd);
	close(fd);
	waited = wait_for(pid, &wait_status);
	if (ret < 0 || waited < 0)
		return ret < 0 ? ret : waited;
	*ret_length = length;
	*ret_wait_status = wait_status;
	return 0;
}

int child_capture(const char *path, char *const *argv, char *buffer, size_t size,
		  size_t *ret_length)
{
	int fd = -1, wait_status, ret;
	pid_t pid;

	ret = spawn_with_pipe(path, argv, STDOUT_FILENO, &fd, &pid);
	if (ret < 0)
		return ret;
	ret = read_all(fd, buffer, size, ret_length);
	/* Closed before the wait: a program that goes on writing must not wait for a reader. */
	close(fd);
	wait_for(pid, &wait_status);
	return ret;
}

int program_find(const char *name, char **ret_path)
{
	const char *folders = getenv("PATH");
	CLEANUP_FREE char *copy = strdup(folders ? folders : "");
	char *rest = copy, *folder;

	if (!copy)
		return -ENOMEM;
	while ((folder = strsep(&rest, ":"))) {
		char *path;

		/* An empty one would be the current folder. */
		if (*folder != '/')
			continue;
		if (asprintf(&path, "%s/%s", folder, name) < 0)
			return -ENOMEM;
		if (access(path, X_OK) == 0) {
			*ret_path = path;
			return 0;
		}
		free(path);
	}
	return -ENOENT;
}
