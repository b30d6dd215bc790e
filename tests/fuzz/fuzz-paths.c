// SPDX-License-Identifier: GPL-2.0-only
/* An input is the container of BTRFS_IOC_INO_PATHS. */
#include "config.h"

#include <btrfs/ioctl.h>
#include <string.h>

#include "fs/backref.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *container = fuzz_copy(data, size);
	const char *values = container + sizeof(struct btrfs_data_container);
	size_t count = SIZE_MAX;

	if (backref_check_paths(container, size, &count) < 0) {
		INVARIANT(count == SIZE_MAX);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		const char *path;
		uint64_t position;

		memcpy(&position, values + i * sizeof(position), sizeof(position));
		path = values + position;
		INVARIANT(path >= values + count * sizeof(position));
		INVARIANT(path + strlen(path) < container + size);
	}
	return 0;
}
