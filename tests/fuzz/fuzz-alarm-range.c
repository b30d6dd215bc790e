// SPDX-License-Identifier: GPL-2.0-only
/* An input is a range as a user types it for --warning. */
#include "config.h"

#include <errno.h>

#include "fuzz.h"
#include "num/alarm-range.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_string(data, size);
	struct alarm_range range = { .start = 1, .end = 0 };
	int ret = alarm_range_parse(text, &range);

	if (ret < 0) {
		INVARIANT(ret == -EINVAL || ret == -ERANGE);
		INVARIANT(range.start == 1 && range.end == 0);
		return 0;
	}
	INVARIANT(range.start <= range.end);
	INVARIANT(range.is_inverted == (*text == '@'));
	/* Both ends belong to it. */
	INVARIANT(alarm_range_alerts(&range, range.start) == range.is_inverted);
	INVARIANT(alarm_range_alerts(&range, range.end) == range.is_inverted);
	return 0;
}
