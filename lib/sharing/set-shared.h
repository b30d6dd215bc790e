/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SET_SHARED_H
#define FASTPATH_SET_SHARED_H

#include <stdint.h>
#include <sys/types.h>

#include "sharing/unique-shared-bytes.h"

/*
 * The shared bytes of files on any number of file systems, whose addresses have nothing to do with each
 * other. Returns 0 or -ENOMEM; freed with set_shared_free(), which accepts NULL.
 */
struct set_shared;
int set_shared_new(struct set_shared **ret_shared);
void set_shared_free(struct set_shared *shared);

/*
 * The set for the file FD on DEVICE, as of fstat(2). It belongs to SHARED. Any thread may call this.
 * Returns 0, -ENOMEM, or a negative errno as filesystem_id_of().
 */
int set_shared_of(struct set_shared *shared, int fd, dev_t device,
		  struct unique_shared_bytes **ret_set);

/* The sum of all sets, to which nothing can be added then. Returns as unique_shared_bytes_total(). */
int set_shared_total(struct set_shared *shared, uint64_t *ret_bytes);
/* As unique_shared_bytes_failed_in(), of the set whose total failed. */
const char *set_shared_failed_in(const struct set_shared *shared);

#endif
