// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <poll.h>
#include <string.h>

#include "fs/operation-watch.h"
#include "sys/cleanup.h"

bool operation_moves_extents(const char *operation)
{
	static const char *const others[] = {
		"", "none", "balance paused", "device add", "device replace", "swap activate",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(operation, others[i]) == 0)
			return false;
	return true;
}

static void read_state(const struct operation_watch *watch, struct operation_state *state)
{
	sysfs_attribute_get(watch->sysfs, watch->fsid, "exclusive_operation", state->operation);
	sysfs_attribute_get(watch->sysfs, watch->fsid, "generation", state->generation);
}

void operation_watch_begin(struct operation_watch *watch, const char *sysfs,
			   const uint8_t fsid[FSID_SIZE])
{
	watch->sysfs = sysfs;
	memcpy(watch->fsid, fsid, FSID_SIZE);
	watch->ended_fd = sysfs_attribute_open(sysfs, fsid, "exclusive_operation");
	sysfs_attribute_read(watch->ended_fd, watch->begin.operation);
	read_state(watch, &watch->begin);
}

void operation_watch_end(struct operation_watch *watch)
{
	close_fd(&watch->ended_fd);
}

static bool has_ended(const struct operation_watch *watch)
{
	struct pollfd poll_fd = { .fd = watch->ended_fd, .events = POLLPRI };

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLPRI;
}

/* A balance was resumed or begun, and paused: the kernel sends no event for that. */
static bool may_have_paused(const struct operation_state *begin, const struct operation_state *now)
{
	if (strcmp(begin->operation, now->operation) != 0)
		return true;
	return strcmp(now->operation, "balance paused") == 0 &&
	       !sysfs_attribute_is_same(begin->generation, now->generation);
}

/* The state is read before the event, so that an operation that ends in between is not missed. */
bool operation_watch_may_have_moved(const struct operation_watch *watch,
				    struct operation_state *ret_now)
{
	read_state(watch, ret_now);
	if (operation_moves_extents(ret_now->operation))
		return true;
	if (!operation_moves_extents(watch->begin.operation))
		return has_ended(watch) || may_have_paused(&watch->begin, ret_now);
	strcpy(ret_now->operation, watch->begin.operation);
	return true;
}
