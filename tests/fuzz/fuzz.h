/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FUZZ_H
#define FASTPATH_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libFuzzer, or tests/fuzz/replay.c in its place, calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a parser that succeeded promises; checked in every build. */
#define INVARIANT(condition)                                                                    \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

static inline void *fuzz_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	INVARIANT(memory);
	return memory;
}

/* A copy of exactly that size, so that a sanitizer sees a byte too much; freed by the caller. */
static inline void *fuzz_copy(const uint8_t *data, size_t size)
{
	void *copy = fuzz_allocate(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

/* The same as a string, up to the first NUL byte. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *string = fuzz_allocate(size + 1);

	if (size)
		memcpy(string, data, size);
	return string;
}

#endif
