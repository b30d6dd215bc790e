/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_H
#define FASTPATH_FEATURE_H

#include <stddef.h>

#include "base/kernel-release.h"
#include "probe/feature-table.h"

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

/* A set of features: bit 1 << id for each. */
typedef unsigned int feature_set;

/*
 * The features named in the SIZE bytes of TEXT, which has names separated by white space. Other
 * names are ignored.
 * Rests on /sys/fs/btrfs/features/fastpath, which patched kernels have.
 */
feature_set feature_list_parse(const char *text, size_t size);

/*
 * The features that the SIZE bytes of LINE prove. LINE is a line of /proc/kallsyms, and the proof
 * is a symbol that exists only with the feature. The compiler can remove a symbol, so a missing
 * symbol proves nothing.
 * *RET_SYMBOL is its name, if there is one.
 */
feature_set feature_symbol_parse(const char *line, size_t size, const char **ret_symbol);

#endif
