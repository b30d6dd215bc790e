// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "sys/clock.h"
#include "sys/interrupts.h"

/* How long a call may wait for others after a signal: a reader that is busy gets its data. */
#define PATIENCE_US 200000

static const int signals[INTERRUPT_COUNT] = { SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT,
					      SIGPIPE, SIGXCPU, SIGUSR1, SIGUSR2 };

/* A handler has nothing else to write to. */
static volatile sig_atomic_t first_signal;

static void set_timer(long microseconds)
{
	const struct timeval time = { .tv_usec = microseconds };
	const struct itimerval timer = { .it_interval = time, .it_value = time };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void remember(int signal)
{
	int err = errno;

	if (!first_signal) {
		first_signal = signal;
		set_timer(PATIENCE_US);
	}
	errno = err;
}

/* That it comes is enough: it interrupts. */
static void ignore_alarm(int signal)
{
	(void)signal;
}

static void handle(int signal, void (*handler)(int), struct sigaction *ret_before)
{
	struct sigaction action = { .sa_handler = handler };

	sigfillset(&action.sa_mask);
	sigaction(signal, NULL, ret_before);
	if (ret_before->sa_handler != SIG_IGN || signal == SIGALRM)
		sigaction(signal, &action, NULL);
}

void interrupts_hold(struct interrupts *interrupts)
{
	sigset_t alarm;

	interrupts->signal = 0;
	first_signal = 0;
	handle(SIGALRM, ignore_alarm, &interrupts->alarm_before);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, &interrupts->mask_before);
	for (size_t i = 0; i < INTERRUPT_COUNT; i++)
		handle(signals[i], remember, &interrupts->before[i]);
}

int interrupts_pending(struct interrupts *interrupts)
{
	interrupts->signal = first_signal;
	return interrupts->signal;
}

int interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds)
{
	uint64_t end = monotonic_ns() + nanoseconds;

	while (!interrupts_pending(interrupts)) {
		uint64_t now = monotonic_ns();
		uint64_t left = end > now ? end - now : 0;
		const struct timespec time = {
			.tv_sec = left / NANOSECONDS_PER_SECOND,
			.tv_nsec = left % NANOSECONDS_PER_SECOND,
		};

		/* EINTR: one of the signals, or a stop and go on */
		if (!left || (nanosleep(&time, NULL) < 0 && errno != EINTR))
			break;
	}
	return interrupts->signal;
}

void interrupts_forget(struct interrupts *interrupts)
{
	interrupts->signal = 0;
	first_signal = 0;
}

void interrupts_release(struct interrupts *interrupts)
{
	set_timer(0);
	for (size_t i = 0; i < INTERRUPT_COUNT; i++)
		sigaction(signals[i], &interrupts->before[i], NULL);
	sigaction(SIGALRM, &interrupts->alarm_before, NULL);
	sigprocmask(SIG_SETMASK, &interrupts->mask_before, NULL);
	if (first_signal)
		raise(first_signal);
}
