// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "num/record-sort.h"
#include "path/temporary-file.h"
#include "sys/cleanup.h"

#define RECORDS_MIN 16
#define RUN_BUFFER_RECORDS 1024

/* A sorted part of the temporary file, read through a small buffer. */
struct run {
	off_t position;
	off_t end;
	char *buffer;
	size_t index;
	size_t count;
};

struct record_sort {
	const struct record_sort_ops *ops;
	size_t capacity;
	size_t count;
	char *records;
	/* what failed first, and whether it was the temporary file */
	int error;
	bool file_failed;
	char *directory;
	int spill_fd;
	off_t spill_size;
	struct run *runs;
	size_t run_count;
	/* the position in records where nothing was spilled */
	size_t index;
};

int record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops, size_t memory)
{
	struct record_sort *sort = calloc(1, sizeof(*sort));

	if (!sort)
		return -ENOMEM;
	sort->directory = strdup(temporary_directory());
	if (!sort->directory) {
		free(sort);
		return -ENOMEM;
	}

	sort->ops = ops;
	sort->spill_fd = -1;
	sort->capacity = memory / ops->record_size;
	if (sort->capacity < RECORDS_MIN)
		sort->capacity = RECORDS_MIN;

	*ret_sort = sort;
	return 0;
}

void record_sort_free(struct record_sort *sort)
{
	if (!sort)
		return;
	for (size_t i = 0; i < sort->run_count; i++)
		free(sort->runs[i].buffer);
	free(sort->runs);
	free(sort->records);
	free(sort->directory);
	close_fd(&sort->spill_fd);
	free(sort);
}

static char *record_at(const struct record_sort *sort, char *records, size_t index)
{
	return records + index * sort->ops->record_size;
}

static void sort_and_merge(struct record_sort *sort)
{
	const size_t size = sort->ops->record_size;
	size_t kept = 0;

	if (!sort->count)
		return;

	qsort(sort->records, sort->count, size, sort->ops->compare);
	for (size_t i = 1; i < sort->count; i++) {
		const char *record = record_at(sort, sort->records, i);

		if (sort->ops->merge(record_at(sort, sort->records, kept), record))
			continue;
		kept++;
		memmove(record_at(sort, sort->records, kept), record, size);
	}
	sort->count = kept + 1;
}

static int read_all(int fd, char *data, size_t size, off_t position)
{
	while (size) {
		ssize_t got = pread(fd, data, size, position);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EIO;
		data += got;
		size -= got;
		position += got;
	}
	return 0;
}

static int write_run(struct record_sort *sort, size_t size)
{
	int ret;

	if (sort->spill_fd < 0) {
		ret = temporary_file_open(sort->directory);
		if (ret < 0)
			return ret;
		sort->spill_fd = ret;
	}
	return write_at(sort->spill_fd, sort->records, size, sort->spill_size);
}

/* Moves the sorted records in memory to the temporary file. */
static int spill(struct record_sort *sort)
{
	size_t size = sort->count * sort->ops->record_size;
	struct run *runs;
	int ret;

	runs = reallocarray(sort->runs, sort->run_count + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	sort->runs = runs;

	ret = write_run(sort, size);
	sort->file_failed = ret < 0;
	if (ret < 0)
		return ret;

	runs[sort->run_count++] = (struct run){
		.position = sort->spill_size,
		.end = sort->spill_size + size,
	};
	sort->spill_size += size;
	sort->count = 0;
	return 0;
}

static int make_room(struct record_sort *sort)
{
	if (!sort->records) {
		/* Not cleared: most sorts use little of it. */
		sort->records = reallocarray(NULL, sort->capacity, sort->ops->record_size);
		return sort->records ? 0 : -ENOMEM;
	}
	if (sort->count < sort->capacity)
		return 0;
	sort_and_merge(sort);
	/* Merging that frees little would soon be done again, at full cost. */
	return sort->count > sort->capacity / 2 ? spill(sort) : 0;
}

void record_sort_add(struct record_sort *sort, const void *record)
{
	if (sort->error)
		return;

	/* Input often comes nearly sorted; what merges at once needs no room. */
	if (sort->count) {
		char *last = record_at(sort, sort->records, sort->count - 1);

		if (sort->ops->compare(last, record) <= 0 && sort->ops->merge(last, record))
			return;
	}

	sort->error = make_room(sort);
	if (sort->error)
		return;
	memcpy(record_at(sort, sort->records, sort->count), record, sort->ops->record_size);
	sort->count++;
}

static int begin_reading(struct record_sort *sort)
{
	int ret;

	sort_and_merge(sort);
	if (!sort->run_count)
		return 0;

	ret = spill(sort);
	if (ret < 0)
		return ret;
	free(sort->records);
	sort->records = NULL;

	for (size_t i = 0; i < sort->run_count; i++) {
		sort->runs[i].buffer = calloc(RUN_BUFFER_RECORDS, sort->ops->record_size);
		if (!sort->runs[i].buffer)
			return -ENOMEM;
	}
	return 0;
}

int record_sort_finish(struct record_sort *sort)
{
	if (!sort->error)
		sort->error = begin_reading(sort);
	return sort->error;
}

const char *record_sort_failed_in(const struct record_sort *sort)
{
	return sort->file_failed ? sort->directory : NULL;
}

/* Returns 1 with the run's first record, 0 if the run is used up, or a negative errno. */
static int run_peek(struct record_sort *sort, struct run *run, const char **ret_record)
{
	const size_t record_size = sort->ops->record_size;

	if (run->index == run->count) {
		size_t size = RUN_BUFFER_RECORDS * record_size;
		int ret;

		if (run->position == run->end)
			return 0;
		if ((off_t)size > run->end - run->position)
			size = run->end - run->position;
		ret = read_all(sort->spill_fd, run->buffer, size, run->position);
		if (ret < 0) {
			sort->file_failed = true;
			return ret;
		}
		run->position += size;
		run->index = 0;
		run->count = size / record_size;
	}

	*ret_record = record_at(sort, run->buffer, run->index);
	return 1;
}

/* The smallest record not yet taken. Returns as run_peek(). */
static int peek(struct record_sort *sort, const char **ret_record, size_t **ret_index)
{
	const char *smallest = NULL;

	if (!sort->run_count) {
		if (sort->index == sort->count)
			return 0;
		*ret_record = record_at(sort, sort->records, sort->index);
		*ret_index = &sort->index;
		return 1;
	}

	for (size_t i = 0; i < sort->run_count; i++) {
		struct run *run = &sort->runs[i];
		const char *record;
		int ret = run_peek(sort, run, &record);

		if (ret < 0)
			return ret;
		if (!ret || (smallest && sort->ops->compare(smallest, record) <= 0))
			continue;
		smallest = record;
		*ret_index = &run->index;
	}

	*ret_record = smallest;
	return smallest ? 1 : 0;
}

int record_sort_next(struct record_sort *sort, void *ret_record)
{
	const char *record;
	size_t *index;
	int ret;

	if (sort->error)
		return sort->error;
	ret = peek(sort, &record, &index);
	if (ret <= 0)
		return ret;
	memcpy(ret_record, record, sort->ops->record_size);
	(*index)++;

	for (;;) {
		ret = peek(sort, &record, &index);
		if (ret < 0)
			return ret;
		if (!ret || !sort->ops->merge(ret_record, record))
			return 1;
		(*index)++;
	}
}
