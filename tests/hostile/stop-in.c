// SPDX-License-Identifier: GPL-2.0-only
/*
 * stop-in PATTERN FIFO COMMAND...: runs COMMAND, stops the first of its threads that has read the first
 * entries of a directory whose path matches PATTERN, and writes its own process id to FIFO; the reader
 * sends SIGCONT to go on. Exits as COMMAND does. If COMMAND never reads such a directory, nothing is
 * written.
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

struct trace {
	const char *pattern;
	int fifo;
	/* the thread that reads such a directory, 0: none */
	pid_t reader;
	/* it was stopped before */
	bool is_over;
};

/* Whether PID, which is at the begin or the end of a system call, has read such a directory. */
static bool has_read(struct trace *trace, pid_t pid)
{
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		err(EXIT_FAILURE, "system call");
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		return pid == trace->reader && info.exit.rval > 0;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getdents64 &&
	    is_of_path(pid, info.entry.args[0], trace->pattern))
		trace->reader = pid;
	else if (pid == trace->reader)
		trace->reader = 0;
	return false;
}

/* The thread goes on when this returns. */
static void await_reader_of_fifo(struct trace *trace)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dprintf(trace->fifo, "%d\n", getpid());
	close(trace->fifo);
	sigwait(&set, &number);
	trace->is_over = true;
}

/* Lets PID, which has stopped with STATUS, go on. */
static void run_on(struct trace *trace, pid_t pid, int status)
{
	int number = WSTOPSIG(status);

	if (number == SYSCALL_STOP && !trace->is_over && has_read(trace, pid))
		await_reader_of_fifo(trace);
	/* events, and the first stop of a new thread */
	if (number == SYSCALL_STOP || number == SIGTRAP || number == SIGSTOP)
		number = 0;
	/* it may have been killed meanwhile */
	ptrace(trace->is_over ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, (long)number);
}

/* Returns the status with which FIRST ends. */
static int run_to_end(struct trace *trace, pid_t first)
{
	int status;
	pid_t pid;

	ptrace(PTRACE_SYSCALL, first, NULL, NULL);
	for (;;) {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			err(EXIT_FAILURE, "wait");
		if (WIFSTOPPED(status))
			run_on(trace, pid, status);
		else if (pid == first)
			return status;
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
	/* LeakSanitizer traces, too, and there can be only one. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	execv(command[0], command);
	err(EXIT_FAILURE, "%s", command[0]);
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	struct trace trace = { 0 };
	int status;
	pid_t pid;

	if (argc < 4)
		errx(EXIT_FAILURE, "a pattern, a FIFO and a command expected");
	trace.pattern = argv[1];
	trace.fifo = open(argv[2], O_WRONLY | O_CLOEXEC);
	if (trace.fifo < 0)
		err(EXIT_FAILURE, "%s", argv[2]);
	pid = start(argv + 3);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, options))
		errx(EXIT_FAILURE, "%s cannot be traced", argv[3]);
	status = run_to_end(&trace, pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
