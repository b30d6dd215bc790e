// SPDX-License-Identifier: GPL-2.0-only
/* An input is a block device's "stat" file, or what sysfs says of the send protocol. */
#include "config.h"

#include "fs/device-stats.h"
#include "fuzz.h"
#include "send/send-subvolume.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_copy(data, size);
	struct device_stats stats = { .reads = 99 };
	uint32_t protocol = 99;

	if (device_stats_parse(text, size, &stats) < 0)
		INVARIANT(stats.reads == 99);
	else
		INVARIANT(stats.device_count == 1 && stats.read_bytes % 512 == 0);
	if (send_protocol_parse(text, size, &protocol) < 0)
		INVARIANT(protocol == 99);
	else
		INVARIANT(protocol && protocol < 1000000000);
	return 0;
}
