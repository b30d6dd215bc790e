// SPDX-License-Identifier: GPL-2.0-only
/* An input is what sysfs gives for features/fastpath, and at the same time a line of kallsyms. */
#include "config.h"

#include <string.h>

#include "fuzz.h"
#include "probe/feature.h"
#include "sys/cleanup.h"

/* The words for what was found tell it again, and nothing else. */
static void check_list(const enum feature_state states[FEATURE_COUNT])
{
	enum feature_state again[FEATURE_COUNT];
	char text[FEATURE_COUNT * 32];
	size_t size = 0;

	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		INVARIANT(states[i] >= FEATURE_ABSENT && states[i] <= FEATURE_IMPROVED);
		if (states[i] != FEATURE_ABSENT)
			size += sprintf(text + size, "%s%s ", features[i].name,
					states[i] == FEATURE_IMPROVED ? ":improved" : "");
	}
	feature_list_parse(text, size, again);
	INVARIANT(memcmp(again, states, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_copy(data, size);
	enum feature_state states[FEATURE_COUNT];
	const struct feature_symbol *symbol;

	feature_list_parse(text, size, states);
	check_list(states);

	symbol = feature_symbol_parse(text, size);
	if (!symbol)
		return 0;
	INVARIANT(symbol->feature < FEATURE_COUNT && feature_state_is_present(symbol->state));
	INVARIANT(memmem(text, size, symbol->name, strlen(symbol->name)));
	return 0;
}
