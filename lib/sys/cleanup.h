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

/* Defines FUNCTIONp() for CLEANUP(), where FUNCTION frees a TYPE. The variable is NULL then. */
#define DEFINE_FREEP(function, type)                   \
	static inline void function##p(type **pointer) \
	{                                              \
		function(*pointer);                    \
		*pointer = NULL;                       \
	}

#define CLEANUP_FREE CLEANUP(free_pointer)
#define CLEANUP_CLOSE CLEANUP(close_fd)

#endif
