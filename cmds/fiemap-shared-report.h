/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_REPORT_H
#define FASTPATH_FIEMAP_SHARED_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "sharing/extent-owners.h"
#include "sharing/fiemap-timing.h"
#include "sharing/owner-names.h"
#include "sharing/sharing.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/table.h"

enum only { ONLY_ALL, ONLY_SHARED, ONLY_EXCLUSIVE };

/* What is asked for. */
struct arguments {
	struct global_options *global;
	struct file_options files;
	bool extents;
	bool owners;
	bool why;
	bool timing;
	bool cold;
	bool map;
	bool summarize;
	enum only only;
	/* FIEMAP_FLAG_* */
	uint32_t fiemap_flags;
};

/* Whether a file's report is more than its row. */
bool fiemap_shared_wants_details(const struct arguments *arguments);

/* How many file extent items were decided each way. */
struct decisions {
	uint64_t counts[SHARE_DECISION_COUNT];
};

extern const char *const fiemap_shared_decision_names[SHARE_DECISION_COUNT];

/* The one decision made for all items of an extent, "mixed", or NULL if there was none. */
const char *fiemap_shared_decision_name(const struct decisions *decisions);

/* What both reporters need, and what the text between two calls is made of. */
struct report {
	const struct report_ops *ops;
	const struct arguments *arguments;
	struct file_report *files;
	/* of text: a row per file; and of the file under way, each where it is asked for */
	struct table *summary;
	struct table *rows;
	struct table *owners;
	struct block_map *map;
};

/*
 * Tells what was found, element by element, in this order. JSON names what was not asked for, too,
 * text leaves it out: so each is called for every file, with NULL for what there is not.
 * Those that return an int return 0 or a negative errno.
 */
struct report_ops {
	/* before all files, and at the end of the run, which prints what tables hold */
	int (*open)(struct report *report);
	void (*close)(struct report *report);

	/* all that is told of a file without details */
	int (*summary)(struct report *report, const char *path, const struct sharing *sharing);

	int (*begin_file)(struct report *report, const char *path, uint64_t size);
	/* every extent; DECISIONS is NULL if --only leaves it out of the rows */
	int (*extent)(struct report *report, const struct mapped_extent *extent,
		      const struct decisions *decisions);
	void (*end_extents)(struct report *report);
	void (*calls)(struct report *report, uint64_t calls);
	void (*counters)(struct report *report, const struct counter_delta *delta);
	void (*decisions)(struct report *report, const struct decisions *decisions);
	/* of a file of EXTENT_COUNT extents; COLD_NS is NULL if it was not timed cold */
	void (*timing)(struct report *report, const struct fiemap_timing *timing,
		       const uint64_t *cold_ns, uint64_t extent_count);

	/* there are none to tell: not ASKED for, or it failed */
	void (*no_owners)(struct report *report, bool asked);
	void (*begin_disagreements)(struct report *report);
	void (*disagreement)(struct report *report, const struct owner_disagreement *disagreement);
	void (*end_disagreements)(struct report *report);
	void (*begin_owners)(struct report *report);
	int (*owner)(struct report *report, const struct extent_owner *owner,
		     const struct owner_name *name);
	/* COMPLETE: there are no others */
	void (*end_owners)(struct report *report, bool complete);

	void (*map)(struct report *report);
	int (*sums)(struct report *report, const char *path, const struct sharing *sharing);
	/* a part of the file's report is missing, for the negative errno RET */
	void (*failed)(struct report *report, int ret);
	/* also after a failure, but not that of begin_file() */
	void (*end_file)(struct report *report);

	/* SET_SHARED_BYTES is NULL if it could not be found out */
	int (*total)(struct report *report, const struct sharing *total,
		     const uint64_t *set_shared_bytes);
};

extern const struct report_ops fiemap_shared_text;
extern const struct report_ops fiemap_shared_json;

#endif
