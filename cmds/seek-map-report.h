/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_REPORT_H
#define FASTPATH_SEEK_MAP_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "num/latency.h"
#include "num/quartiles.h"
#include "probe/feature-status.h"
#include "seek/extent-kind.h"
#include "seek/seek-iter.h"
#include "seek/seek-verdict.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/files.h"
#include "ui/record.h"

/* The options of the command. */
struct seek_options {
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
bool seek_map_wants_details(const struct seek_options *arguments);

/* Bytes, but for the counts. */
struct seek_sums {
	uint64_t size;
	uint64_t data_bytes;
	uint64_t hole_bytes;
	uint64_t segment_count;
	uint64_t calls;
};

struct seek_row {
	/* NULL: all files */
	const char *path;
	struct seek_sums sums;
};

/* Fewer pairs of walks show no ratio. */
#define TIMING_PAIRS_MIN 5

enum walk { WALK_COLD, WALK_WARM, WALK_REOPENED, WALK_COUNT };

struct seek_timing {
	/* medians; MEASURED is false for walks that no option asks for or that are impossible */
	struct latency_figures figures[WALK_COUNT];
	bool measured[WALK_COUNT];
	/* the time of a reopened walk in percent of the warm walk before it, pair by pair */
	struct quartiles reopened_percent;
	/* whether there were enough pairs for that */
	bool is_compared;
	/* all warm walks together */
	struct latency spread;
	/* of the first warm walk */
	struct counter_delta counter_delta;
	/* of the current walk */
	struct latency latency;
};

/* The judgement of --verdict, and whether the kernel has the feature that makes seeks fast. */
struct kernel_verdict {
	struct seek_verdict seek;
	struct feature_status seek_cache;
};

/* A segment, or with --fiemap and --check a part of a segment that has one kind. */
struct seek_part {
	uint64_t offset;
	uint64_t length;
	bool is_data;
	enum extent_kind kind;
};

static inline const char *part_type_name(const struct seek_part *part)
{
	return part->is_data ? "data" : "hole";
}

/* The checks of --check: compare the segments with FIEMAP, and (=data) read the holes. */
enum check_kind { CHECK_MAPS, CHECK_HOLES, CHECK_KIND_COUNT };

/* The state of the report. */
struct seek_report {
	const struct seek_options *arguments;
	struct files *files;
	/* of the current file, or NULL */
	const char *path;
	struct rows *rows;
	/* the sums of each file */
	struct rows *summary;
	struct seek_row total;
	/* with --map */
	struct file_maps maps;
};

/*
 * The parts of the report, in this order. If an option does not ask for a part, the argument is NULL.
 * Those that return an int return 0 or a negative errno.
 */

/* PATH is valid until seek_report_end_file(), unless this fails. */
int seek_report_begin_file(struct seek_report *report, const char *path, uint64_t size);
int seek_report_segment(struct seek_report *report, const struct seek_part *part);
/* after the segments, which rows_end() ends */
void seek_report_calls(struct seek_report *report, bool changed, uint64_t calls);
int seek_report_timing(struct seek_report *report, const struct seek_timing *timing);
void seek_report_verdict(struct seek_report *report, const struct kernel_verdict *verdict);

/* lseek and FIEMAP disagree about this part */
void seek_report_disagreement(struct seek_report *report, const struct seek_part *part);
/* the byte at OFFSET in this hole is not zero */
void seek_report_nonzero_hole(struct seek_report *report, const struct seek_segment *hole,
			      uint64_t offset);
/* PASSED: the check is complete and found no difference */
void seek_report_end_check(struct seek_report *report, enum check_kind kind, bool passed);

int seek_report_sums(struct seek_report *report, const struct seek_sums *sums);
/* also after a failure of another function, for the negative errno ERROR, else 0 */
void seek_report_end_file(struct seek_report *report, int error);

int seek_report_total(struct seek_report *report);
/* at the end of the run: prints the rows that are left */
void seek_report_close(struct seek_report *report);

#endif
