// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/mounted-filesystems.h"
#include "sys/cleanup.h"

static int add(struct mounted_filesystems *filesystems, const uint8_t fsid[FSID_SIZE])
{
	uint8_t(*fsids)[FSID_SIZE];

	fsids = reallocarray(filesystems->fsids, filesystems->count + 1, sizeof(*fsids));
	if (!fsids)
		return -ENOMEM;
	filesystems->fsids = fsids;
	memcpy(fsids[filesystems->count++], fsid, FSID_SIZE);
	return 0;
}

/* There are other directories, too. */
static int read_entries(DIR *entries, struct mounted_filesystems *filesystems)
{
	const struct dirent *entry;
	uint8_t fsid[FSID_SIZE];
	int ret = 0;

	while (ret == 0 && (errno = 0, entry = readdir(entries))) {
		if (filesystem_id_parse(entry->d_name, fsid) == 0)
			ret = add(filesystems, fsid);
	}
	return ret < 0 ? ret : -errno;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, FSID_SIZE);
}

int mounted_filesystems_read(const char *root, struct mounted_filesystems *ret_filesystems)
{
	DIR *entries = opendir(root ? root : "/sys/fs/btrfs");
	struct mounted_filesystems filesystems = { 0 };
	int ret;

	if (!entries && errno != ENOENT)
		return -errno;
	ret = entries ? read_entries(entries, &filesystems) : 0;
	if (entries)
		closedir(entries);
	if (ret < 0) {
		mounted_filesystems_free(&filesystems);
		return ret;
	}
	if (filesystems.count)
		qsort(filesystems.fsids, filesystems.count, FSID_SIZE, compare);
	*ret_filesystems = filesystems;
	return 0;
}

void mounted_filesystems_free(struct mounted_filesystems *filesystems)
{
	free(filesystems->fsids);
	*filesystems = (struct mounted_filesystems){ 0 };
}
