/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_STATUS_H
#define FASTPATH_FEATURE_STATUS_H

#include <stdbool.h>

#include "probe/feature.h"

/* The evidence for a state. Better evidence has a greater value. */
enum feature_evidence {
	FEATURE_BY_NOTHING,
	/* inferred from the release in mainline; distributions can have backported the feature */
	FEATURE_BY_RELEASE,
	/* measured by a small run */
	FEATURE_BY_MEASURE,
	/* a symbol of the kernel that comes with the feature */
	FEATURE_BY_SYMBOL,
	/* the kernel lists its features of this package's patches */
	FEATURE_BY_LIST,
};

struct feature_status {
	enum feature_state state;
	enum feature_evidence evidence;
	/* the symbol that proves it, else NULL */
	const char *symbol;
};

/* The features of mainline's RELEASE, which has the form of uname(2). */
void feature_status_of_release(const char *release,
			       struct feature_status ret_statuses[FEATURE_COUNT]);

/*
 * The features of the running kernel, whose release is RELEASE, by the best evidence. If ROOT is
 * not NULL it is put before /sys and /proc. A file that cannot be read is no evidence.
 * Rests on /sys/fs/btrfs/features/fastpath and /proc/kallsyms.
 */
void feature_status_read(const char *root, const char *release,
			 struct feature_status ret_statuses[FEATURE_COUNT]);

/*
 * Add the measured STATE to the evidence; FEATURE_UNKNOWN is ignored.
 * Better evidence is kept. Returns whether it contradicts the measured state: one of them says that
 * the feature is absent, and the other one that it is not.
 */
bool feature_status_measured(struct feature_status *status, enum feature_state state);

#endif
