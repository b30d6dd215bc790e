// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/unique-shared-bytes.h"

#define MEMORY (16 * 1024 * 1024)

struct interval {
	uint64_t start;
	uint64_t end;
};

struct unique_shared_bytes {
	pthread_mutex_t lock;
	struct record_sort *intervals;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static bool merge_intervals(void *record, const void *next)
{
	struct interval *interval = record;
	const struct interval *later = next;

	if (later->start > interval->end)
		return false;
	if (later->end > interval->end)
		interval->end = later->end;
	return true;
}

static const struct record_sort_ops interval_ops = {
	.record_size = sizeof(struct interval),
	.compare = compare_intervals,
	.merge = merge_intervals,
};

int unique_shared_bytes_new(struct unique_shared_bytes **ret_set)
{
	struct unique_shared_bytes *set = calloc(1, sizeof(*set));
	int ret;

	if (!set)
		return -ENOMEM;
	ret = record_sort_new(&set->intervals, &interval_ops, MEMORY);
	if (ret < 0) {
		free(set);
		return ret;
	}
	pthread_mutex_init(&set->lock, NULL);

	*ret_set = set;
	return 0;
}

void unique_shared_bytes_free(struct unique_shared_bytes *set)
{
	if (!set)
		return;
	pthread_mutex_destroy(&set->lock);
	record_sort_free(set->intervals);
	free(set);
}

int unique_shared_bytes_add(struct unique_shared_bytes *set, const struct mapped_extent *extent)
{
	struct interval interval = { .start = extent->bytenr };

	if (__builtin_add_overflow(extent->bytenr, extent->length, &interval.end))
		return -EPROTO;

	pthread_mutex_lock(&set->lock);
	record_sort_add(set->intervals, &interval);
	pthread_mutex_unlock(&set->lock);
	return 0;
}

int unique_shared_bytes_total(struct unique_shared_bytes *set, uint64_t *ret_bytes)
{
	struct interval interval;
	uint64_t bytes = 0;
	int ret;

	ret = record_sort_finish(set->intervals);
	if (ret < 0)
		return ret;
	while ((ret = record_sort_next(set->intervals, &interval)) > 0)
		bytes = saturating_add(bytes, interval.end - interval.start);
	if (ret < 0)
		return ret;

	*ret_bytes = bytes;
	return 0;
}

const char *unique_shared_bytes_failed_in(const struct unique_shared_bytes *set)
{
	return record_sort_failed_in(set->intervals);
}
