/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TEMPORARY_FILE_H
#define FASTPATH_TEMPORARY_FILE_H

#include <stddef.h>
#include <stdint.h>

/* With the NUL byte, for PREFIX, a string literal */
#define RANDOM_NAME_SIZE(prefix) (sizeof(prefix) + 8)

/*
 * Write PREFIX and a random number to NAME, of SIZE bytes. Most likely no file has this name.
 * Returns 0, or -EIO without randomness. Rests on getrandom(2).
 */
int random_name(char *name, size_t size, const char *prefix);

/* $TMPDIR, or /var/tmp; $TMPDIR is ignored in a setuid program. */
const char *temporary_directory(void);

/*
 * Creates a file without a name in DIRECTORY, for reading and writing.
 * Returns a descriptor that the caller closes, or a negative errno as open(2).
 */
int temporary_file_open(const char *directory);

/*
 * Write all SIZE bytes of DATA to FD at OFFSET, with as many calls as needed. If FD was opened with
 * O_DIRECT, DATA, SIZE and OFFSET must be multiples of the block size.
 * Returns 0, or a negative errno as pwrite(2), -EIO if a call writes nothing.
 */
int write_at(int fd, const void *data, size_t size, uint64_t offset);

#endif
