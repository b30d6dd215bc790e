/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_REPORT_H
#define FASTPATH_SEEK_MAP_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/latency.h"
#include "seek/extent-kind.h"
#include "seek/seek-iter.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/table.h"

/* What is asked for. */
struct arguments {
	struct global_options *global;
	struct file_options files;
	bool fiemap;
	bool map;
	bool qemu;
	bool summarize;
	bool timing;
	bool histogram;
	bool cold;
	bool reopen;
	uint64_t repeat;
	bool check;
	bool check_data;
};

/* Whether a file's report is more than its row of sums. */
bool seek_map_wants_details(const struct arguments *arguments);

/* Bytes, but for the counts. */
struct sums {
	uint64_t size;
	uint64_t data_bytes;
	uint64_t hole_bytes;
	uint64_t segment_count;
	uint64_t calls;
};

enum walk { WALK_COLD, WALK_WARM, WALK_REOPENED, WALK_COUNT };

struct timing {
	/* medians; those not asked for, or not possible, are not measured */
	struct latency_figures figures[WALK_COUNT];
	bool measured[WALK_COUNT];
	/* all warm walks together */
	struct latency spread;
	/* during the first warm walk */
	struct counter_delta counter_delta;
	/* the walk under way */
	struct latency latency;
};

/* A segment, or with --fiemap and --check the part of it that is of one kind. */
struct part {
	uint64_t offset;
	uint64_t length;
	bool is_data;
	enum extent_kind kind;
};

static inline const char *part_type_name(const struct part *part)
{
	return part->is_data ? "data" : "hole";
}

/* What --check compares the segments with: FIEMAP, and with data what is read in holes. */
enum check_kind { CHECK_MAPS, CHECK_HOLES, CHECK_KIND_COUNT };

/* What both reporters need, and what the text between two calls is made of. */
struct report {
	const struct report_ops *ops;
	const struct arguments *arguments;
	struct file_report *files;
	/* of text: a row per file; and of the file under way, each where it is asked for */
	struct table *summary;
	const char *path;
	struct table *rows;
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

	/* PATH is valid until end_file() */
	int (*begin_file)(struct report *report, const char *path, uint64_t size);
	int (*segment)(struct report *report, const struct part *part);
	void (*end_segments)(struct report *report);
	void (*changed)(struct report *report, bool changed);
	void (*calls)(struct report *report, uint64_t calls);
	int (*timing)(struct report *report, const struct timing *timing);
	void (*counters)(struct report *report, const struct counter_delta *delta);

	/* there is nothing to tell: not asked for, or the check before it failed */
	void (*no_check)(struct report *report, enum check_kind kind);
	void (*begin_check)(struct report *report, enum check_kind kind);
	/* of CHECK_MAPS: a part that lseek and FIEMAP tell different things of */
	void (*disagreement)(struct report *report, const struct part *part);
	/* of CHECK_HOLES: one that is not zero at OFFSET */
	void (*nonzero_hole)(struct report *report, const struct seek_segment *hole,
			     uint64_t offset);
	/* PASSED: all was looked at, and nothing found */
	void (*end_check)(struct report *report, enum check_kind kind, bool passed);

	void (*map)(struct report *report);
	int (*sums)(struct report *report, const char *path, const struct sums *sums);
	/* a part of the file's report is missing, for the negative errno RET */
	void (*failed)(struct report *report, int ret);
	/* also after a failure, but not that of begin_file() */
	void (*end_file)(struct report *report);

	int (*total)(struct report *report, const struct sums *total);
};

extern const struct report_ops seek_map_text;
extern const struct report_ops seek_map_json;

#endif
