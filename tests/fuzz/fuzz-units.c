// SPDX-License-Identifier: GPL-2.0-only
/* An input is a size or a range as a user types it. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "sys/cleanup.h"
#include "text/units.h"

static void check_size(const char *text)
{
	const uint64_t untouched = 0x5a5a5a5a;
	char formatted[UNITS_TEXT_SIZE];
	uint64_t bytes = untouched, again;
	int ret = parse_size(text, &bytes);

	if (ret < 0) {
		INVARIANT(ret == -EINVAL || ret == -ERANGE);
		INVARIANT(bytes == untouched);
		return;
	}
	for (unsigned int power = 0; power <= 4; power++) {
		format_size(formatted, bytes, (struct size_format){ SIZE_IEC, power });
		INVARIANT(strlen(formatted) < sizeof(formatted) - 1);
		format_size(formatted, bytes, (struct size_format){ SIZE_SI, power });
		INVARIANT(strlen(formatted) < sizeof(formatted) - 1);
	}
	format_size(formatted, bytes, (struct size_format){ .base = SIZE_RAW });
	INVARIANT(parse_size(formatted, &again) == 0);
	INVARIANT(again == bytes);
}

static void check_range(const char *text)
{
	struct byte_range range, again;
	char formatted[2 * UNITS_TEXT_SIZE];
	int ret = parse_range(text, &range);

	if (ret < 0) {
		INVARIANT(ret == -EINVAL || ret == -ERANGE);
		return;
	}
	INVARIANT(range.length);
	INVARIANT(byte_range_end(range) >= range.offset);
	snprintf(formatted, sizeof(formatted), "%" PRIu64 ":%" PRIu64, range.offset, range.length);
	INVARIANT(parse_range(formatted, &again) == 0);
	INVARIANT(again.offset == range.offset && again.length == range.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_string(data, size);

	check_size(text);
	check_range(text);
	return 0;
}
