/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_PROBE_H
#define FASTPATH_FEATURE_PROBE_H

#include <stdint.h>

#include "base/interrupts.h"

/* What a feature keeps low, and what is the same without it, in one unit. */
struct feature_cost {
	uint64_t cost;
	/* 0: nothing can be said of the cost */
	uint64_t reference;
};

#define PROBE_SAID_SIZE 256

/* What failed, where an errno alone does not tell. */
struct probe_failure {
	/* "cannot mount the image"; NULL: the run itself */
	const char *step;
	/* what another program said of it, unescaped; "" if nothing */
	char said[PROBE_SAID_SIZE];
};

/*
 * A small run in the directory DIRECTORY_FD on btrfs, which no other user may enter. It leaves
 * nothing in there, whatever it returns: 0, -EINTR after a signal that INTERRUPTS holds, or a
 * negative errno.
 */
typedef int feature_probe_run(int directory_fd, struct interrupts *interrupts,
			      struct feature_cost *ret_cost);

struct probe_image;

/* The same on IMAGE, new and mounted, which is thrown away afterwards. */
typedef int feature_probe_run_on_image(struct probe_image *image, struct interrupts *interrupts,
				       struct feature_cost *ret_cost);

/* Nanoseconds: whether extents are shared that a snapshot shares; and mapping them without that. */
feature_probe_run probe_fiemap_leaf;

/*
 * Nanoseconds: seeks over data before or after the holes in between were read, what takes longer;
 * and the other.
 */
feature_probe_run probe_seek_cache;

/* Nanoseconds: fsync of a directory with many new files in one transaction; and with few. */
feature_probe_run probe_log_dir;

/*
 * Bytes: what is left to be read from the disk of the leaves behind one that was in memory when a
 * full send came to it; and of leaves that it has not come to.
 */
feature_probe_run_on_image probe_send_reada;

/*
 * Nanoseconds: finding out that a large range has checksums, so that it cannot be written in place;
 * and a small one.
 */
feature_probe_run_on_image probe_nocow_csum;

#endif
