/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COUNTERS_H
#define FASTPATH_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

#define COUNTER_NAME_SIZE 64
#define COUNTERS_MAX 64

struct counter {
	char name[COUNTER_NAME_SIZE];
	uint64_t value;
};

/* The counters of a patched kernel: how often it took shortcuts and slow paths. */
struct counters {
	size_t count;
	struct counter list[COUNTERS_MAX];
};

/*
 * Parse the SIZE bytes of TEXT, which has a "name value" on each line.
 * Returns 0, or -EPROTO if a line has another form, a name is too long, or there are too many
 * counters.
 */
int counters_parse(const char *text, size_t size, struct counters *ret_counters);

/*
 * Read the counters of the file system FSID from ROOT/FSID/fastpath_stats; ROOT NULL means
 * /sys/fs/btrfs. Returns 0, -ENOENT if the kernel has no counters, -EPROTO, or a negative errno.
 */
int counters_read(const char *root, const uint8_t fsid[FSID_SIZE], struct counters *ret_counters);

/*
 * The same for another FILE of this form in the file system's sysfs directory, such as
 * "commit_stats", which Linux has had since 6.0.
 */
int counters_read_file(const char *root, const uint8_t fsid[FSID_SIZE], const char *file,
		       struct counters *ret_counters);

/* The value of the counter NAME. Returns 0, or -ENOENT if there is no such counter. */
int counters_find(const struct counters *counters, const char *name, uint64_t *ret_value);

/* The changes from BEFORE to AFTER. A counter that BEFORE does not have began at 0. */
void counters_subtract(const struct counters *after, const struct counters *before,
		       struct counters *ret_change);

#endif
