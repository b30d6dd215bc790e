// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/endless-call.h"

#define GIVEN_UP ULONG_MAX
#define NO_SLEEP UINT64_MAX

/* NULL on a thread that is not watched. */
static _Thread_local struct watched_thread *self;

void watched_thread_start(struct watched_thread *thread)
{
	thread->tid = syscall(SYS_gettid);
	self = thread;
}

void endless_call_begin(void)
{
	if (self)
		atomic_fetch_add_explicit(&self->calls, 1, memory_order_release);
}

void endless_call_end(void)
{
	unsigned long calls;

	if (!self)
		return;
	calls = atomic_load_explicit(&self->calls, memory_order_relaxed);
	if (calls != GIVEN_UP && atomic_compare_exchange_strong(&self->calls, &calls, calls + 1))
		return;
	for (;;)
		pause();
}

/* The number of the sleep in which the thread is and which no signal ends, or NO_SLEEP. */
static uint64_t sleep_of(pid_t tid)
{
	char path[64], line[128], state = 0;
	uint64_t switches = NO_SLEEP;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return NO_SLEEP;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &switches);
	}
	fclose(file);
	return state == 'D' ? switches : NO_SLEEP;
}

bool watched_thread_is_stuck(struct watched_thread *thread, unsigned int seconds)
{
	unsigned long calls = atomic_load_explicit(&thread->calls, memory_order_acquire);
	uint64_t sleep = calls % 2 ? sleep_of(thread->tid) : NO_SLEEP;
	uint64_t now = monotonic_ns();

	if (sleep == NO_SLEEP || sleep != thread->seen_sleep || calls != thread->seen_calls) {
		thread->seen_calls = calls;
		thread->seen_sleep = sleep;
		thread->seen_since_ns = now;
		return false;
	}
	return now - thread->seen_since_ns >= seconds * NANOSECONDS_PER_SECOND;
}

bool watched_thread_give_up(struct watched_thread *thread)
{
	unsigned long calls = thread->seen_calls;

	return atomic_compare_exchange_strong(&thread->calls, &calls, GIVEN_UP);
}
