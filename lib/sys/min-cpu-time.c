// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sys/clock.h"
#include "sys/min-cpu-time.h"

#define ROUNDS 5

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int min_cpu_time_of(int (*call)(int fd, void *data), int fd, void *data, uint64_t *ret_ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = thread_cpu_ns();
		int ret = call(fd, data);

		if (ret < 0)
			return ret;
		least = lesser(least, thread_cpu_ns() - start);
	}
	*ret_ns = least;
	return 0;
}

uint64_t min_cpu_time_step(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = thread_cpu_ns(), now;

		do {
			now = thread_cpu_ns();
		} while (now == start);
		least = lesser(least, now - start);
	}
	return least;
}
