// SPDX-License-Identifier: GPL-2.0-only
/* An input is a name of up to 255 bytes, its length first, and then a directory item. */
#include "config.h"

#include "fs/dir-item.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t name_length = size ? data[0] : 0;
	CLEANUP_FREE char *name = NULL, *item = NULL;
	uint64_t inode = 99;
	int ret;

	if (size < 1 + name_length)
		return 0;
	name = fuzz_copy(data + 1, name_length);
	item = fuzz_copy(data + 1 + name_length, size - 1 - name_length);
	ret = dir_item_find(item, size - 1 - name_length, name, name_length, &inode);
	INVARIANT(ret == 1 || inode == 99);
	return 0;
}
