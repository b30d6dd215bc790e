/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_OPTIONS_H
#define FASTPATH_FIEMAP_SHARED_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "ui/files.h"
#include "ui/row-sort.h"

enum extent_filter { EXTENTS_ALL, EXTENTS_SHARED, EXTENTS_EXCLUSIVE };

enum sharing_mode {
	/* a row of sums for each file, or only the total */
	MODE_ROWS,
	/* a report on each file */
	MODE_DETAILS,
	/* the total, with the owners of all files together */
	MODE_OWNERS,
	/* a row for each path, which is a subvolume, and none of its files */
	MODE_SUBVOLUMES,
};

/* The options of the command. */
struct sharing_options {
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
	bool ignore_snapshots;
	bool fragments;
	/* it implies FRAGMENTS and FREED, and that data is written back */
	bool rewrite;
	bool groups;
	bool summarize;
	/* --depth, which is valid with HAS_DEPTH */
	bool has_depth;
	uint64_t depth;
	bool disk;
	bool freed;
	/* it implies FREED and SUMMARIZE */
	bool subvolumes;
	enum extent_filter only;
	/* follows from the others */
	enum sharing_mode mode;
	/* FIEMAP_FLAG_* */
	uint32_t fiemap_flags;
};

/* Parses the options; its input is a struct sharing_options. */
extern const struct argp fiemap_shared_argp;

/* With --summarize: how many paths on the command line have a row, 0 if they have none. */
uint32_t fiemap_shared_argument_count(const struct sharing_options *arguments);

/* The columns for --sort that only these rows have. */
#define SORT_AGE "age"
#define SORT_FREED "freed"
/* and others that this command looks at */
#define SORT_PATH "path"
#define SORT_DISK "disk"
#define SORT_PIECES "pieces"
#define SORT_WASTE "waste"

/* Whether --sort, or --top, sorts by the column NAME. */
bool fiemap_shared_sorts_by(const struct sharing_options *arguments, const char *name);

#endif
