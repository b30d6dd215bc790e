// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsync/fsync-tally.h"

/* A thread in an fsync. */
struct thread {
	struct fsync_event begin;
	bool has_committed;
};

struct fsync_tally {
	uint64_t last_commit_ns;
	/* sorted by thread */
	size_t count;
	struct thread threads[FSYNC_TALLY_THREADS_MAX];
};

int fsync_tally_new(struct fsync_tally **ret_tally)
{
	struct fsync_tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return -ENOMEM;
	*ret_tally = tally;
	return 0;
}

void fsync_tally_free(struct fsync_tally *tally)
{
	free(tally);
}

/* The first thread that is not before TID. */
static size_t position_of(const struct fsync_tally *tally, pid_t tid)
{
	size_t low = 0, high = tally->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (tally->threads[middle].begin.tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thread *find(struct fsync_tally *tally, pid_t tid)
{
	size_t i = position_of(tally, tid);

	return i < tally->count && tally->threads[i].begin.tid == tid ? &tally->threads[i] : NULL;
}

static void forget(struct fsync_tally *tally, struct thread *thread)
{
	size_t after = tally->threads + tally->count - (thread + 1);

	memmove(thread, thread + 1, after * sizeof(*thread));
	tally->count--;
}

static void give_up_first(struct fsync_tally *tally)
{
	struct thread *first = tally->threads;

	for (size_t i = 1; i < tally->count; i++)
		if (tally->threads[i].begin.at_ns < first->begin.at_ns)
			first = &tally->threads[i];
	forget(tally, first);
}

static void begin(struct fsync_tally *tally, const struct fsync_event *event)
{
	struct thread *thread;
	size_t i;

	if (tally->count == FSYNC_TALLY_THREADS_MAX)
		give_up_first(tally);
	i = position_of(tally, event->tid);
	thread = &tally->threads[i];
	memmove(thread + 1, thread, (tally->count - i) * sizeof(*thread));
	*thread = (struct thread){ .begin = *event };
	tally->count++;
}

/* Its fsync is over, at or before EVENT. */
static void end(struct fsync_tally *tally, struct thread *thread, const struct fsync_event *event,
		struct traced_call *ret_call)
{
	const struct fsync_event *begin = &thread->begin;
	bool has_time = event->type == FSYNC_EVENT_END;
	enum fsync_kind kind = FSYNC_LOG;

	if (thread->has_committed)
		kind = FSYNC_FULL;
	else if (tally->last_commit_ns > begin->at_ns)
		kind = FSYNC_UNCERTAIN;
	*ret_call = (struct traced_call){
		.tid = begin->tid,
		.is_fsync = true,
		.subvolid = begin->subvolid,
		.inode = begin->inode,
		.directory = begin->directory,
		.kind = kind,
		.has_committed = thread->has_committed,
		.has_time = has_time,
		.time_ns = has_time ? event->at_ns - begin->at_ns : 0,
	};
	forget(tally, thread);
}

int fsync_tally_add(struct fsync_tally *tally, const struct fsync_event *event,
		    struct traced_call *ret_call)
{
	struct thread *thread = find(tally, event->tid);

	if (event->type == FSYNC_EVENT_COMMIT) {
		tally->last_commit_ns = event->at_ns;
		if (thread) {
			thread->has_committed = true;
			return 0;
		}
		*ret_call = (struct traced_call){ .tid = event->tid, .has_committed = true };
		return 1;
	}
	if (thread)
		end(tally, thread, event, ret_call);
	if (event->type == FSYNC_EVENT_BEGIN)
		begin(tally, event);
	return !!thread;
}
