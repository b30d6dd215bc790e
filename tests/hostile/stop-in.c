// SPDX-License-Identifier: GPL-2.0-only
/*
 * stop-in PATTERN FIFO COMMAND...: runs COMMAND, stops it when its first thread has read the first
 * entries of a directory whose path matches PATTERN, writes its process id to FIFO, and waits for it;
 * whoever reads that sends SIGCONT. Exits as COMMAND does. If COMMAND never reads such a directory,
 * nothing is written.
 */
#include "config.h"

#include <err.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define SYSCALL_STOP (SIGTRAP | 0x80)

static bool is_of_path(pid_t pid, unsigned long long fd, const char *pattern)
{
	char link[64], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/%d/fd/%llu", pid, fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && fnmatch(pattern, path, 0) == 0;
}

/* Runs it to the next stop. Returns the signal that it got there, or -1 if it has ended. */
static int run_on(pid_t pid, int with_signal, int *ret_status)
{
	if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)with_signal) ||
	    waitpid(pid, ret_status, 0) != pid)
		err(EXIT_FAILURE, "trace");
	return WIFSTOPPED(*ret_status) ? WSTOPSIG(*ret_status) : -1;
}

/* Returns whether it is stopped in such a directory, or has ended, of which *RET_STATUS is. */
static bool run_to(pid_t pid, const char *pattern, int *ret_status)
{
	struct ptrace_syscall_info info, call = { 0 };
	int signal_number = 0;

	for (;;) {
		signal_number = run_on(pid, signal_number, ret_status);
		if (signal_number < 0)
			return false;
		if (signal_number != SYSCALL_STOP)
			continue;
		signal_number = 0;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
			err(EXIT_FAILURE, "system call");
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			call = info;
		else if (call.entry.nr == SYS_getdents64 && info.exit.rval > 0 &&
			 is_of_path(pid, call.entry.args[0], pattern))
			return true;
	}
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (pid)
		return pid;
	/* or it would stay stopped if this program is killed */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		err(EXIT_FAILURE, "trace");
	execv(command[0], command);
	err(EXIT_FAILURE, "%s", command[0]);
}

int main(int argc, char **argv)
{
	int status, fifo;
	pid_t pid;

	if (argc < 4)
		errx(EXIT_FAILURE, "a pattern, a FIFO and a command expected");
	fifo = open(argv[2], O_WRONLY | O_CLOEXEC);
	if (fifo < 0)
		err(EXIT_FAILURE, "%s", argv[2]);
	pid = start(argv + 3);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD))
		errx(EXIT_FAILURE, "%s cannot be traced", argv[3]);

	if (run_to(pid, argv[1], &status)) {
		if (ptrace(PTRACE_DETACH, pid, NULL, (long)SIGSTOP) ||
		    waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			errx(EXIT_FAILURE, "%s cannot be stopped", argv[3]);
		dprintf(fifo, "%d\n", pid);
		close(fifo);
		if (waitpid(pid, &status, 0) != pid)
			err(EXIT_FAILURE, "wait");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
