/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DESCRIPTOR_LIMIT_H
#define FASTPATH_DESCRIPTOR_LIMIT_H

#include <stdbool.h>
#include <sys/resource.h>

/*
 * The number of descriptors that a process may have. A walk keeps one for each directory whose files
 * are being examined; the soft limit is usually 1024, and the hard limit is higher.
 */
struct descriptor_limit {
	/* the limit before the change */
	struct rlimit former;
	bool changed;
};

/* Raise the limit to the hard limit. If that fails it stays as it was. Rests on setrlimit(2). */
struct descriptor_limit descriptor_limit_raise(void);

/* Restore the limit, for programs that this one starts. Open descriptors stay open. */
void descriptor_limit_restore(struct descriptor_limit *limit);

#endif
