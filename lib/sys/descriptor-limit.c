// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sys/descriptor-limit.h"

struct descriptor_limit descriptor_limit_raise(void)
{
	struct descriptor_limit limit = { .changed = false };
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, &limit.former) < 0)
		return limit;
	raised = limit.former;
	raised.rlim_cur = raised.rlim_max;
	limit.changed = setrlimit(RLIMIT_NOFILE, &raised) == 0;
	return limit;
}

void descriptor_limit_restore(struct descriptor_limit *limit)
{
	if (limit->changed)
		setrlimit(RLIMIT_NOFILE, &limit->former);
}
