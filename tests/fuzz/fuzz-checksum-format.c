// SPDX-License-Identifier: GPL-2.0-only
/* An input is the structure of BTRFS_IOC_FS_INFO. */
#include "config.h"

#include "fs/checksum-format.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *info = fuzz_copy(data, size);
	struct checksum_format format = { .size = 99 };

	if (checksum_format_parse(info, size, &format) < 0) {
		INVARIANT(format.size == 99);
		return 0;
	}
	/* what is divided by, and what may be multiplied */
	INVARIANT(format.size && format.size <= 32);
	INVARIANT(format.sector_size && format.sector_size <= format.node_size);
	INVARIANT(format.node_size <= 65536);
	return 0;
}
