/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_STATUS_H
#define FASTPATH_FEATURE_STATUS_H

#include <stdbool.h>

#include "probe/feature.h"

enum feature_state { FEATURE_UNKNOWN, FEATURE_ABSENT, FEATURE_PRESENT };

/* How a state is known. Ordered: better evidence is greater. */
enum feature_evidence {
	FEATURE_BY_NOTHING,
	/* mainline has it or not; distributions backport, so this is an inference */
	FEATURE_BY_RELEASE,
	/* a small run showed it */
	FEATURE_BY_MEASURE,
	/* a symbol of the kernel that comes with the feature */
	FEATURE_BY_SYMBOL,
	/* the kernel lists what it has of the package's patches */
	FEATURE_BY_LIST,
};

struct feature_status {
	enum feature_state state;
	enum feature_evidence evidence;
	/* the symbol that proves it, else NULL */
	const char *symbol;
};

/* "unknown", "absent" or "present" */
const char *feature_state_name(enum feature_state state);

/* What mainline's RELEASE tells, as uname(2) has it. */
void feature_status_of_release(const char *release,
			       struct feature_status ret_statuses[FEATURE_COUNT]);

/*
 * The features of the running kernel, whose release is RELEASE, by the best evidence there is.
 * ROOT stands before /sys and /proc if not NULL. What cannot be read is no evidence.
 * Rests on /sys/fs/btrfs/features/fastpath and /proc/kallsyms.
 */
void feature_status_read(const char *root, const char *release,
			 struct feature_status ret_statuses[FEATURE_COUNT]);

/*
 * Let a small run have its say, which found STATE; FEATURE_UNKNOWN is nothing.
 * Returns whether better evidence says otherwise, which then stays.
 */
bool feature_status_measured(struct feature_status *status, enum feature_state state);

#endif
