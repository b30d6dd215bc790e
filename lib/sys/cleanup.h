/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CLEANUP_H
#define FASTPATH_CLEANUP_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls FUNCTION with the variable's address at the end of its scope. It need not be used. */
#define CLEANUP(function) __attribute__((cleanup(function), unused))

/* Of any type, which *(void **) must not be used to read. */
static inline void free_pointer(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define CLEANUP_FREE CLEANUP(free_pointer)
#define CLEANUP_CLOSE CLEANUP(close_fd)

#endif
