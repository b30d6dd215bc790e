// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/min-cpu-time.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "seek/seek-iter.h"

#define SEEK_SEGMENTS 256

static int walk_segments(int fd, void *data)
{
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	(void)data;
	seek_iter_start(&iter, fd, WHOLE_FILE, (2 * SEEK_SEGMENTS - 1) * PROBE_BLOCK);
	do {
		ret = seek_iter_next(&iter, &segment);
	} while (ret > 0);
	return ret;
}

/* Without the feature one kernel is slow before, and another one after. */
static struct feature_cost slower_against_faster(uint64_t a, uint64_t b)
{
	return a > b ? (struct feature_cost){ a, b } : (struct feature_cost){ b, a };
}

int probe_seek_cache(int directory_fd, struct interrupts *interrupts, struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uint64_t before_ns, after_ns;
	int ret;

	if (fd < 0)
		return -errno;
	ret = probe_write_every_other(fd, 0, SEEK_SEGMENTS);
	if (ret == 0)
		ret = min_cpu_time_of(walk_segments, fd, NULL, &before_ns);
	if (ret == 0)
		ret = probe_read_all(fd);
	if (ret == 0)
		ret = probe_interrupted(interrupts);
	if (ret == 0)
		ret = min_cpu_time_of(walk_segments, fd, NULL, &after_ns);
	if (ret == 0)
		*ret_cost = slower_against_faster(before_ns, after_ns);
	return ret;
}
