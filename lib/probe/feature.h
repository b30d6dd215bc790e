/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_H
#define FASTPATH_FEATURE_H

#include <stddef.h>

#include "base/kernel-release.h"
#include "probe/feature-table.h"

/* The features of the package, in the order of kernel/STATUS.tsv, which the build makes them of. */
enum feature_id {
#define FEATURE_ID(id, name, version, patchlevel) FEATURE_##id,
	FEATURE_LIST(FEATURE_ID)
#undef FEATURE_ID
		FEATURE_COUNT
};

struct feature {
	const char *name;
	/* the first release of mainline with it */
	struct kernel_release since;
};

extern const struct feature features[FEATURE_COUNT];

/* A set of features: bit 1 << id for each. */
typedef unsigned int feature_set;

/*
 * Those of the SIZE bytes of TEXT, names between white space, that are features. Other names are
 * left out.
 * Rests on /sys/fs/btrfs/features/fastpath, which patched kernels have.
 */
feature_set feature_list_parse(const char *text, size_t size);

/*
 * The features whose presence the SIZE bytes of LINE tell, a line of /proc/kallsyms: a symbol that
 * only the feature's patches have. The compiler may leave a symbol out, so a
 * missing one proves nothing.
 * *RET_SYMBOL is its name, if there is one.
 */
feature_set feature_symbol_parse(const char *line, size_t size, const char **ret_symbol);

#endif
