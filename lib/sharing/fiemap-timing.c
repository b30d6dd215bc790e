// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/quartiles.h"
#include "sharing/fiemap-timing.h"
#include "sys/clock.h"

#define ROUNDS 5
#define TIME_LIMIT (5 * NANOSECONDS_PER_SECOND)

int fiemap_timing_once(struct fiemap_iter *iter, int fd, struct byte_range range, uint64_t *ret_ns)
{
	uint64_t start = monotonic_ns();
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(iter, fd, range, 0);
	do {
		ret = fiemap_iter_next(iter, &extent);
	} while (ret > 0);
	if (ret < 0)
		return ret;

	*ret_ns = monotonic_ns() - start;
	return 0;
}

static int time_map(int fd, struct byte_range range, uint64_t *ret_ns)
{
	uint64_t start = monotonic_ns();
	uint32_t count;
	int ret;

	ret = fiemap_count(fd, range, &count);
	if (ret < 0)
		return ret;
	*ret_ns = monotonic_ns() - start;
	return 0;
}

int fiemap_timing_measure(struct fiemap_iter *iter, int fd, struct byte_range range,
			  struct fiemap_timing *ret_timing)
{
	uint64_t start = monotonic_ns();
	uint64_t map_ns[ROUNDS], full_ns[ROUNDS];
	uint64_t map, full;
	size_t rounds = 0;

	do {
		int ret;

		ret = time_map(fd, range, &map_ns[rounds]);
		if (ret < 0)
			return ret;
		ret = fiemap_timing_once(iter, fd, range, &full_ns[rounds]);
		if (ret < 0)
			return ret;
		rounds++;
	} while (rounds < ROUNDS && monotonic_ns() - start < TIME_LIMIT);

	map = median(map_ns, rounds);
	full = median(full_ns, rounds);
	*ret_timing = (struct fiemap_timing){
		.map_ns = map,
		/* Noise must not make a cost negative. */
		.shared_check_ns = full > map ? full - map : 0,
	};
	return 0;
}
