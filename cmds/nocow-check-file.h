/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_FILE_H
#define FASTPATH_NOCOW_CHECK_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nocow/nocow.h"

/*
 * What is known about the subvolume of the last file, until KNOWN_UNTIL. Begins as { 0 }, and is
 * released with nocow_check_forget_subvolume().
 */
struct known_subvolume {
	uint64_t known_until;
	dev_t device;
	uint64_t subvolid;
	uint64_t last_snapshot;
	struct unwritable_chunks *unwritable;
	/* the privilege to search trees is missing, and a warning was printed */
	bool no_tree_search;
};

/*
 * Fills FILE for nocow_iter_start(). FD is a descriptor of the file, and STATUS is its fstat(2).
 * Without the privilege to search trees FILE is not searchable, and a warning is printed once.
 * Returns 0 or a negative errno.
 */
int nocow_check_look_at_file(struct known_subvolume *known, int fd, const struct stat *status,
			     struct nocow_file *ret_file);

void nocow_check_forget_subvolume(struct known_subvolume *known);

#endif
