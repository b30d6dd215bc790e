/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_FILES_H
#define FASTPATH_PROBE_FILES_H

#include "path/temporary-file.h"
#include "sys/interrupts.h"

#define PROBE_BLOCK 4096

#define PROBE_PREFIX "btrfs-fastpath-status."
#define PROBE_NAME_SIZE RANDOM_NAME_SIZE(PROBE_PREFIX)

/* A random name, so most likely no file has it. Returns 0, or -EIO without randomness. */
int probe_name(char ret_name[PROBE_NAME_SIZE]);

/*
 * Write COUNT blocks, every other one from FIRST on, and leave them in memory as far as the kernel
 * does. Returns 0, or a negative errno as write_at().
 */
int probe_dirty_every_other(int fd, unsigned int first, unsigned int count);

/*
 * Write COUNT blocks to disk, every other one from FIRST on, so that each is an extent.
 * Returns 0, or a negative errno as write_at().
 */
int probe_write_every_other(int fd, unsigned int first, unsigned int count);

/* Read FD to its end. Returns 0, or a negative errno. */
int probe_read_all(int fd);

/* unlinkat(2), but a missing file is no error. Returns 0, or a negative errno. */
int probe_remove(int directory_fd, const char *name, int flags);

/* Returns -EINTR if a signal came that INTERRUPTS holds, else 0. */
int probe_interrupted(struct interrupts *interrupts);

#endif
