// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/filesystem.h"
#include "fs/inode-flags.h"
#include "fsync/fsync-exercise.h"
#include "num/saturating.h"
#include "path/temporary-file.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

const char *fsync_workload_name(enum fsync_workload workload)
{
	static const char *const names[FSYNC_WORKLOADS] = {
		[FSYNC_DIRECTORY] = "directory",
		[FSYNC_APPEND] = "append",
		[FSYNC_OVERWRITE] = "overwrite",
		[FSYNC_RENAME] = "rename",
	};

	return names[workload];
}

/* -- the file with data -- */

/* Xorshift: the same blocks in every run. */
static uint64_t next_random(struct fsync_exercise *exercise)
{
	exercise->random ^= exercise->random << 13;
	exercise->random ^= exercise->random >> 7;
	exercise->random ^= exercise->random << 17;
	return exercise->random;
}

static int make_data(struct fsync_exercise *exercise, const char *name)
{
	int fd;

	exercise->step = FSYNC_STEP_CREATE;
	fd = fsync_folder_make_data(&exercise->folder, name);
	if (fd < 0)
		return fd;
	exercise->data_fd = fd;
	return exercise->plan.nocow ? inode_flags_set_nocow(fd, true) : 0;
}

static int write_block(struct fsync_exercise *exercise, uint64_t block)
{
	const uint64_t size = exercise->plan.size;

	exercise->step = FSYNC_STEP_WRITE;
	return write_at(exercise->data_fd, exercise->data, size, block * size);
}

/* On disk, so that the first fsync is not that of all blocks. */
static int write_all_blocks(struct fsync_exercise *exercise, struct interrupts *interrupts)
{
	int ret = 0;

	for (uint64_t block = 0; block < FSYNC_BLOCKS && ret == 0; block++) {
		if (interrupts_pending(interrupts))
			return 0;
		ret = write_block(exercise, block);
	}
	if (ret < 0)
		return ret;
	exercise->step = FSYNC_STEP_SYNC;
	return fsync(exercise->data_fd) < 0 ? -errno : 0;
}

int fsync_exercise_prepare(struct fsync_exercise *exercise, struct interrupts *interrupts)
{
	const struct fsync_plan *plan = &exercise->plan;
	int ret;

	if (plan->workload == FSYNC_DIRECTORY)
		return 0;
	exercise->step = FSYNC_STEP_CREATE;
	exercise->data_fd = -1;
	exercise->data = malloc(plan->size);
	if (!exercise->data)
		return -ENOMEM;
	exercise->random = 88172645463325252;
	/* Compression must not make it small. */
	for (uint64_t i = 0; i < plan->size; i++)
		exercise->data[i] = next_random(exercise);
	if (plan->workload == FSYNC_RENAME)
		return 0;
	ret = make_data(exercise, FSYNC_DATA_NAME);
	if (ret < 0 || plan->workload == FSYNC_APPEND)
		return ret;
	return write_all_blocks(exercise, interrupts);
}

static void close_data(struct fsync_exercise *exercise)
{
	close_fd(&exercise->data_fd);
	exercise->data_fd = -1;
}

void fsync_exercise_free(struct fsync_exercise *exercise)
{
	if (!exercise->data)
		return;
	close_data(exercise);
	free(exercise->data);
	exercise->data = NULL;
}

/* -- the exercise -- */

/* COUNTERS were read before. Their generation becomes that of a running transaction. */
static int touch(struct fsync_exercise *exercise, struct commit_counters *counters)
{
	int ret;

	counters->generation_known = false;
	ret = fsync_folder_touch(&exercise->folder);
	if (ret == 0)
		ret = commit_counters_read_generation(exercise->folder.fd, counters);
	generation_offset_learn(&exercise->generation_offset, counters);
	return ret;
}

int fsync_exercise_begin(struct fsync_exercise *exercise)
{
	struct commit_counters counters;
	int ret = commit_counters_read(NULL, exercise->folder.fd, &counters);

	if (ret < 0)
		return ret;
	exercise->begin = counters;
	touch(exercise, &counters);
	exercise->started_at = monotonic_ns();
	return 0;
}

bool fsync_exercise_is_done(const struct fsync_exercise *exercise)
{
	return exercise->done >= exercise->plan.operations;
}

static int change(struct fsync_exercise *exercise)
{
	int ret;

	switch (exercise->plan.workload) {
	case FSYNC_APPEND:
		return write_block(exercise, exercise->done);
	case FSYNC_OVERWRITE:
		return write_block(exercise, next_random(exercise) % FSYNC_BLOCKS);
	case FSYNC_RENAME:
		ret = make_data(exercise, FSYNC_NEW_DATA_NAME);
		return ret < 0 ? ret : write_block(exercise, 0);
	default:
		exercise->step = FSYNC_STEP_CREATE;
		return fsync_folder_add(&exercise->folder);
	}
}

static int operate(struct fsync_exercise *exercise)
{
	int ret = change(exercise);

	if (ret == 0)
		exercise->done++;
	return ret;
}

/* Nothing else happens between the last change and the fsync of FD. */
static int sync_and_look(struct fsync_exercise *exercise, int fd, struct fsync_evidence *evidence)
{
	const int folder_fd = exercise->folder.fd;
	int ret;

	exercise->step = FSYNC_STEP_SYNC;
	ret = commit_counters_read_generation(folder_fd, &evidence->before);
	if (ret == 0)
		ret = fsync_timed(fd, &evidence->duration_ns);
	if (ret == 0)
		ret = commit_counters_read(NULL, folder_fd, &evidence->after);
	return ret;
}

/* Of two fsyncs. */
static enum fsync_kind joined_kind(enum fsync_kind a, enum fsync_kind b)
{
	if (a == FSYNC_FULL || b == FSYNC_FULL)
		return FSYNC_FULL;
	return a == FSYNC_UNCERTAIN ? a : b;
}

/* Adds the fsync of FD to SAMPLE. The reading in EVIDENCE was before the last change. */
static int add_fsync(struct fsync_exercise *exercise, int fd, struct fsync_evidence *evidence,
		     struct fsync_sample *sample)
{
	int ret = sync_and_look(exercise, fd, evidence);

	if (ret < 0)
		return ret;
	generation_offset_learn(&exercise->generation_offset, &evidence->before);
	evidence->later = evidence->after;
	/* An error here also fails the next operation. */
	touch(exercise, &evidence->later);
	sample->duration_ns += evidence->duration_ns;
	sample->kind = joined_kind(sample->kind,
				   fsync_kind_of(evidence, &exercise->generation_offset));
	return 0;
}

/* Renames the file, and adds the fsync of the directory to SAMPLE. */
static int add_rename(struct fsync_exercise *exercise, struct fsync_sample *sample)
{
	const struct fsync_folder *folder = &exercise->folder;
	struct fsync_evidence evidence = { 0 };
	int ret;

	close_data(exercise);
	exercise->step = FSYNC_STEP_EXAMINE;
	ret = commit_counters_read(NULL, folder->fd, &evidence.before);
	if (ret < 0)
		return ret;
	exercise->step = FSYNC_STEP_RENAME;
	ret = fsync_folder_replace_data(&exercise->folder);
	return ret < 0 ? ret : add_fsync(exercise, folder->fd, &evidence, sample);
}

static void record(struct fsync_exercise *exercise, const struct fsync_sample *sample)
{
	struct fsync_kind_sums *sums = &exercise->kinds[sample->kind];

	latency_record(&exercise->latency, sample->duration_ns);
	trend_record(&exercise->trend, sample->operations, sample->duration_ns);
	sums->count++;
	sums->total_ns = saturating_add(sums->total_ns, sample->duration_ns);
	if (sample->duration_ns > sums->max_ns)
		sums->max_ns = sample->duration_ns;
}

int fsync_exercise_next(struct fsync_exercise *exercise, struct fsync_sample *ret_sample)
{
	const struct fsync_folder *folder = &exercise->folder;
	struct fsync_sample sample = { .kind = FSYNC_LOG };
	struct fsync_evidence evidence = { 0 };
	int ret;

	if ((exercise->done + 1) % exercise->plan.every)
		return operate(exercise);
	exercise->step = FSYNC_STEP_EXAMINE;
	ret = commit_counters_read(NULL, folder->fd, &evidence.before);
	if (ret == 0)
		ret = operate(exercise);
	if (ret == 0)
		ret = add_fsync(exercise, exercise->data ? exercise->data_fd : folder->fd,
				&evidence, &sample);
	if (ret == 0 && exercise->plan.workload == FSYNC_RENAME)
		ret = add_rename(exercise, &sample);
	if (ret < 0)
		return ret;
	sample.operations = exercise->done;
	record(exercise, &sample);
	*ret_sample = sample;
	return 1;
}

int fsync_exercise_pause(struct fsync_exercise *exercise, struct interrupts *interrupts)
{
	const struct fsync_plan *plan = &exercise->plan;
	int ret = 0;

	if (exercise->done + plan->every > plan->operations)
		return 0;
	exercise->step = FSYNC_STEP_COMMIT;
	if (plan->commits_between)
		ret = filesystem_commit(exercise->folder.fd);
	if (ret == 0 && plan->pause_ns)
		interrupts_sleep(interrupts, plan->pause_ns);
	return ret;
}

void fsync_exercise_end(struct fsync_exercise *exercise)
{
	exercise->elapsed_ns = monotonic_ns() - exercise->started_at;
	commit_counters_read(NULL, exercise->folder.fd, &exercise->end);
}
