// SPDX-License-Identifier: GPL-2.0-only
/* An input is what sysfs gives for fastpath_stats. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "fs/counters.h"
#include "fuzz.h"
#include "sys/cleanup.h"

/* What was parsed, written again and parsed again, is the same. */
static void check_again(const struct counters *counters)
{
	CLEANUP_FREE char *text = fuzz_allocate(COUNTERS_MAX * (COUNTER_NAME_SIZE + 24));
	struct counters again;
	size_t size = 0;

	for (size_t i = 0; i < counters->count; i++)
		size += sprintf(text + size, "%s %" PRIu64 "\n", counters->list[i].name,
				counters->list[i].value);
	INVARIANT(counters_parse(text, size, &again) == 0);
	INVARIANT(again.count == counters->count);
	for (size_t i = 0; i < again.count; i++) {
		INVARIANT(strcmp(again.list[i].name, counters->list[i].name) == 0);
		INVARIANT(again.list[i].value == counters->list[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_copy(data, size);
	struct counters counters;

	if (counters_parse(text, size, &counters) < 0)
		return 0;
	INVARIANT(counters.count <= COUNTERS_MAX);
	for (size_t i = 0; i < counters.count; i++) {
		const char *name = counters.list[i].name;

		INVARIANT(*name && strnlen(name, COUNTER_NAME_SIZE) < COUNTER_NAME_SIZE);
		INVARIANT(!strpbrk(name, " \n"));
	}
	check_again(&counters);
	return 0;
}
