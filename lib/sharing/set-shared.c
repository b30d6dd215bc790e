// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/filesystem-list.h"
#include "num/saturating.h"
#include "sharing/set-shared.h"

struct set_shared {
	pthread_mutex_t lock;
	/* the sets have the indexes of their file systems */
	struct filesystem_list filesystems;
	struct unique_shared_bytes **sets;
	size_t count;
	/* of the last file, which is usually that of the next one; each subvolume has a device number */
	dev_t device;
	struct unique_shared_bytes *set;
	/* whose total failed, or NULL */
	const struct unique_shared_bytes *failed;
};

int set_shared_new(struct set_shared **ret_shared)
{
	struct set_shared *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return -ENOMEM;
	pthread_mutex_init(&shared->lock, NULL);
	*ret_shared = shared;
	return 0;
}

void set_shared_free(struct set_shared *shared)
{
	if (!shared)
		return;
	for (size_t i = 0; i < shared->count; i++)
		unique_shared_bytes_free(shared->sets[i]);
	pthread_mutex_destroy(&shared->lock);
	filesystem_list_free(&shared->filesystems);
	free(shared->sets);
	free(shared);
}

/* Returns 0 or -ENOMEM. */
static int add_set(struct set_shared *shared)
{
	struct unique_shared_bytes **sets = reallocarray(shared->sets, shared->count + 1,
							 sizeof(*sets));
	int ret;

	if (!sets)
		return -ENOMEM;
	shared->sets = sets;
	ret = unique_shared_bytes_new(&sets[shared->count]);
	if (ret == 0)
		shared->count++;
	return ret;
}

static int find_set(struct set_shared *shared, int fd)
{
	uint32_t index;
	int ret = filesystem_list_find(&shared->filesystems, fd, &index);

	while (ret == 0 && shared->count <= index)
		ret = add_set(shared);
	if (ret == 0)
		shared->set = shared->sets[index];
	return ret;
}

int set_shared_of(struct set_shared *shared, int fd, dev_t device,
		  struct unique_shared_bytes **ret_set)
{
	int ret = 0;

	pthread_mutex_lock(&shared->lock);
	if (!shared->set || shared->device != device)
		ret = find_set(shared, fd);
	if (ret == 0) {
		shared->device = device;
		*ret_set = shared->set;
	}
	pthread_mutex_unlock(&shared->lock);
	return ret;
}

int set_shared_total(struct set_shared *shared, uint64_t *ret_bytes)
{
	uint64_t total = 0, bytes = 0;

	for (size_t i = 0; i < shared->count; i++) {
		int ret = unique_shared_bytes_total(shared->sets[i], &bytes);

		if (ret < 0) {
			shared->failed = shared->sets[i];
			return ret;
		}
		total = saturating_add(total, bytes);
	}
	*ret_bytes = total;
	return 0;
}

const char *set_shared_failed_in(const struct set_shared *shared)
{
	return shared->failed ? unique_shared_bytes_failed_in(shared->failed) : NULL;
}
