/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DESCRIPTOR_LIMIT_H
#define FASTPATH_DESCRIPTOR_LIMIT_H

#include <stdbool.h>
#include <sys/resource.h>

/*
 * How many descriptors a process may have. A walk needs one for each directory on its way down, and
 * shells usually allow 1024, unless one asks for more.
 */
struct descriptor_limit {
	/* what it was before, if it was changed */
	struct rlimit former;
	bool changed;
};

/* As many as the hard limit allows; where that fails, as many as before. Rests on setrlimit(2). */
struct descriptor_limit descriptor_limit_raise(void);

/* As many as before, for programs that this one starts. Those that are open stay so. */
void descriptor_limit_restore(struct descriptor_limit *limit);

#endif
