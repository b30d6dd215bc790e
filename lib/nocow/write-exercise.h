/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WRITE_EXERCISE_H
#define FASTPATH_WRITE_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "sys/cleanup.h"

/* The block size, and the lengths of writes in blocks. All five lengths are equally frequent. */
#define EXERCISE_BLOCK 4096
#define EXERCISE_LENGTHS       \
	{                      \
		1, 2, 4, 8, 16 \
	}
#define EXERCISE_LENGTH_COUNT 5
/* The memory for a file is about 36 bytes for each block. */
#define EXERCISE_SIZE_MAX (8ULL << 30)

/* The number of writes, their bytes and their time. */
struct written {
	uint64_t count;
	uint64_t bytes;
	uint64_t elapsed_ns;
};

/* Random direct writes to a file, and the addresses of its blocks before and after them. */
struct write_exercise;

/*
 * FD is a descriptor with O_DIRECT of a file of SIZE bytes, at most EXERCISE_SIZE_MAX. It stays the
 * caller's. The current addresses of the file's blocks are remembered.
 * Returns 0, -ENOMEM, or a negative errno as fiemap_iter_next(). Freed with write_exercise_free().
 */
int write_exercise_new(struct write_exercise **ret_exercise, int fd, uint64_t size);
void write_exercise_free(struct write_exercise *exercise);
DEFINE_FREEP(write_exercise_free, struct write_exercise)

/* Remember the prediction that RANGE of the file is written in place. */
void write_exercise_predict(struct write_exercise *exercise, struct byte_range range);

/*
 * Write for DURATION_NS. With ONCE write no block twice, and end when all blocks are written.
 * Returns 0, or the negative errno of a write.
 */
int write_exercise_run(struct write_exercise *exercise, uint64_t duration_ns, bool once,
		       struct written *ret_written);

/*
 * The same with the program PATH, which is fio. It is unknown which blocks fio writes.
 * Returns 0, a negative errno as child_capture(), -EPROTO if fio failed or wrote nothing, or -ESRCH
 * if fio cannot open the file through /proc, for example because /proc is not mounted.
 */
int write_exercise_run_fio(struct write_exercise *exercise, const char *path, uint64_t duration_ns,
			   bool once, struct written *ret_written);

/* The result, proved by the addresses of the blocks. */
struct write_verdict {
	/* the bytes that have another address than before */
	uint64_t moved_bytes;
	/* the bytes that were predicted to keep their address */
	uint64_t predicted_bytes;
	/* the number of writes that kept the address of all blocks, and of those predicted to */
	bool writes_known;
	uint64_t proved_writes;
	uint64_t predicted_writes;
};

/*
 * Compare the addresses of the blocks. WRITTEN is the result of the run. If it is unknown which
 * blocks were written, the number of writes in place is known only if all blocks kept their
 * address, and the predicted number only if that was predicted for all blocks.
 * Returns 0, or a negative errno as fiemap_iter_next().
 */
int write_exercise_judge(struct write_exercise *exercise, const struct written *written,
			 struct write_verdict *ret_verdict);

/*
 * Decode the output of fio with --output-format=json: the sums of the writes of its first job.
 * Returns 0, or -EPROTO if TEXT is something else or the job failed.
 */
int fio_parse(const char *text, struct written *ret_written);

#endif
