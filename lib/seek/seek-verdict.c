// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/quartiles.h"
#include "num/saturating.h"
#include "seek/seek-verdict.h"

/*
 * In a file of some hundred pieces a call costs 20 times as much at the start as at the end, on a
 * kernel with the problem, and on any other kernel 0.7 to 1 times as much.
 */
#define FINE_BELOW 200
#define SLOW_ABOVE 400
/* The opposite of the problem, or noise: nothing that is known makes the end slow. */
#define ODD_BELOW 25

const char *seek_state_name(enum seek_state state)
{
	static const char *const names[] = {
		[SEEK_INCONCLUSIVE] = "inconclusive",
		[SEEK_FINE] = "fine",
		[SEEK_SLOW] = "slow",
	};

	return names[state];
}

static enum seek_state judge(struct quartiles growth, size_t count)
{
	if (count < SEEK_VERDICT_SAMPLES_MIN)
		return SEEK_INCONCLUSIVE;
	if (growth.low > SLOW_ABOVE)
		return SEEK_SLOW;
	return growth.low >= ODD_BELOW && growth.high < FINE_BELOW ? SEEK_FINE : SEEK_INCONCLUSIVE;
}

/* A clock may be too coarse to see a call. */
static uint64_t at_least_1(uint64_t nanoseconds)
{
	return nanoseconds ? nanoseconds : 1;
}

struct seek_verdict seek_verdict_of(const struct seek_sample *samples, size_t count)
{
	uint64_t calls[SEEK_VERDICT_SAMPLES], starts[SEEK_VERDICT_SAMPLES];
	uint64_t ends[SEEK_VERDICT_SAMPLES], growths[SEEK_VERDICT_SAMPLES];
	struct seek_verdict verdict = { .sample_count = count };

	if (!count)
		return verdict;
	for (size_t i = 0; i < count; i++) {
		calls[i] = samples[i].call_ns;
		starts[i] = at_least_1(samples[i].start_ns);
		ends[i] = at_least_1(samples[i].end_ns);
		growths[i] = mul_div(starts[i], 100, ends[i]);
	}
	verdict.median = (struct seek_sample){
		.call_ns = median(calls, count),
		.start_ns = median(starts, count),
		.end_ns = median(ends, count),
	};
	verdict.growth_percent = quartiles_of(growths, count);
	verdict.state = judge(verdict.growth_percent, count);
	return verdict;
}
