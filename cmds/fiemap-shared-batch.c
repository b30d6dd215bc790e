// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pipeline.h"
#include "fiemap-shared-batch.h"
#include "fiemap-shared-space.h"
#include "ui/progress.h"

#define FILES_PER_BATCH 256
/* Each is a descriptor, of which a process may have 1024, and some 30 batches are under way. */
#define PLACES_PER_BATCH 16
#define THREADS_MAX 8

struct job {
	struct found_file file;
	struct failure failure;
	struct stat status;
	struct sharing sharing;
	struct space_answer space;
};

struct worker {
	struct fiemap_iter *iter;
	struct space_reader *reader;
};

struct batch {
	struct scan *scan;
	const struct file_walk *walk;
	size_t count;
	/* those of files in one directory, which come in a row, are one */
	size_t place_count;
	struct job jobs[FILES_PER_BATCH];
};

static struct failure summarize_file(struct job *job, const struct batch *batch,
				     struct worker *worker)
{
	struct scan *scan = batch->scan;
	const struct arguments *arguments = scan->arguments;
	CLEANUP_CLOSE int fd = -1;
	struct failure failure;
	int ret;

	failure = file_visit_open(batch->walk, &job->file, &fd, &job->status);
	if (failure.action)
		return failure;
	ret = sharing_of_file(worker->iter, fd, arguments->files.range, arguments->fiemap_flags,
			      scan->set, &job->sharing);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	fiemap_shared_space_ask(scan, worker->reader, fd, &job->status, &job->space);
	ret = fiemap_shared_space_name(scan, &job->file, fd, &job->status);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };
	return NO_FAILURE;
}

static void summarize_batch(void *item, void *worker)
{
	struct batch *batch = item;

	for (size_t i = 0; i < batch->count; i++) {
		struct job *job = &batch->jobs[i];

		if (!job->failure.action)
			job->failure = summarize_file(job, batch, worker);
	}
}

static void report_summary(struct scan *scan, const struct job *job)
{
	const struct file_space *space = fiemap_shared_space_count(scan, job->file.path,
								   &job->space);
	struct report *report = &scan->report;
	int ret;

	fiemap_shared_count_file(scan, &job->sharing);
	if (scan->arguments->summarize)
		return;
	ret = scan->rows ? fiemap_shared_keep_row(scan, job->file.path, &job->sharing, space) :
			   report->ops->summary(report, job->file.path, &job->sharing, space);
	if (ret < 0)
		fiemap_shared_complain_no_memory(scan);
}

static void report_job(struct scan *scan, const struct job *job)
{
	int ret;

	if (job->failure.action) {
		file_visit_failed(&scan->files.visit, job->file.path, job->file.named,
				  job->failure);
		return;
	}

	ret = file_visit_is_first(&scan->files.visit, &job->status);
	if (ret < 0)
		fiemap_shared_complain_no_memory(scan);
	else if (ret)
		report_summary(scan, job);
}

static void report_batch(void *item, void *data)
{
	struct batch *batch = item;
	struct scan *scan = data;

	for (size_t i = 0; i < batch->count; i++) {
		report_job(scan, &batch->jobs[i]);
		found_file_drop(&batch->jobs[i].file);
	}
	free(batch);

	if (progress_due())
		progress_show("%" PRIu64 " files, %" PRIu64 " extents", scan->files.file_count,
			      scan->total.extent_count);
}

static void worker_free(void *data)
{
	struct worker *worker = data;

	fiemap_iter_free(worker->iter);
	space_reader_free(worker->reader);
	free(worker);
}

static int worker_new(void **ret_worker)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int ret;

	if (!worker)
		return -ENOMEM;
	ret = fiemap_iter_new(&worker->iter);
	if (ret == 0)
		ret = space_reader_new(&worker->reader);
	if (ret < 0) {
		worker_free(worker);
		return ret;
	}

	*ret_worker = worker;
	return 0;
}

static const struct pipeline_ops summary_ops = {
	.work = summarize_batch,
	.done = report_batch,
	.worker_new = worker_new,
	.worker_free = worker_free,
};

static unsigned int thread_count(const struct arguments *arguments)
{
	unsigned int cpus = usable_cpu_count();

	if (!file_options_ask_for_several(&arguments->files))
		return 0;
	return cpus < THREADS_MAX ? cpus : THREADS_MAX;
}

static struct batch *batch_new(struct scan *scan, const struct file_walk *walk)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->scan = scan;
	batch->walk = walk;
	return batch;
}

/* Returns 0 or -ENOMEM. */
static int batch_add(struct batch *batch, const struct found_file *file)
{
	struct job *job = &batch->jobs[batch->count];
	int ret = found_file_keep(file, &job->file);

	if (ret < 0)
		return ret;
	if (!batch->count || job->file.place != job[-1].file.place)
		batch->place_count++;
	job->failure = file_visit_check(file);
	batch->count++;
	return 0;
}

static bool batch_is_full(const struct batch *batch)
{
	return batch->count == FILES_PER_BATCH || batch->place_count == PLACES_PER_BATCH;
}

int fiemap_shared_summarize(void *data, struct file_walk *walk)
{
	struct scan *scan = data;
	CLEANUP(pipeline_freep) struct pipeline *pipeline = NULL;
	struct batch *batch = NULL;
	struct found_file file;
	int ret;

	ret = pipeline_new(&pipeline, &summary_ops, scan, thread_count(scan->arguments));
	if (ret < 0)
		return ret;
	while ((ret = file_walk_next(walk, &file)) > 0) {
		if (!batch)
			batch = batch_new(scan, walk);
		ret = batch ? batch_add(batch, &file) : -ENOMEM;
		if (ret < 0)
			break;
		if (!batch_is_full(batch))
			continue;
		pipeline_push(pipeline, batch);
		batch = NULL;
	}
	if (batch)
		pipeline_push(pipeline, batch);
	pipeline_flush(pipeline);
	return ret;
}
