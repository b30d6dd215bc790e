// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/stop-request.h"

/* One request can arrive twice: sent to a whole process group, and passed on by the parent. */
#define SAME_REQUEST_NS (200 * NANOSECONDS_PER_MILLISECOND)

/* What waits for another program, such as the reader of a full pipe, ends then. */
#define SECONDS_FOR_REPORT 3

/* For the handler. */
static volatile sig_atomic_t requested;
static uint64_t requested_at;
static struct sigaction usual;

static void too_late(int number)
{
	(void)number;
	sigaction(SIGINT, &usual, NULL);
	raise(SIGINT);
}

static void request(int number)
{
	int saved = errno;

	if (!requested) {
		requested_at = monotonic_ns();
		requested = 1;
		signal(SIGALRM, too_late);
		alarm(SECONDS_FOR_REPORT);
	} else if (monotonic_ns() - requested_at > SAME_REQUEST_NS) {
		sigaction(number, &usual, NULL);
		raise(number);
	}
	errno = saved;
}

void stop_request_accept(void)
{
	sigset_t unblocked;
	struct sigaction before, action = { .sa_handler = request, .sa_flags = SA_RESTART };

	if (sigaction(SIGINT, NULL, &before) < 0 || before.sa_handler == SIG_IGN ||
	    before.sa_handler == request)
		return;
	usual = before;
	/* A parent may have blocked it. */
	sigemptyset(&unblocked);
	sigaddset(&unblocked, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

bool stop_requested(void)
{
	return requested;
}

void stop_request_end(void)
{
	if (!requested)
		return;
	sigaction(SIGINT, &usual, NULL);
	raise(SIGINT);
}
