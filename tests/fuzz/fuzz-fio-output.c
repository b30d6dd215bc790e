// SPDX-License-Identifier: GPL-2.0-only
/* An input is what fio prints with --output-format=json. */
#include "config.h"

#include "fuzz.h"
#include "nocow/write-exercise.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_string(data, size);
	struct written written = { 77, 78, 79 };

	if (fio_parse(text, &written) == 0)
		INVARIANT(written.elapsed_ns % 1000000 == 0);
	else
		INVARIANT(written.count == 77 && written.bytes == 78 && written.elapsed_ns == 79);
	return 0;
}
