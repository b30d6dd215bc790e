// SPDX-License-Identifier: GPL-2.0-only
/* An input is the release that uname() gives. */
#include "config.h"

#include <stdio.h>

#include "fuzz.h"
#include "sys/cleanup.h"
#include "sys/kernel-release.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_string(data, size);
	struct kernel_release release = { 77, 78 }, again;
	char numbers[32];

	if (kernel_release_parse(text, &release) < 0) {
		INVARIANT(release.version == 77 && release.patchlevel == 78);
		return 0;
	}
	snprintf(numbers, sizeof(numbers), "%u.%u", release.version, release.patchlevel);
	INVARIANT(kernel_release_parse(numbers, &again) == 0);
	INVARIANT(kernel_release_compare(release, again) == 0);
	return 0;
}
