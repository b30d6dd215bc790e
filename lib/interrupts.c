// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>

#include "clock.h"
#include "interrupts.h"

void interrupts_hold(struct interrupts *interrupts)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	interrupts->signal = 0;
	sigemptyset(&interrupts->held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action;

		/* While it is held, even one that is ignored would come. */
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&interrupts->held, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &interrupts->held, &interrupts->mask_before);
}

int interrupts_pending(struct interrupts *interrupts)
{
	return interrupts_sleep(interrupts, 0);
}

int interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds)
{
	uint64_t end = monotonic_ns() + nanoseconds;

	while (!interrupts->signal) {
		uint64_t now = monotonic_ns();
		uint64_t left = end > now ? end - now : 0;
		const struct timespec timeout = {
			.tv_sec = left / NANOSECONDS_PER_SECOND,
			.tv_nsec = left % NANOSECONDS_PER_SECOND,
		};
		int ret = sigtimedwait(&interrupts->held, NULL, &timeout);

		if (ret > 0)
			interrupts->signal = ret;
		/* EINTR: a signal that is none of ours, or a stop and go on */
		else if (errno != EINTR)
			break;
	}
	return interrupts->signal;
}

void interrupts_release(struct interrupts *interrupts)
{
	if (interrupts->signal)
		raise(interrupts->signal);
	sigprocmask(SIG_SETMASK, &interrupts->mask_before, NULL);
}
