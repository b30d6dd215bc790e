/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHECKSUMS_H
#define FASTPATH_CHECKSUMS_H

#include "num/byte-range.h"

struct checksum_search;

/*
 * Finds the parts of the disk that have checksums. It uses the keys and sizes of the items, and
 * does not read the checksums. Memory and the size of an answer are constant.
 * Returns 0 or -ENOMEM; freed with checksum_search_free().
 */
int checksum_search_new(struct checksum_search **ret_search);
void checksum_search_free(struct checksum_search *search);

/*
 * Start again on the file system of FD, and drop all earlier answers.
 * Returns 0, or a negative errno as checksum_format_of().
 */
int checksum_search_start(struct checksum_search *search, int fd);

/*
 * The first part of RANGE, which is of logical addresses, that has checksums. Calls with ascending
 * ranges are the fastest.
 * Returns 1, 0 if no part has checksums, or a negative errno as tree_search_next().
 */
int checksum_search_find(struct checksum_search *search, struct byte_range range,
			 struct byte_range *ret_part);

#endif
