// SPDX-License-Identifier: GPL-2.0-only
/* Runs a fuzz target on the files given: the main of a build without libFuzzer. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "sys/cleanup.h"

#define LARGEST_INPUT (1 << 20)

static int replay(const char *path)
{
	CLEANUP_FREE uint8_t *data = fuzz_allocate(LARGEST_INPUT);
	FILE *file = fopen(path, "rb");
	size_t size;
	bool whole;

	if (!file)
		return -errno;
	size = fread(data, 1, LARGEST_INPUT, file);
	whole = feof(file);
	fclose(file);
	if (!whole)
		return -EIO;

	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int ret = replay(argv[i]);

		if (ret < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-ret));
			return 1;
		}
	}
	return 0;
}
