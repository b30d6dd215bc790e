// SPDX-License-Identifier: GPL-2.0-only
/* An input is the container of BTRFS_IOC_LOGICAL_INO_V2. */
#include "config.h"

#include <btrfs/ioctl.h>
#include <string.h>

#include "fs/backref.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *container = fuzz_copy(data, size);
	const size_t header_size = sizeof(struct btrfs_data_container);
	struct btrfs_data_container header;
	size_t count = SIZE_MAX;

	if (backref_check_refs(container, size, &count) < 0) {
		INVARIANT(count == SIZE_MAX);
		return 0;
	}
	memcpy(&header, container, header_size);
	INVARIANT(count * 3 == header.elem_cnt);
	INVARIANT(count <= (size - header_size) / sizeof(struct extent_ref));
	return 0;
}
