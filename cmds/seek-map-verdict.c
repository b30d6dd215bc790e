// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "seek-map-verdict.h"
#include "ui/progress.h"

/* Where calls take milliseconds, this many samples and this much time are enough. */
#define SAMPLES_ENOUGH 5
#define TIME_ENOUGH_NS (10 * NANOSECONDS_PER_SECOND)

void seek_map_prepare_verdict(struct scan *scan)
{
	struct feature_status statuses[FEATURE_COUNT];
	struct utsname kernel;

	uname(&kernel);
	feature_status_read(NULL, kernel.release, statuses);
	scan->seek_cache = statuses[FEATURE_SEEK_CACHE];
}

enum seek_help verdict_help(const struct verdict *verdict)
{
	enum seek_state state = verdict->seek.state;

	if (state == SEEK_INCONCLUSIVE || verdict->seek_cache.state == FEATURE_UNKNOWN)
		return SEEK_HELP_UNKNOWN;
	if (feature_state_is_present(verdict->seek_cache.state))
		return SEEK_HELP_NO;
	/* Without it a file that is fast can be slow after it was read or written. */
	return state == SEEK_SLOW ? SEEK_HELP_YES : SEEK_HELP_UNKNOWN;
}

int seek_map_judge(struct details *details)
{
	struct seek_sample samples[SEEK_VERDICT_SAMPLES];
	uint64_t started_ns = monotonic_ns();
	size_t count = 0;

	for (int i = 0; details->size && i < SEEK_VERDICT_SAMPLES; i++) {
		int ret;

		if (count >= SAMPLES_ENOUGH && monotonic_ns() - started_ns > TIME_ENOUGH_NS)
			break;
		if (progress_due())
			progress_show("%" PRIu64 " files, then sample %d of %d",
				      details->scan->files.file_count, i + 1, SEEK_VERDICT_SAMPLES);
		ret = seek_sample_take(details->fd, details->size, &samples[count]);
		if (ret < 0)
			return ret;
		/* a sample of a file that changed does not count */
		count += ret;
	}
	details->verdict = (struct verdict){
		.seek = seek_verdict_of(samples, count),
		.seek_cache = details->scan->seek_cache,
	};
	return 0;
}
