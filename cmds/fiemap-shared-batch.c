// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "fiemap-shared-rewrite.h"
#include "fiemap-shared-scan.h"
#include "fiemap-shared-space.h"
#include "sharing/fragments.h"
#include "sharing/without-snapshots.h"
#include "sys/cleanup.h"
#include "sys/pipeline.h"
#include "ui/exit-status.h"
#include "ui/message.h"

#define FILES_PER_BATCH 256
#define PLACES_PER_BATCH 16
/* More than there are CPUs: on a cold file system each of them waits for a read. */
#define THREADS 8
#define FEW_THREADS 2
/* Of all batches together; each place is a descriptor. */
#define PLACES_MAX 512
/* What the paths of all batches take, without those of the directories on the way to the last file. */
#define PATHS_SIZE_MAX (8 << 20)

struct job {
	/* in the order in which the files are found */
	uint64_t number;
	struct found_file file;
	struct failure failure;
	struct stat status;
	/* an earlier job has another name of the file */
	bool is_repeated;
	struct sharing sharing;
	struct space_answer space;
	/* in the groups, or SHARING_NO_FILE */
	uint32_t group_file;
	/* with --rewrite */
	bool can_be_copied;
	/* why --fragments or --groups cannot have the file */
	int items_error;
};

struct worker {
	struct fiemap_iter *iter;
	struct space_reader *reader;
	/* with --ignore-snapshots, from the first file on */
	struct without_snapshots *without;
};

/* All batches that are under way. */
struct batches {
	struct sharing_scan *scan;
	/* the directory of the last file, NULL if it was named */
	const struct path_node *directory;
	size_t place_count;
	size_t places_max;
	/* path_node_others_size() when nothing was under way: what rows keep */
	size_t kept_size;
	/* that were found, some of them twice, and when nothing was under way */
	uint64_t file_count;
	uint64_t finished_count;
	/* files with several names, each with its first job */
	pthread_mutex_t lock;
	struct inode_set *linked;
};

struct batch {
	struct batches *all;
	size_t count;
	/* those of files in one directory, which come in a row, are one */
	size_t place_count;
	/* the jobs before this one are done */
	size_t next;
	struct job jobs[FILES_PER_BATCH];
};

static int note_links(struct job *job, struct batches *all)
{
	const struct stat *status = &job->status;
	int ret;

	if (status->st_nlink <= 1)
		return 0;
	pthread_mutex_lock(&all->lock);
	ret = inode_set_add_numbered(all->linked, status->st_dev, status->st_ino, job->number);
	pthread_mutex_unlock(&all->lock);
	job->is_repeated = ret == 0;
	return ret < 0 ? ret : 0;
}

/* Opens the file, and asks what must be asked before FIEMAP. */
static struct failure begin_job(struct job *job, const struct batch *batch, struct worker *worker,
				int *ret_fd)
{
	struct sharing_scan *scan = batch->all->scan;
	struct relocation_watch *watch;
	struct failure failure;
	int ret;

	failure = found_file_open(scan->files.walk, &job->file, ret_fd, &job->status);
	if (failure.action)
		return failure;
	ret = note_links(job, batch->all);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };
	ret = fiemap_shared_watch(scan, *ret_fd, &job->status, &watch);
	if (ret < 0)
		return (struct failure){ "cannot examine the file system of", ret };
	fiemap_iter_watch(worker->iter, watch);
	/* First: if the extents are still where it finds them at the end, FIEMAP found them there. */
	fiemap_shared_space_ask(scan, worker->reader, *ret_fd, &job->status, job->is_repeated,
				job->file.argument, &job->space);
	return NO_FAILURE;
}

static int sum_up(struct job *job, struct sharing_scan *scan, struct worker *worker, int fd)
{
	const struct sharing_options *arguments = scan->arguments;
	uint32_t flags = arguments->fiemap_flags;
	struct unique_shared_bytes *set;
	int ret = fiemap_shared_set(scan, fd, &job->status, &set);

	if (ret == 0 && arguments->ignore_snapshots && !worker->without)
		ret = without_snapshots_new(&worker->without);
	if (ret < 0)
		return ret;
	if (arguments->ignore_snapshots)
		ret = sharing_without_snapshots(worker->without, worker->iter, fd,
						job->status.st_ino, arguments->files.range, flags,
						set, &job->sharing);
	else
		ret = sharing_of_file(worker->iter, fd, arguments->files.range, flags, set,
				      &job->sharing);
	return ret;
}

/* What needs the privilege to search trees. Without it, and with too many files, the rest is reported. */
static int read_items(struct job *job, const struct sharing_scan *scan, struct worker *worker,
		      int fd)
{
	const struct sharing_options *arguments = scan->arguments;
	uint32_t flags = arguments->fiemap_flags;
	int ret = 0;

	if (arguments->fragments)
		ret = fragments_add(worker->iter, fd, job->status.st_ino, flags, &job->sharing);
	if (ret == 0 && scan->groups)
		ret = sharing_groups_read(scan->groups, worker->iter, fd, job->status.st_ino, flags,
					  &job->group_file);
	if (ret == 0 && arguments->rewrite)
		job->can_be_copied = fiemap_shared_can_be_copied(fd, &job->status);
	job->items_error = ret == -EPERM || ret == -E2BIG ? ret : 0;
	return job->items_error ? 0 : ret;
}

static struct failure end_job(struct job *job, struct sharing_scan *scan, int fd, int ret)
{
	if (ret == -EAGAIN && scan->arguments->ignore_snapshots)
		return (struct failure){ "no figure, because data is being moved or overwritten:",
					 0 };
	if (ret == -EPERM && scan->arguments->ignore_snapshots)
		return (struct failure){ "--ignore-snapshots requires CAP_SYS_ADMIN (root):", 0 };
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	ret = fiemap_shared_space_name(scan, &job->file, fd, &job->status);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };
	return NO_FAILURE;
}

static void summarize_batch(void *item, void *data)
{
	struct batch *batch = item;
	struct worker *worker = data;
	struct sharing_scan *scan = batch->all->scan;

	for (; batch->next < batch->count; batch->next++) {
		struct job *job = &batch->jobs[batch->next];
		CLEANUP_CLOSE int fd = -1;
		int ret = 0;

		if (!job->failure.action)
			job->failure = begin_job(job, batch, worker, &fd);
		if (job->failure.action)
			continue;
		if (!job->is_repeated)
			ret = sum_up(job, scan, worker, fd);
		if (ret == 0 && !job->is_repeated)
			ret = read_items(job, scan, worker, fd);
		job->failure = end_job(job, scan, fd, ret);
	}
}

static void give_up_job(void *item, void *data)
{
	struct batch *batch = item;
	struct batches *all = data;

	batch->jobs[batch->next++].failure = files_give_up(&all->scan->files);
}

/* Once for all files. */
static void complain_of_items(struct sharing_scan *scan, int err)
{
	if (scan->no_items)
		return;
	scan->no_items = true;
	scan->files.status = STATUS_ERROR;
	if (err == -EPERM)
		error("--fragments, --groups and --rewrite require CAP_SYS_ADMIN (root); the rest "
		      "of the report does not");
	else
		error("--groups is for up to %u files that share data", SHARING_GROUPS_FILES_MAX);
}

static void report_summary(struct sharing_scan *scan, const struct job *job)
{
	const bool has_row = !scan->arguments->summarize && !scan->rows && !scan->files.is_silent;
	struct sharing_report *report = &scan->report;
	const struct file_space *space;
	const char *path = NULL;
	int ret = 0;

	/* It can be long, and most files need none. */
	if (has_row || job->space.error < 0) {
		path = files_path(&scan->files, &job->file);
		if (!path) {
			fiemap_shared_complain_no_memory(scan);
			return;
		}
	}
	space = fiemap_shared_space_count(scan, path, &job->space);
	fiemap_shared_count_file(scan, job->file.argument, &job->sharing);
	if (job->items_error)
		complain_of_items(scan, job->items_error);
	scan->report.can_be_copied = job->can_be_copied && scan->files.file_count == 1;
	if (scan->groups && job->group_file != SHARING_NO_FILE)
		sharing_groups_name(scan->groups, job->group_file, job->file.path);
	if (scan->rows && !scan->files.is_silent)
		ret = fiemap_shared_keep_row(scan, job->file.path, &job->sharing, space);
	else if (has_row)
		ret = sharing_report_summary(report, path, &job->sharing, space);
	if (ret < 0)
		fiemap_shared_complain_no_memory(scan);
}

static void report_job(const struct batches *all, const struct job *job)
{
	struct sharing_scan *scan = all->scan;
	int ret;

	if (job->failure.error == -EAGAIN && file_walk_defer(scan->files.walk, &job->file) == 0)
		return;
	if (job->failure.action) {
		files_failed(&scan->files, &job->file, job->failure);
		return;
	}

	if (job->is_repeated)
		return;
	ret = files_is_first(&scan->files, &job->status);
	if (ret < 0)
		fiemap_shared_complain_no_memory(scan);
	else if (ret)
		report_summary(scan, job);
}

static void report_batch(void *item, void *data)
{
	struct batch *batch = item;
	struct batches *all = data;

	for (size_t i = 0; i < batch->count; i++) {
		report_job(all, &batch->jobs[i]);
		files_show_progress(&all->scan->files, &batch->jobs[i].file);
		found_file_drop(&batch->jobs[i].file);
	}
	all->place_count -= batch->place_count;
	free(batch);
}

static void worker_free(void *data)
{
	struct worker *worker = data;

	fiemap_iter_free(worker->iter);
	space_reader_free(worker->reader);
	without_snapshots_free(worker->without);
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
	.given_up = give_up_job,
	.done = report_batch,
	.worker_new = worker_new,
	.worker_free = worker_free,
};

static unsigned int thread_count(const struct sharing_scan *scan)
{
	if (!file_options_ask_for_several(&scan->arguments->files))
		return 0;
	return scan->files.has_many_threads ? THREADS : FEW_THREADS;
}

static size_t places_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > PLACES_MAX)
		return PLACES_MAX;
	return limit.rlim_cur / 4;
}

static struct batch *batch_new(struct batches *all)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (batch)
		batch->all = all;
	return batch;
}

/* Returns 0 or -ENOMEM. */
static int batch_add(struct batch *batch, const struct found_file *file)
{
	struct job *job = &batch->jobs[batch->count];
	int ret = found_file_keep(batch->all->scan->files.walk, file, &job->file);

	if (ret < 0)
		return ret;
	if (!batch->count || job->file.place != job[-1].file.place) {
		batch->place_count++;
		batch->all->place_count++;
	}
	job->failure = found_file_check(file);
	job->group_file = SHARING_NO_FILE;
	job->number = batch->all->file_count++;
	batch->count++;
	batch->all->directory = file->directory;
	return 0;
}

/* Whether BATCH, with a file at least, and those before it keep too much. */
static bool batches_are_full(const struct batch *batch)
{
	const struct batches *all = batch->all;
	size_t others = path_node_others_size(batch->jobs[batch->count - 1].file.path);

	return all->place_count >= all->places_max || others > all->kept_size + PATHS_SIZE_MAX;
}

/* Returns 1 if no more fits into *RET_BATCH; else as file_walk_next(), and it can be NULL. */
static int find_batch(struct batches *all, struct batch **ret_batch)
{
	struct batch *batch = NULL;
	struct found_file file;
	int ret;

	while ((ret = files_next(&all->scan->files, &file)) > 0) {
		if (!batch)
			batch = batch_new(all);
		ret = batch ? batch_add(batch, &file) : -ENOMEM;
		if (ret < 0)
			break;
		if (batch->count == FILES_PER_BATCH || batch->place_count == PLACES_PER_BATCH ||
		    batches_are_full(batch)) {
			ret = 1;
			break;
		}
	}
	if (ret == 0)
		all->directory = NULL;
	*ret_batch = batch;
	return ret;
}

static void finish_batches(struct batches *all, struct pipeline *pipeline)
{
	pipeline_flush(pipeline);
	all->finished_count = all->file_count;
	all->kept_size = all->directory ? path_node_others_size(all->directory) :
					  all->scan->files.paths.size;
}

int fiemap_shared_summarize(struct sharing_scan *scan)
{
	struct batches all = { .scan = scan, .places_max = places_max() };
	struct pipeline *pipeline = NULL;
	struct batch *batch;
	int ret;

	ret = files_open(&scan->files, fiemap_shared_space_directory, scan);
	if (ret <= 0)
		return ret;
	pthread_mutex_init(&all.lock, NULL);
	ret = inode_set_new(&all.linked);
	if (ret == 0)
		ret = pipeline_new(&pipeline, &summary_ops, &all, thread_count(scan));
	while (ret >= 0) {
		bool are_full;

		ret = find_batch(&all, &batch);
		are_full = ret >= 0 && batch && batches_are_full(batch);
		if (batch)
			pipeline_push(pipeline, batch);
		/* What was deferred comes after all batches are done. */
		if (ret == 0 && all.file_count == all.finished_count)
			break;
		if (ret == 0 || are_full)
			finish_batches(&all, pipeline);
	}
	pipeline_free(pipeline);
	inode_set_free(all.linked);
	pthread_mutex_destroy(&all.lock);
	files_close(&scan->files);
	return ret;
}
