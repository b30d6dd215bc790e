/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_PROBE_H
#define FASTPATH_FEATURE_PROBE_H

#include <stdint.h>

#include "interrupts.h"

/* What a feature keeps low, and what is the same without it, in one unit. */
struct feature_cost {
	uint64_t cost;
	/* 0: nothing can be said of the cost */
	uint64_t reference;
};

/* Where a probe may make files, on btrfs. */
struct probe_directory {
	const char *path;
	int fd;
};

/*
 * A small run in DIRECTORY, which leaves nothing behind, whatever it returns: 0, -EINTR after a
 * signal that INTERRUPTS holds, or a negative errno.
 */
typedef int feature_probe_run(const struct probe_directory *directory,
			      struct interrupts *interrupts, struct feature_cost *ret_cost);

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
 * full send came to it; and of leaves that it has not come to. Mounts an image of its own: needs
 * CAP_SYS_ADMIN, loop devices, and mkfs.btrfs in $PATH (-ENOPKG).
 */
feature_probe_run probe_send_reada;

/*
 * Nanoseconds: finding out that a large range has checksums, so that it cannot be written in place;
 * and a small one. Needs what probe_send_reada() needs.
 */
feature_probe_run probe_nocow_csum;

#endif
