// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/filesystem-list.h"

int filesystem_list_find(struct filesystem_list *list, int fd, uint32_t *ret_index)
{
	uint8_t fsid[FSID_SIZE];
	uint8_t(*fsids)[FSID_SIZE];
	uint32_t index;
	int ret = filesystem_id_of(fd, fsid);

	if (ret < 0)
		return ret;
	for (index = 0; index < list->count; index++)
		if (memcmp(list->fsids[index], fsid, FSID_SIZE) == 0)
			break;
	if (index == list->count) {
		fsids = reallocarray(list->fsids, index + 1, sizeof(*fsids));
		if (!fsids)
			return -ENOMEM;
		memcpy(fsids[index], fsid, FSID_SIZE);
		list->fsids = fsids;
		list->count++;
	}
	*ret_index = index;
	return 0;
}

void filesystem_list_free(struct filesystem_list *list)
{
	free(list->fsids);
	*list = (struct filesystem_list){ 0 };
}
