/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_REPORT_H
#define FASTPATH_FIEMAP_SHARED_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "sharing/extent-owners.h"
#include "sharing/fiemap-timing.h"
#include "sharing/freed-space.h"
#include "sharing/named-set.h"
#include "sharing/owner-names.h"
#include "sharing/owner-summary.h"
#include "sharing/sharing.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/row-sort.h"
#include "ui/table.h"

enum only { ONLY_ALL, ONLY_SHARED, ONLY_EXCLUSIVE };

/* The options of the command. */
struct arguments {
	struct global_options *global;
	struct file_options files;
	struct sort_options sort;
	bool extents;
	bool owners;
	bool why;
	bool timing;
	bool cold;
	/* the lines of --map, 0: none is drawn */
	uint64_t map;
	bool summarize;
	bool disk;
	bool freed;
	enum only only;
	/* FIEMAP_FLAG_* */
	uint32_t fiemap_flags;
};

/* Whether the report of a file has more than its row in the summary. */
bool fiemap_shared_wants_details(const struct arguments *arguments);

/* The number of file extent items for each decision. */
struct decisions {
	uint64_t counts[SHARE_DECISION_COUNT];
};

extern const char *const fiemap_shared_decision_names[SHARE_DECISION_COUNT];

/* The decision if it is the same for all items of an extent, "mixed" if not, NULL without items. */
const char *fiemap_shared_decision_name(const struct decisions *decisions);

/* The state of both reporters. */
struct report {
	const struct report_ops *ops;
	const struct arguments *arguments;
	struct file_report *files;
	/* text only: the summary with a row per file */
	struct table *summary;
	/* of the current file; text only */
	const char *path;
	/* text only: parts of the current file's report, NULL unless an option asks for them */
	struct table *rows;
	struct table *owners;
	struct block_map *map;
	/* text only: of all files, NULL if there is one at most, or no option asks for them */
	struct block_maps *maps;
};

/*
 * A reporter prints each element of the report when it gets it. The functions are called in this
 * order, each one for every file. If an element does not exist, or no option asks for it, the
 * argument is NULL: JSON then prints the key with null, and text prints nothing.
 * The functions that return an int return 0 or a negative errno.
 */
struct report_ops {
	/* before the first file; and at the end of the run: prints the rows left in the tables */
	int (*open)(struct report *report);
	void (*close)(struct report *report);

	/* the whole report of a file without details; SPACE is NULL if unknown or not asked for */
	int (*summary)(struct report *report, const char *path, const struct sharing *sharing,
		       const struct file_space *space);

	int (*begin_file)(struct report *report, const char *path, uint64_t size);
	/* each extent; DECISIONS is NULL if --only excludes the extent from the rows */
	int (*extent)(struct report *report, const struct mapped_extent *extent,
		      const struct decisions *decisions);
	int (*end_extents)(struct report *report);
	void (*calls)(struct report *report, uint64_t calls);
	void (*counters)(struct report *report, const struct counter_delta *delta);
	void (*decisions)(struct report *report, const struct decisions *decisions);
	/* the file has EXTENT_COUNT extents; COLD_NS is NULL without a cold measurement */
	void (*timing)(struct report *report, const struct fiemap_timing *timing,
		       const uint64_t *cold_ns, uint64_t extent_count);

	/* in place of the owners: if ASKED the search for them failed, else no option asks for it */
	void (*no_owners)(struct report *report, bool asked);
	void (*begin_disagreements)(struct report *report);
	void (*disagreement)(struct report *report, const struct owner_disagreement *disagreement);
	void (*end_disagreements)(struct report *report);
	void (*begin_owners)(struct report *report);
	int (*owner)(struct report *report, const struct extent_owner *owner,
		     const struct owner_name *name);
	/* COMPLETE: all owners were reported */
	int (*end_owners)(struct report *report, bool complete);

	void (*map)(struct report *report);
	int (*sums)(struct report *report, const char *path, const struct sharing *sharing,
		    const struct file_space *space);
	/* a part of the file's report is missing, for the negative errno RET */
	void (*failed)(struct report *report, int ret);
	/* also after a failure of another function than begin_file() */
	void (*end_file)(struct report *report);

	/* SET_SHARED_BYTES is NULL if it is unknown, SPACE if unknown or not asked for */
	int (*total)(struct report *report, const struct sharing *total,
		     const uint64_t *set_shared_bytes, const struct freed_space *space);

	/* the owners of all files by subvolume; without a summary they are unknown, or not asked for */
	void (*no_owner_summary)(struct report *report);
	void (*begin_owner_summary)(struct report *report);
	int (*subvolume)(struct report *report, const struct subvolume_owners *owners,
			 const struct owner_name *name);
	int (*end_owner_summary)(struct report *report);

	/* at the end, of all files; NULL if it draws none */
	int (*maps)(struct report *report);
};

extern const struct report_ops fiemap_shared_text;
extern const struct report_ops fiemap_shared_json;
/* has no functions for the details of a file */
extern const struct report_ops fiemap_shared_metrics;

#endif
