// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/process-copy.h"

/* What ended without a stuck thread is gone after a moment. */
#define REAP_TRIES 20
#define REAP_PAUSE_NS (5 * NANOSECONDS_PER_MILLISECOND)

/* In the copy; for the handler of signals. */
static int parent_link = -1;

/* The files of a process with a stuck thread would be open until that thread ends. */
static void tell_end(int wait_status)
{
	if (parent_link < 0)
		return;
	send(parent_link, &wait_status, sizeof(wait_status), MSG_NOSIGNAL);
	syscall(SYS_close_range, 0, ~0U, 0);
}

void process_copy_leave(int status)
{
	tell_end(status << 8);
}

/* The signal comes once more when this returns, and then ends the process. */
static void end_by_signal(int number)
{
	tell_end(number);
	raise(number);
}

static bool can_end_by_sigterm(void)
{
	struct sigaction action;
	sigset_t blocked;

	return sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
	       sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGTERM);
}

static void end_with(pid_t parent, int number)
{
	prctl(PR_SET_PDEATHSIG, number);
	if (getppid() != parent)
		raise(number);
}

static void become_copy(pid_t parent, int link)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct sigaction before, action = {
		.sa_handler = end_by_signal,
		.sa_flags = SA_RESETHAND,
	};

	parent_link = link;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	end_with(parent, can_end_by_sigterm() ? SIGTERM : SIGKILL);
}

void process_reap_soon(pid_t child)
{
	const struct timespec pause = { .tv_nsec = REAP_PAUSE_NS };

	for (int i = 0; i < REAP_TRIES && waitpid(child, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

/* In the parent; for the handler of SIGINT. */
static volatile pid_t awaited_copy;

/* The copy may report what it has so far. The terminal sends the signal to both. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0 && awaited_copy)
		kill(awaited_copy, number);
	errno = saved;
}

/* Returns the wait status. */
static int await_end(pid_t copy, int link)
{
	int told, wait_status = 0;
	ssize_t size;

	do {
		size = recv(link, &told, sizeof(told), 0);
	} while (size < 0 && errno == EINTR);
	/* Its number can be that of another process soon. */
	awaited_copy = 0;
	if (size == sizeof(told)) {
		process_reap_soon(copy);
		return told;
	}
	while (waitpid(copy, &wait_status, 0) < 0 && errno == EINTR)
		;
	return wait_status;
}

int process_copy_start(int *ret_wait_status)
{
	struct sigaction before = { .sa_handler = SIG_DFL };
	struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	pid_t copy, parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	/* Were SIGCHLD ignored, as a parent may have left it, the end of the copy would be lost. */
	signal(SIGCHLD, SIG_DFL);
	fflush(NULL);
	copy = fork();
	if (copy <= 0) {
		close(ends[0]);
		if (copy == 0)
			become_copy(parent, ends[1]);
		else
			close(ends[1]);
		return 0;
	}
	close(ends[1]);
	awaited_copy = copy;
	if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		sigaction(SIGINT, &action, NULL);
	*ret_wait_status = await_end(copy, ends[0]);
	sigaction(SIGINT, &before, NULL);
	close(ends[0]);
	return 1;
}
