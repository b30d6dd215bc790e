/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_REPORT_H
#define FASTPATH_SEEK_MAP_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/latency.h"
#include "base/quartiles.h"
#include "probe/feature-status.h"
#include "seek/extent-kind.h"
#include "seek/seek-iter.h"
#include "seek/seek-verdict.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/table.h"

/* The options of the command. */
struct arguments {
	struct global_options *global;
	struct file_options files;
	bool fiemap;
	/* the lines of --map, 0: none is drawn */
	uint64_t map;
	bool qemu;
	bool summarize;
	bool timing;
	bool histogram;
	bool cold;
	bool reopen;
	uint64_t repeat;
	bool verdict;
	bool check;
	bool check_data;
};

/* Whether the report of a file has more than its row of sums. */
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
	/* medians; MEASURED is false for walks that no option asks for or that are impossible */
	struct latency_figures figures[WALK_COUNT];
	bool measured[WALK_COUNT];
	/* the time of a reopened walk in percent of the warm walk before it, pair by pair */
	struct quartiles reopened_percent;
	/* all warm walks together */
	struct latency spread;
	/* of the first warm walk */
	struct counter_delta counter_delta;
	/* of the current walk */
	struct latency latency;
};

/* The judgement of --verdict, and whether the kernel has the feature that makes seeks fast. */
struct verdict {
	struct seek_verdict seek;
	struct feature_status seek_cache;
};

enum seek_help { SEEK_HELP_UNKNOWN, SEEK_HELP_NO, SEEK_HELP_YES };

/* Whether another kernel, with seek-cache, would make the file's calls faster. */
enum seek_help verdict_help(const struct verdict *verdict);

/* A segment, or with --fiemap and --check a part of a segment that has one kind. */
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

/* The checks of --check: compare the segments with FIEMAP, and (=data) read the holes. */
enum check_kind { CHECK_MAPS, CHECK_HOLES, CHECK_KIND_COUNT };

/* The state of both reporters. */
struct report {
	const struct report_ops *ops;
	const struct arguments *arguments;
	struct file_report *files;
	/* text only: the summary with a row per file */
	struct table *summary;
	/* of the current file; not in JSON */
	const char *path;
	/* text only: of the current file; NULL unless an option asks for them */
	struct table *rows;
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

	/* PATH is valid until end_file() */
	int (*begin_file)(struct report *report, const char *path, uint64_t size);
	int (*segment)(struct report *report, const struct part *part);
	int (*end_segments)(struct report *report);
	void (*changed)(struct report *report, bool changed);
	void (*calls)(struct report *report, uint64_t calls);
	int (*timing)(struct report *report, const struct timing *timing);
	void (*counters)(struct report *report, const struct counter_delta *delta);
	void (*verdict)(struct report *report, const struct verdict *verdict);

	/* in place of the check: no option asks for it, or an earlier check failed */
	void (*no_check)(struct report *report, enum check_kind kind);
	void (*begin_check)(struct report *report, enum check_kind kind);
	/* of CHECK_MAPS: lseek and FIEMAP disagree about this part */
	void (*disagreement)(struct report *report, const struct part *part);
	/* of CHECK_HOLES: the byte at OFFSET in this hole is not zero */
	void (*nonzero_hole)(struct report *report, const struct seek_segment *hole,
			     uint64_t offset);
	/* PASSED: the check is complete and found no difference */
	void (*end_check)(struct report *report, enum check_kind kind, bool passed);

	void (*map)(struct report *report);
	int (*sums)(struct report *report, const char *path, const struct sums *sums);
	/* a part of the file's report is missing, for the negative errno RET */
	void (*failed)(struct report *report, int ret);
	/* also after a failure of another function than begin_file() */
	void (*end_file)(struct report *report);

	int (*total)(struct report *report, const struct sums *total);
	/* at the end, of all files; NULL if it draws none */
	int (*maps)(struct report *report);
};

extern const struct report_ops seek_map_text;
extern const struct report_ops seek_map_json;
/* has no functions for a check */
extern const struct report_ops seek_map_metrics;

#endif
