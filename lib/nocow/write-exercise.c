// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "nocow/write-exercise.h"
#include "path/temporary-file.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

#define WRITE_LENGTH_MAX (16 * EXERCISE_BLOCK)
#define FIO_OUTPUT (256 * 1024)
/* Where there is room for some in its command line. */
#define FIO_OPTIONS 3

static const unsigned int lengths[EXERCISE_LENGTH_COUNT] = EXERCISE_LENGTHS;

struct block {
	uint64_t bytenr;
	/* writes of each length that began here */
	uint32_t counts[EXERCISE_LENGTH_COUNT];
	bool written;
	bool predicted;
	bool moved;
};

struct write_exercise {
	int fd;
	uint64_t size;
	uint64_t block_count;
	struct block *blocks;
	uint64_t unwritten_count;
	/* of the random numbers */
	uint64_t state;
	/* whether the blocks know of every write */
	bool logged;
	char *buffer;
	struct fiemap_iter *mapped;
};

/* Visits every block of an extent; what has none does not come. */
static int for_each_block(struct write_exercise *exercise,
			  void (*visit)(struct block *block, uint64_t bytenr))
{
	const struct byte_range whole = { 0, exercise->size };
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(exercise->mapped, exercise->fd, whole, FIEMAP_FLAG_SYNC);
	while ((ret = fiemap_iter_next(exercise->mapped, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, whole))
			continue;
		for (uint64_t done = 0; done < extent.length; done += EXERCISE_BLOCK)
			visit(&exercise->blocks[(extent.offset + done) / EXERCISE_BLOCK],
			      extent.bytenr + done);
	}
	return ret;
}

static void remember(struct block *block, uint64_t bytenr)
{
	block->bytenr = bytenr;
}

static void compare(struct block *block, uint64_t bytenr)
{
	block->moved = block->bytenr != bytenr;
}

int write_exercise_new(struct write_exercise **ret_exercise, int fd, uint64_t size)
{
	struct write_exercise *exercise = calloc(1, sizeof(*exercise));
	int ret;

	if (!exercise)
		return -ENOMEM;
	exercise->fd = fd;
	exercise->size = size;
	exercise->block_count = size / EXERCISE_BLOCK;
	exercise->unwritten_count = exercise->block_count;
	exercise->blocks = calloc(exercise->block_count, sizeof(*exercise->blocks));
	ret = fiemap_iter_new(&exercise->mapped);
	if (ret == 0 && (!exercise->blocks || posix_memalign((void **)&exercise->buffer,
							     EXERCISE_BLOCK, WRITE_LENGTH_MAX)))
		ret = -ENOMEM;
	if (ret == 0)
		ret = for_each_block(exercise, remember);
	if (ret < 0) {
		write_exercise_free(exercise);
		return ret;
	}
	memset(exercise->buffer, 0xa5, WRITE_LENGTH_MAX);
	if (getrandom(&exercise->state, sizeof(exercise->state), GRND_NONBLOCK) < 0)
		exercise->state = monotonic_ns();
	/* the generator would stay at 0 */
	exercise->state |= 1;

	*ret_exercise = exercise;
	return 0;
}

void write_exercise_free(struct write_exercise *exercise)
{
	if (!exercise)
		return;
	fiemap_iter_free(exercise->mapped);
	free(exercise->buffer);
	free(exercise->blocks);
	free(exercise);
}

void write_exercise_predict(struct write_exercise *exercise, struct byte_range range)
{
	uint64_t end = byte_range_end(range);

	if (end > exercise->size)
		end = exercise->size;
	for (uint64_t offset = range.offset; offset < end; offset += EXERCISE_BLOCK)
		exercise->blocks[offset / EXERCISE_BLOCK].predicted = true;
}

/* A number below LIMIT; xorshift64 is random enough for places. */
static uint64_t random_below(struct write_exercise *exercise, uint64_t limit)
{
	uint64_t state = exercise->state;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	exercise->state = state;
	return state % limit;
}

/* From a random place the first that was not written yet. */
static uint64_t choose_unwritten(struct write_exercise *exercise)
{
	uint64_t block = random_below(exercise, exercise->block_count);

	while (exercise->blocks[block].written)
		block = (block + 1) % exercise->block_count;
	return block;
}

/* How many of WANTED blocks from BLOCK on can be written, where none may be twice. */
static unsigned int room_at(const struct write_exercise *exercise, uint64_t block,
			    unsigned int wanted)
{
	unsigned int room = 0;

	while (room < wanted && block + room < exercise->block_count &&
	       !exercise->blocks[block + room].written)
		room++;
	return room;
}

/* Chooses a place and an index into the lengths. */
static uint64_t choose(struct write_exercise *exercise, bool once, unsigned int *ret_length)
{
	unsigned int length = random_below(exercise, EXERCISE_LENGTH_COUNT);
	uint64_t block;
	unsigned int room;

	if (once) {
		block = choose_unwritten(exercise);
		room = room_at(exercise, block, lengths[length]);
	} else {
		block = random_below(exercise, exercise->block_count);
		room = exercise->block_count - block < lengths[length] ?
			       exercise->block_count - block :
			       lengths[length];
	}
	while (lengths[length] > room)
		length--;
	*ret_length = length;
	return block;
}

static int write_blocks(struct write_exercise *exercise, uint64_t block, unsigned int length)
{
	int ret;

	ret = write_at(exercise->fd, exercise->buffer, lengths[length] * EXERCISE_BLOCK,
		       block * EXERCISE_BLOCK);
	if (ret < 0)
		return ret;

	exercise->blocks[block].counts[length]++;
	for (unsigned int i = 0; i < lengths[length]; i++) {
		exercise->unwritten_count -= !exercise->blocks[block + i].written;
		exercise->blocks[block + i].written = true;
	}
	return 0;
}

int write_exercise_run(struct write_exercise *exercise, uint64_t duration_ns, bool once,
		       struct written *ret_written)
{
	struct written written = { 0 };
	uint64_t began = monotonic_ns();

	exercise->logged = true;
	do {
		unsigned int length;
		uint64_t block;
		int ret;

		if (once && !exercise->unwritten_count)
			break;
		block = choose(exercise, once, &length);
		ret = write_blocks(exercise, block, length);
		if (ret < 0)
			return ret;
		written.count++;
		written.bytes += lengths[length] * EXERCISE_BLOCK;
		written.elapsed_ns = monotonic_ns() - began;
	} while (written.elapsed_ns < duration_ns);

	*ret_written = written;
	return 0;
}

/* -- fio -- */

static int read_number(struct json_object *object, const char *key, uint64_t *ret_number)
{
	struct json_object *number;

	if (!json_object_object_get_ex(object, key, &number) ||
	    !json_object_is_type(number, json_type_int) || json_object_get_int64(number) < 0)
		return -EPROTO;
	*ret_number = json_object_get_uint64(number);
	return 0;
}

static int read_job(struct json_object *job, struct written *ret_written)
{
	uint64_t error = 0, milliseconds;
	struct json_object *write;
	struct written written;

	if (!json_object_is_type(job, json_type_object) || read_number(job, "error", &error) ||
	    error || !json_object_object_get_ex(job, "write", &write) ||
	    !json_object_is_type(write, json_type_object))
		return -EPROTO;
	if (read_number(write, "total_ios", &written.count) ||
	    read_number(write, "io_bytes", &written.bytes) ||
	    read_number(write, "runtime", &milliseconds) ||
	    __builtin_mul_overflow(milliseconds, NANOSECONDS_PER_SECOND / 1000,
				   &written.elapsed_ns))
		return -EPROTO;

	*ret_written = written;
	return 0;
}

int fio_parse(const char *text, struct written *ret_written)
{
	/* Warnings can come before it. */
	const char *start = strchr(text, '{');
	struct json_object *root, *jobs;
	int ret = -EPROTO;

	root = start ? json_tokener_parse(start) : NULL;
	if (root && json_object_is_type(root, json_type_object) &&
	    json_object_object_get_ex(root, "jobs", &jobs) &&
	    json_object_is_type(jobs, json_type_array) && json_object_array_length(jobs) == 1)
		ret = read_job(json_object_array_get_idx(jobs, 0), ret_written);
	json_object_put(root);
	return ret;
}

static int capture_fio(const char *const *argv, struct written *ret_written)
{
	CLEANUP_FREE char *output = malloc(FIO_OUTPUT);
	size_t length;
	int ret;

	if (!output)
		return -ENOMEM;
	ret = child_capture(argv[0], (char *const *)argv, output, FIO_OUTPUT - 1, &length);
	if (ret < 0)
		return ret;
	output[length] = '\0';
	return fio_parse(output, ret_written);
}

/* Whether PATH is the file: there may be no /proc, or one of other processes. */
static int check_path(int fd, const char *path)
{
	struct stat file, found;

	if (fstat(fd, &file) < 0)
		return -errno;
	if (stat(path, &found) < 0 || file.st_dev != found.st_dev || file.st_ino != found.st_ino)
		return -ESRCH;
	return 0;
}

/*
 * Without time_based fio covers the file once, no block twice, and for that makes blocks shorter.
 * Otherwise it need not know what it has written.
 */
static int run_fio(const char *path, const char *file, uint64_t size, uint64_t duration_ns,
		   bool once, struct written *ret_written)
{
	CLEANUP_FREE char *file_option = NULL, *size_option = NULL, *runtime = NULL;
	const char *argv[] = {
		path,
		"--name=nocow-check",
		"--thread=1",
		NULL,
		NULL,
		NULL,
		"--rw=randwrite",
		"--bssplit=4k/20:8k/20:16k/20:32k/20:64k/20",
		"--direct=1",
		"--ioengine=psync",
		"--fallocate=none",
		"--allow_file_create=0",
		"--output-format=json",
		once ? NULL : "--time_based=1",
		once ? NULL : "--norandommap=1",
		NULL,
	};

	if (asprintf(&file_option, "--filename=%s", file) < 0)
		file_option = NULL;
	if (asprintf(&size_option, "--size=%" PRIu64, size) < 0)
		size_option = NULL;
	if (asprintf(&runtime, "--runtime=%" PRIu64 "ms", duration_ns / 1000000) < 0)
		runtime = NULL;
	if (!file_option || !size_option || !runtime)
		return -ENOMEM;
	argv[FIO_OPTIONS] = file_option;
	argv[FIO_OPTIONS + 1] = size_option;
	argv[FIO_OPTIONS + 2] = runtime;
	return capture_fio(argv, ret_written);
}

int write_exercise_run_fio(struct write_exercise *exercise, const char *path, uint64_t duration_ns,
			   bool once, struct written *ret_written)
{
	CLEANUP_FREE char *file = NULL;
	struct written written;
	int ret;

	/* The file has no name, but this process has it open. */
	if (asprintf(&file, "/proc/%d/fd/%d", (int)getpid(), exercise->fd) < 0) {
		file = NULL;
		return -ENOMEM;
	}
	ret = check_path(exercise->fd, file);
	if (ret == 0)
		ret = run_fio(path, file, exercise->size, duration_ns, once, &written);
	if (ret < 0)
		return ret;
	/* It can fail to open the file and say that all went well. */
	if (!written.count || !written.bytes)
		return -EPROTO;
	*ret_written = written;
	return 0;
}

/* -- what came of it -- */

static bool all_blocks(const struct block *blocks, unsigned int count, bool predicted)
{
	for (unsigned int i = 0; i < count; i++)
		if (predicted ? !blocks[i].predicted : blocks[i].moved)
			return false;
	return true;
}

static void count_logged_writes(const struct write_exercise *exercise,
				struct write_verdict *verdict)
{
	verdict->writes_known = true;
	for (uint64_t block = 0; block < exercise->block_count; block++) {
		for (unsigned int i = 0; i < EXERCISE_LENGTH_COUNT; i++) {
			const struct block *first = &exercise->blocks[block];

			if (!first->counts[i])
				continue;
			if (all_blocks(first, lengths[i], false))
				verdict->proved_writes += first->counts[i];
			if (all_blocks(first, lengths[i], true))
				verdict->predicted_writes += first->counts[i];
		}
	}
}

int write_exercise_judge(struct write_exercise *exercise, const struct written *written,
			 struct write_verdict *ret_verdict)
{
	struct write_verdict verdict = { 0 };
	int ret;

	/* One that is not mapped any more has moved too. */
	for (uint64_t block = 0; block < exercise->block_count; block++)
		exercise->blocks[block].moved = true;
	ret = for_each_block(exercise, compare);
	if (ret < 0)
		return ret;
	for (uint64_t block = 0; block < exercise->block_count; block++) {
		verdict.moved_bytes += exercise->blocks[block].moved * EXERCISE_BLOCK;
		verdict.predicted_bytes += exercise->blocks[block].predicted * EXERCISE_BLOCK;
	}

	if (exercise->logged) {
		count_logged_writes(exercise, &verdict);
	} else if (written->count && !verdict.moved_bytes &&
		   verdict.predicted_bytes == exercise->size) {
		verdict.writes_known = true;
		verdict.proved_writes = written->count;
		verdict.predicted_writes = written->count;
	}
	*ret_verdict = verdict;
	return 0;
}
