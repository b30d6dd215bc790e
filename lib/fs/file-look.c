// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>
#include <time.h>

#include "fs/file-look.h"
#include "sys/clock.h"

#define PAUSE_NS (20 * NANOSECONDS_PER_MILLISECOND)

int file_look_begin(struct file_look *look, const char *sysfs, int fd)
{
	uint8_t fsid[FSID_SIZE];
	const char *operation;
	int ret;

	*look = (struct file_look){ .operation.ended_fd = -1 };
	ret = filesystem_id_of(fd, fsid);
	if (ret < 0)
		return ret;
	operation_watch_begin(&look->operation, sysfs, fsid);
	operation = look->operation.begin.operation;
	/* One that is paused can go on. */
	if (!*operation || strcmp(operation, "none") == 0)
		return 0;
	return relocation_watch_new(&look->watch, sysfs, fd, fsid);
}

void file_look_end(struct file_look *look)
{
	operation_watch_end(&look->operation);
	relocation_watch_free(look->watch);
	look->watch = NULL;
}

bool file_look_may_have_moved(const struct file_look *look)
{
	struct operation_state now;

	return operation_watch_may_have_moved(&look->operation, &now);
}

bool file_look_was_watched(const struct file_look *look)
{
	return look->watch && !relocation_watch_has_failed(look->watch);
}

void file_look_await(const struct file_look *look)
{
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	if (look->watch)
		relocation_watch_await_merge(look->watch);
}
