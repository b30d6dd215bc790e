/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_H
#define FASTPATH_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/feature-table.h"
#include "sys/kernel-release.h"

/* The features of the package. The build generates them from kernel/STATUS.tsv, in its order. */
enum feature_id {
#define FEATURE_ID(id, name, version, patchlevel) FEATURE_##id,
	FEATURE_LIST(FEATURE_ID)
#undef FEATURE_ID
		FEATURE_COUNT
};

struct feature {
	const char *name;
	/* the first release of mainline that has the feature */
	struct kernel_release since;
};

extern const struct feature features[FEATURE_COUNT];

/* Whether a kernel has a feature. A state with a greater value includes those before it. */
enum feature_state {
	FEATURE_UNKNOWN,
	FEATURE_ABSENT,
	FEATURE_PRESENT,
	/* the kernel would have it without this package's patches, and they make it faster */
	FEATURE_IMPROVED,
};

/* "unknown", "absent", "present" or "improved" */
const char *feature_state_name(enum feature_state state);

/* Whether a kernel with this STATE has the feature. */
bool feature_state_is_present(enum feature_state state);

/*
 * The state that this package's patches give FEATURE on a kernel of RELEASE; FEATURE_UNKNOWN if
 * there are no patches of the feature for this release.
 */
enum feature_state feature_state_patched(enum feature_id feature, struct kernel_release release);

/*
 * The states of all features by the SIZE bytes of TEXT, which has words separated by white space: a
 * feature's name if the kernel has it, and "NAME:improved" if the patches improve it. Other words
 * are ignored, and a feature without a word is absent.
 * Rests on /sys/fs/btrfs/features/fastpath, which patched kernels have.
 */
void feature_list_parse(const char *text, size_t size,
			enum feature_state ret_states[FEATURE_COUNT]);

/* A symbol of the kernel that exists only if a feature has a certain state. */
struct feature_symbol {
	enum feature_id feature;
	/* present or improved */
	enum feature_state state;
	const char *name;
};

/*
 * The symbol in the SIZE bytes of LINE, a line of /proc/kallsyms; NULL if it proves nothing. The
 * compiler can remove a symbol, so a missing symbol proves nothing either.
 */
const struct feature_symbol *feature_symbol_parse(const char *line, size_t size);

#endif
