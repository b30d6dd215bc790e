/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WRITE_EXERCISE_H
#define FASTPATH_WRITE_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"

/* What every write is a multiple of, and the five lengths in blocks, each as frequent. */
#define EXERCISE_BLOCK 4096
#define EXERCISE_LENGTHS       \
	{                      \
		1, 2, 4, 8, 16 \
	}
#define EXERCISE_LENGTH_COUNT 5
/* Memory for a file is some 36 bytes a block. */
#define EXERCISE_SIZE_MAX (8ULL << 30)

/* How much was written. */
struct written {
	uint64_t count;
	uint64_t bytes;
	uint64_t elapsed_ns;
};

/* Random direct writes to a file, and where its blocks were before and are after. */
struct write_exercise;

/*
 * FD is open on a file of SIZE bytes, EXERCISE_SIZE_MAX at most, with O_DIRECT, and stays the
 * caller's. Where its blocks are now is remembered.
 * Returns 0, -ENOMEM, or a negative errno as fiemap_iter_next(). Freed with write_exercise_free().
 */
int write_exercise_new(struct write_exercise **ret_exercise, int fd, uint64_t size);
void write_exercise_free(struct write_exercise *exercise);
void write_exercise_freep(struct write_exercise **exercise);

/* RANGE of the file is predicted to be written in place. */
void write_exercise_predict(struct write_exercise *exercise, struct byte_range range);

/*
 * Write for DURATION_NS; with ONCE no block twice, and to the end when all blocks are written.
 * Returns 0, or the negative errno of a write.
 */
int write_exercise_run(struct write_exercise *exercise, uint64_t duration_ns, bool once,
		       struct written *ret_written);

/*
 * The same by the program PATH, which is fio. Which blocks it writes is then not known.
 * Returns 0, a negative errno as child_capture(), or -EPROTO where it did not succeed
 * or wrote nothing, -ESRCH where the file is not in /proc for it, as without /proc.
 */
int write_exercise_run_fio(struct write_exercise *exercise, const char *path, uint64_t duration_ns,
			   bool once, struct written *ret_written);

/* What the addresses prove. */
struct write_verdict {
	/* bytes that are elsewhere than before */
	uint64_t moved_bytes;
	/* bytes that were predicted to stay */
	uint64_t predicted_bytes;
	/* how many writes went to blocks that all stayed, and how many to blocks predicted to */
	bool writes_known;
	uint64_t proved_writes;
	uint64_t predicted_writes;
};

/*
 * Look where the blocks are now. WRITTEN is what came of the run; without knowing which blocks were
 * written, the number of writes is known only if all blocks stayed, or were predicted to.
 * Returns 0, or a negative errno as fiemap_iter_next().
 */
int write_exercise_judge(struct write_exercise *exercise, const struct written *written,
			 struct write_verdict *ret_verdict);

/*
 * Decode what fio printed with --output-format=json: the sums of the writes of its first job.
 * Returns 0, or -EPROTO for something else, or where the job failed.
 */
int fio_parse(const char *text, struct written *ret_written);

#endif
