// SPDX-License-Identifier: GPL-2.0-only
/* An input is what sysfs gives for features/fastpath, and at the same time a line of kallsyms. */
#include "config.h"

#include "base/cleanup.h"
#include "fuzz.h"
#include "probe/feature.h"

#define ALL_FEATURES ((1U << FEATURE_COUNT) - 1)

/* The names of what was found are found again, and nothing else. */
static void check_list(feature_set set)
{
	char text[FEATURE_COUNT * 32];
	size_t size = 0;

	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (set & 1U << i)
			size += sprintf(text + size, "%s ", features[i].name);
	INVARIANT(feature_list_parse(text, size) == set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_copy(data, size);
	feature_set set = feature_list_parse(text, size);
	const char *symbol = NULL;

	INVARIANT(!(set & ~ALL_FEATURES));
	check_list(set);

	set = feature_symbol_parse(text, size, &symbol);
	INVARIANT(!(set & ~ALL_FEATURES) && !(set & (set - 1)));
	INVARIANT(!set == !symbol);
	INVARIANT(!symbol || memmem(text, size, symbol, strlen(symbol)));
	return 0;
}
