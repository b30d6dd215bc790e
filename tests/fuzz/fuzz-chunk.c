// SPDX-License-Identifier: GPL-2.0-only
/* An input is a chunk item. */
#include "config.h"

#include "fs/unwritable-chunks.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct unwritable_device devices[] = { { 1, false },
							    { 2, true },
							    { 3, true } };
	CLEANUP_FREE char *bytes = fuzz_copy(data, size);
	const struct tree_item item = { .offset = 1 << 20, .data = bytes, .size = size };
	uint64_t length = 99;
	int ret;

	ret = chunk_is_writable(&item, devices, sizeof(devices) / sizeof(devices[0]), &length);
	INVARIANT(ret >= 0 ? item.offset + length >= item.offset : length == 99);
	return 0;
}
