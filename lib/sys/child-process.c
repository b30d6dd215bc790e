// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/child-process.h"
#include "sys/cleanup.h"

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

/* -- the start -- */

#define STANDARD_FILE_COUNT 3
/* as this process has it; /dev/null */
#define KEPT (-1)
#define EMPTY (-2)

struct start {
	const char *path;
	char *const *argv;
	/* the standard files: a descriptor, KEPT or EMPTY; of several descriptors none is one of them */
	int files[STANDARD_FILE_COUNT];
	/* what the program has open besides, -1: nothing */
	int inherited;
};

static int place(int fd, int as)
{
	/* dup2() would leave it as it is, and it would be closed. */
	if (fd == as)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, as);
}

static int place_null(int as)
{
	int fd = open("/dev/null", (as == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);

	return fd < 0 ? -1 : place(fd, as);
}

/* The descriptor goes to its place first: it may be one of the other standard files. */
static int redirect(const struct start *start)
{
	for (int as = 0; as < STANDARD_FILE_COUNT; as++)
		if (start->files[as] >= 0 && place(start->files[as], as) < 0)
			return -1;
	for (int as = 0; as < STANDARD_FILE_COUNT; as++)
		if (start->files[as] == EMPTY && place_null(as) < 0)
			return -1;
	return 0;
}

static int keep_open(int fd)
{
	return fd < 0 ? 0 : fcntl(fd, F_SETFD, 0);
}

static void reset_handlers(void)
{
	const struct sigaction reset = { .sa_handler = SIG_DFL };
	struct sigaction action;

	for (int signal = 1; signal < NSIG; signal++)
		if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaction(signal, &reset, NULL);
}

/* With PARENT this process ends, too; by SIGKILL, which is not blocked. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

/*
 * In the child, whose signals are all blocked. What fails goes to REPORT as an errno: that is no
 * standard file which redirect() takes away, as the ends of two pipes were opened before it.
 */
static void __attribute__((noreturn))
become(const struct start *start, pid_t parent, const sigset_t *mask, int report)
{
	int err;

	end_with(parent);
	reset_handlers();
	if (keep_open(start->inherited) >= 0 && redirect(start) >= 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execve(start->path, start->argv, environ);
	}
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

/* Nothing where the program was executed, which closed the other end. */
static int read_report(int report)
{
	size_t length;
	int err, ret;

	ret = read_all(report, (char *)&err, sizeof(err), &length);
	if (ret < 0)
		return ret;
	return length == sizeof(err) ? -err : 0;
}

/* posix_spawn() cannot have the program end with this process. */
static int fork_into(const struct start *start, int report, pid_t *ret_pid)
{
	sigset_t all, mask;
	pid_t parent = getpid();
	int ret = 0;

	/* No handler of this process is to run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	*ret_pid = fork();
	if (*ret_pid == 0)
		become(start, parent, &mask, report);
	if (*ret_pid < 0)
		ret = -errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return ret;
}

static int spawn(const struct start *start, pid_t *ret_pid)
{
	int report[2], wait_status, ret;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	ret = fork_into(start, report[1], ret_pid);
	close(report[1]);
	if (ret == 0) {
		ret = read_report(report[0]);
		if (ret < 0)
			wait_for(*ret_pid, &wait_status);
	}
	close(report[0]);
	return ret;
}

/* Sets its standard file OUTPUT, and RET_FD to what reads from that. */
static int spawn_with_pipe(struct start *start, int output, int *ret_fd, pid_t *ret_pid)
{
	int ends[2];
	int ret;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	start->files[output] = ends[1];
	ret = spawn(start, ret_pid);
	close(ends[1]);
	if (ret < 0) {
		close(ends[0]);
		return ret;
	}
	*ret_fd = ends[0];
	return 0;
}

/* -- to the end -- */

int child_run(const char *path, char *const *argv, int *ret_wait_status)
{
	const struct start start = {
		.path = path,
		.argv = argv,
		.files = { KEPT, KEPT, KEPT },
		.inherited = -1,
	};
	pid_t pid;
	int ret;

	ret = spawn(&start, &pid);
	return ret < 0 ? ret : wait_for(pid, ret_wait_status);
}

/* Those of a terminal reach the program as well, as one of the same group; once is enough. */
static int wait_with_signals(pid_t pid, struct interrupts *interrupts, int *ret_wait_status)
{
	bool is_passed_on = false;
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		if (interrupts_pending(interrupts) == SIGTERM && !is_passed_on)
			is_passed_on = kill(pid, SIGTERM) == 0;
	}
	*ret_wait_status = status;
	return 0;
}

int child_run_held(const char *path, char *const *argv, int output, struct interrupts *interrupts,
		   int *ret_wait_status)
{
	const struct start start = {
		.path = path,
		.argv = argv,
		.files = { KEPT, output == STDOUT_FILENO ? KEPT : output, KEPT },
		.inherited = -1,
	};
	pid_t pid;
	int ret;

	ret = spawn(&start, &pid);
	return ret < 0 ? ret : wait_with_signals(pid, interrupts, ret_wait_status);
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

int child_run_errors(const char *path, char *const *argv, int inherited, int output, char *buffer,
		     size_t size, size_t *ret_length, int *ret_wait_status)
{
	struct start start = {
		.path = path,
		.argv = argv,
		.files = { EMPTY, output < 0 ? EMPTY : output, EMPTY },
		.inherited = inherited,
	};
	int fd = -1, wait_status = 0, ret, waited;
	size_t length;
	pid_t pid;

	ret = spawn_with_pipe(&start, STDERR_FILENO, &fd, &pid);
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

/* WAITED is what came of waiting for its end. */
static int capture(struct start *start, char *buffer, size_t size, size_t *ret_length,
		   int *ret_wait_status, int *ret_waited)
{
	int fd = -1, ret;
	pid_t pid;

	ret = spawn_with_pipe(start, STDOUT_FILENO, &fd, &pid);
	if (ret < 0)
		return ret;
	ret = read_all(fd, buffer, size, ret_length);
	/* Closed before the wait: a program that goes on writing must not wait for a reader. */
	close(fd);
	*ret_waited = wait_for(pid, ret_wait_status);
	return ret;
}

int child_run_output(const char *path, char *const *argv, char *buffer, size_t size,
		     size_t *ret_length, int *ret_wait_status)
{
	struct start start = {
		.path = path,
		.argv = argv,
		.files = { EMPTY, EMPTY, KEPT },
		.inherited = -1,
	};
	int wait_status, waited, ret;
	size_t length;

	ret = capture(&start, buffer, size, &length, &wait_status, &waited);
	if (ret < 0 || waited < 0)
		return ret < 0 ? ret : waited;
	*ret_length = length;
	*ret_wait_status = wait_status;
	return 0;
}

int child_capture(const char *path, char *const *argv, char *buffer, size_t size,
		  size_t *ret_length)
{
	struct start start = {
		.path = path,
		.argv = argv,
		.files = { EMPTY, EMPTY, EMPTY },
		.inherited = -1,
	};
	int wait_status, waited;

	return capture(&start, buffer, size, ret_length, &wait_status, &waited);
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
