/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_PROBE_H
#define FASTPATH_FEATURE_PROBE_H

#include <stdint.h>

#include "sys/interrupts.h"

/* A cost that the feature lowers, and a reference that it does not change, in the same unit. */
struct feature_cost {
	uint64_t cost;
	/* 0: there is no reference, so the cost cannot be judged */
	uint64_t reference;
};

#define PROBE_SAID_SIZE 256

/* The step that failed, if an errno is not sufficient. */
struct probe_failure {
	/* "cannot mount the image"; NULL: the run itself */
	const char *step;
	/* what to report about it, unescaped, such as the message of another program; or "" */
	char said[PROBE_SAID_SIZE];
};

/*
 * A small measurement in the directory DIRECTORY_FD on btrfs, which no other user can enter.
 * Returns 0, -EINTR after a signal that INTERRUPTS holds, or a negative errno. It leaves nothing in
 * the directory, also after an error.
 */
typedef int feature_probe_run(int directory_fd, struct interrupts *interrupts,
			      struct feature_cost *ret_cost);

struct probe_image;

/* The same on IMAGE, which is new and mounted, and is discarded afterwards. */
typedef int feature_probe_run_on_image(struct probe_image *image, struct interrupts *interrupts,
				       struct feature_cost *ret_cost);

/*
 * Nanoseconds: FIEMAP with the check for shared extents, after a snapshot; and without the check.
 */
feature_probe_run probe_fiemap_leaf;

/*
 * Nanoseconds: seeks in a file before and after its holes were read. The longer time is the cost,
 * and the shorter one the reference.
 */
feature_probe_run probe_seek_cache;

/*
 * Nanoseconds: seeks in a file with many pieces of data that is not on disk yet; and as many seeks
 * in a file with few of them. Without a reference, the data was written to disk meanwhile.
 */
feature_probe_run probe_seek_cache_improved;

/*
 * Nanoseconds: fsync of a directory with many new files in a transaction; and with few new files.
 */
feature_probe_run probe_log_dir;

/*
 * Bytes read from the disk: of the leaves after a leaf that was in memory when a full send reached
 * it; and of leaves that the send has not reached.
 */
feature_probe_run_on_image probe_send_reada;

/*
 * Nanoseconds: finding out that a large range has checksums, so that it cannot be written in place;
 * and the same for a small range.
 */
feature_probe_run_on_image probe_nocow_csum;

#endif
