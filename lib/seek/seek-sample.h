/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_SAMPLE_H
#define FASTPATH_SEEK_SAMPLE_H

#include <stdint.h>

/*
 * What lseek costs in a file. Times are in nanoseconds.
 *
 * A kernel with the seek problem looks at all that it has in memory about the rest of the file, in
 * each call. So a call costs more the more of the file comes after its offset. What else makes a
 * call slow, such as a long fragmented piece of data, lies between its offset and its answer. A
 * call whose answer is its own offset shows the first cost alone.
 */
struct seek_sample {
	/* the mean of calls of short walks that begin all over the file */
	uint64_t call_ns;
	/* the fastest of several calls that answer their own offset, at the start and at the end */
	uint64_t start_ns;
	uint64_t end_ns;
};

/*
 * Take a sample of the file FD, of SIZE bytes, at least 1. The number of calls does not depend on
 * the size; it is some hundred, and fewer if they are slow.
 * Returns 1; 0 if the file changed so that there is no sample; or a negative errno as
 * seek_iter_next(). Rests on lseek(2).
 */
int seek_sample_take(int fd, uint64_t size, struct seek_sample *ret_sample);

#endif
