// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "num/digest.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/pipeline.h"
#include "sys/process-copy.h"
#include "sys/stop-request.h"
#include "text/name-escape.h"
#include "ui/directory.h"
#include "ui/exit-status.h"
#include "ui/files.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/row-sort.h"

/* -- options -- */

enum {
	OPTION_RANGE = 0x3000,
	OPTION_FILES0_FROM,
};

/* Behind the commands' own groups, before the global ones. */
#define GROUP 5

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "Which files:", GROUP },
	{ "range", OPTION_RANGE, "OFFSET[:LENGTH]", 0, "Look only at this part; suffixes K, M, G",
	  GROUP },
	{ "recursive", 'r', NULL, 0, "Look at all regular files in directories", GROUP },
	{ "one-file-system", 'x', NULL, 0, "With -r, stay within the subvolume", GROUP },
	{ "files0-from", OPTION_FILES0_FROM, "FILE", 0,
	  "Read NUL-terminated paths from FILE (-: stdin)", GROUP },
	{ 0 },
};

static error_t parse_range_option(struct file_options *options, const char *text)
{
	int ret = parse_range(text, &options->range);

	if (ret == 0)
		return 0;
	error_value("invalid range", text, " (%s)",
		    ret == -ERANGE ?
			    "OFFSET and LENGTH must fit into 64 bits" :
			    "expected OFFSET[:LENGTH], for example 0:1M, with LENGTH above 0");
	return EINVAL;
}

static error_t check_paths(const struct file_options *options, const struct argp_state *state)
{
	if (options->global->done)
		return 0;
	if (options->files0_from && options->path_count) {
		error("--files0-from cannot be combined with paths");
		return EINVAL;
	}
	if (!options->files0_from && !options->path_count && !options->paths_optional) {
		error_of(state->name, "at least 1 argument expected, 0 given");
		return EINVAL;
	}
	return 0;
}

static error_t parse_file_option(int key, char *text, struct argp_state *state)
{
	struct file_options *options = state->input;

	switch (key) {
	case OPTION_RANGE:
		return parse_range_option(options, text);
	case 'r':
		options->recursive = true;
		return 0;
	case 'x':
		options->one_file_system = true;
		return 0;
	case OPTION_FILES0_FROM:
		options->files0_from = text;
		return 0;
	case ARGP_KEY_INIT:
		options->range = WHOLE_FILE;
		return 0;
	case ARGP_KEY_ARGS:
		options->paths = state->argv + state->next;
		options->path_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		return check_paths(options, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp file_argp = { .options = option_list, .parser = parse_file_option };

const struct argp_child file_argp_children[] = {
	{ &file_argp, 0, NULL, 0 },
	{ &global_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp_child sorted_file_argp_children[] = {
	{ &sort_argp, 0, NULL, 0 },
	{ &file_argp, 0, NULL, 0 },
	{ &global_argp, 0, NULL, 0 },
	{ 0 },
};

bool file_options_ask_for_any(const struct file_options *options)
{
	return options->files0_from || options->path_count;
}

/* Whether a file can be found twice, from several starting points. */
static bool can_overlap(const struct file_options *options)
{
	return options->files0_from || options->path_count > 1;
}

bool file_options_ask_for_several(const struct file_options *options)
{
	return options->recursive || can_overlap(options);
}

/* Ends by the signal that ended the copy, or returns the exit status. */
static int end_of_copy(struct global_options *global, int wait_status)
{
	if (WIFSIGNALED(wait_status)) {
		signal(WTERMSIG(wait_status), SIG_DFL);
		raise(WTERMSIG(wait_status));
	}
	global->done = true;
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : STATUS_ERROR;
}

bool file_options_parse(const struct argp *argp, int argc, char **argv, void *arguments,
			const struct file_options *options, int *ret_status)
{
	int wait_status;

	*ret_status = STATUS_ERROR;
	if (options_parse(argp, argc, argv, 0, arguments))
		return false;
	*ret_status = STATUS_OK;
	if (options->global->done)
		return false;
	/* Those that collect runs are copies already. */
	if (!file_options_ask_for_several(options) || options->global->metrics_alone ||
	    process_copy_start(&wait_status) <= 0)
		return true;
	*ret_status = end_of_copy(options->global, wait_status);
	return false;
}

/* -- failures -- */

const char *files_path(struct files *files, const struct found_file *file)
{
	return path_text_of(&files->path_text, file->directory, file->name);
}

const char *opened_file_path(const struct opened_file *file)
{
	return files_path(file->files, file->found);
}

struct failure found_file_check(const struct found_file *file)
{
	if (file->error == -ENOTTY)
		return (struct failure){ "not a btrfs filesystem:", 0 };
	if (file->error == -ESTALE)
		return (struct failure){ "moved during the walk, and not examined completely:", 0 };
	if (file->error)
		return (struct failure){ "cannot access", file->error };
	if (file->type == S_IFDIR)
		return (struct failure){ "is a directory, and -r was not given:", 0 };
	if (file->type != S_IFREG)
		return (struct failure){ "not a regular file:", 0 };
	return NO_FAILURE;
}

struct failure found_file_open(const struct file_walk *walk, const struct found_file *file,
			       int *ret_fd, struct stat *ret_status)
{
	int fd = file_walk_open(walk, file, ret_status);

	if (fd < 0)
		return (struct failure){ "cannot open", fd };
	/* Only an image that somebody made says so. */
	if (ret_status->st_size < 0) {
		close(fd);
		return (struct failure){ "the size of the file is damaged:", 0 };
	}
	*ret_fd = fd;
	return NO_FAILURE;
}

int files_is_first(struct files *files, const struct stat *status)
{
	if (!can_overlap(files->options) && status->st_nlink <= 1)
		return 1;
	return inode_set_add(files->seen, status->st_dev, status->st_ino);
}

/* As of find without -print0. All its paths together may be too long for one. */
static bool looks_like_lines(const struct files *files, const char *path, struct failure failure)
{
	return files->options->files0_from && strchr(path, '\n') &&
	       (failure.error == -ENOENT || failure.error == -ENAMETOOLONG ||
		failure.error == -ENOTDIR);
}

static uint64_t digest_of(const char *path, struct failure failure)
{
	uint64_t digest = digest_add(DIGEST_START, path, strlen(path));

	return digest_add_number(digest, failure.error);
}

void files_failed(struct files *files, const struct found_file *file, struct failure failure)
{
	bool named = file->named;
	const char *path;

	if (!named && failure.error == -ENODEV)
		return;
	if (!named && failure.error == -EXDEV) {
		files->skipped_mount_count++;
		return;
	}
	if (!named && failure.error == -ENOENT) {
		files->vanished_count++;
		return;
	}
	path = files_path(files, file);
	if (!path)
		path = file->name;
	if (failure.error == -EAGAIN)
		failure = (struct failure){ "cannot open, because of another process' lease:", 0 };
	files->has_failed = true;
	files->failed_digest += digest_of(path, failure);
	files->status = STATUS_ERROR;
	if (files->is_silent)
		return;
	error_path(failure.action, path, failure.error);
	if (looks_like_lines(files, path, failure))
		error("each path must end with a NUL byte, as find -print0 writes it");
}

struct failure files_give_up(struct files *files)
{
	files->options->global->has_stuck_thread = true;
	return (struct failure){ "no answer from the kernel in time for", 0 };
}

static void warn_of_vanished(const struct files *files)
{
	if (!files->vanished_count)
		return;
	if (files->vanished_count == 1)
		warning("1 file or directory was deleted, renamed or replaced before it could be "
			"examined");
	else
		warning("%" PRIu64 " files or directories were deleted, renamed or replaced before "
			"they could be examined",
			files->vanished_count);
}

static void warn_of_mounts(const struct files *files)
{
	if (!files->skipped_mount_count)
		return;
	if (files->skipped_mount_count == 1)
		warning("1 mount point of the same filesystem was not entered, and its files were "
			"not examined");
	else
		warning("%" PRIu64 " mount points of the same filesystem were not entered, and "
			"their files were not examined",
			files->skipped_mount_count);
}

static void warn_of_atimes(const struct files *files)
{
	if (files->can_set_atimes)
		warning("reading directories of other users can set their times of access, which "
			"changes metadata");
}

/* -- the walk -- */

static FILE *open_stream(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NOATIME);
	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

/* Without --files0-from the list is NULL. */
static int open_list(struct files *files, FILE **ret_list)
{
	const char *source = files->options->files0_from;
	FILE *list;

	*ret_list = NULL;
	if (!source)
		return 0;
	if (files->list.source)
		list = kept_list_reopen(&files->list);
	else if (strcmp(source, "-") == 0)
		list = stdin;
	else
		list = open_stream(source);
	if (list && files->walks_again && !files->list.source)
		list = kept_list_open(&files->list, list);
	*ret_list = list;
	return list ? 0 : -errno;
}

#define DESCRIPTORS_FOR_THREADS 1024

/* A thread reserves up to 64 MiB of address space for its memory. */
static bool have_room_for_threads(void)
{
	struct rlimit descriptors, space;

	return getrlimit(RLIMIT_NOFILE, &descriptors) == 0 &&
	       descriptors.rlim_cur >= DESCRIPTORS_FOR_THREADS &&
	       getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur == RLIM_INFINITY;
}

int files_open(struct files *files,
	       int (*directory)(void *data, int fd, const struct stat *status, size_t argument),
	       void *data)
{
	const struct file_options *options = files->options;
	struct file_walk_options walk_options = {
		.store = &files->paths,
		.paths = options->paths,
		.recursive = options->recursive,
		.one_subvolume = options->one_file_system,
		.entered = directory,
		.data = data,
	};
	int ret;

	if (!file_options_ask_for_any(options))
		return 0;
	if (file_options_ask_for_several(options) && !options->global->metrics)
		stop_request_accept();
	files->limit = descriptor_limit_raise();
	files->has_many_threads = !options->is_timed && have_room_for_threads();
	walk_options.read_ahead = options->recursive && files->has_many_threads;
	ret = open_list(files, &walk_options.list);
	if (ret == 0)
		ret = file_walk_new(&files->walk, &walk_options);
	if (ret == 0)
		return 1;
	files_close(files);
	return ret;
}

void files_close(struct files *files)
{
	if (files->walk)
		files->can_set_atimes |= file_walk_can_set_atimes(files->walk);
	file_walk_free(files->walk);
	files->walk = NULL;
	descriptor_limit_restore(&files->limit);
	progress_clear();
}

/* -- the loop -- */

/* A loop that another thread can take over. */
struct file_loop {
	struct files *files;
	const struct file_ops *ops;
	void *data;
	/* the file of the last call of file_walk_next(), and what it returned; 1 at first */
	struct found_file found;
	int ret;
};

/* Without a failure FILE has a descriptor, unless the file came before. */
static struct failure open_new_file(const struct file_loop *loop, struct opened_file *file)
{
	const struct file_ops *ops = loop->ops;
	struct files *files = loop->files;
	struct failure failure;
	int ret = 0;

	*file = (struct opened_file){ .files = files, .found = &loop->found, .fd = -1 };
	failure = found_file_check(file->found);
	if (!failure.action && !ops->name && found_file_is_one_of(file->found, files->seen))
		return NO_FAILURE;
	if (!failure.action)
		failure = found_file_open(files->walk, file->found, &file->fd, &file->status);
	if (failure.action)
		return failure;
	if (ops->name)
		ret = ops->name(loop->data, file->found, file->fd, &file->status);
	if (ret == 0)
		ret = files_is_first(files, &file->status);
	if (ret <= 0) {
		close(file->fd);
		file->fd = -1;
	}
	return ret < 0 ? (struct failure){ "cannot report", ret } : NO_FAILURE;
}

/* PATH in ASCII without its beginning, if the progress line has no room for it; the caller frees it. */
static char *end_of_path(const char *path, size_t room)
{
	char *text = path ? escape_name_to_ascii(path) : NULL;
	size_t length = text ? strlen(text) : 0;

	if (length > room) {
		memmove(text, text + length - room, room + 1);
		memcpy(text, "...", 3);
	}
	return text;
}

#define PROGRESS_PATH_MIN 8
#define PROGRESS_WIDTH_MAX 240

void files_show_progress(struct files *files, const struct found_file *file)
{
	CLEANUP_FREE char *path = NULL;
	char counts[80];
	uint64_t rate;
	size_t used, width;

	if (!progress_due())
		return;
	rate = mul_div(files->file_count, NANOSECONDS_PER_SECOND,
		       monotonic_ns() - files->started_at + 1);
	used = snprintf(counts, sizeof(counts), "%" PRIu64 " files, %" PRIu64 "/s",
			files->file_count, rate);
	width = progress_width();
	if (width > PROGRESS_WIDTH_MAX)
		width = PROGRESS_WIDTH_MAX;
	if (used + PROGRESS_PATH_MIN < width)
		path = end_of_path(files_path(files, file), width - used - strlen(", "));
	progress_show("%s%s%s", counts, path ? ", " : "", path ? path : "");
}

int files_next(struct files *files, struct found_file *ret_file)
{
	if (!stop_requested())
		return file_walk_next(files->walk, ret_file);
	files->is_interrupted = true;
	return 0;
}

static void report_rest(void *item, void *worker)
{
	struct file_loop *loop = item;
	struct files *files = loop->files;

	(void)worker;
	while (loop->ret > 0 && (loop->ret = files_next(files, &loop->found)) > 0) {
		struct opened_file file;
		struct failure failure;

		files_show_progress(files, &loop->found);
		failure = open_new_file(loop, &file);

		if (file.fd >= 0)
			failure = loop->ops->report(loop->data, &file);
		close_fd(&file.fd);
		if (failure.error == -EAGAIN && file_walk_defer(files->walk, &loop->found) == 0)
			continue;
		if (failure.action)
			files_failed(files, &loop->found, failure);
	}
}

static void give_up_current_file(void *item, void *data)
{
	struct file_loop *loop = item;
	int ret = loop->ops->given_up(data);

	files_failed(loop->files, &loop->found, files_give_up(loop->files));
	if (ret < 0)
		loop->ret = ret;
}

static void end_loop(void *item, void *data)
{
	(void)item;
	(void)data;
}

static const struct pipeline_ops loop_ops = {
	.work = report_rest,
	.given_up = give_up_current_file,
	.done = end_loop,
};

/* The caller's thread only looks at the one that reports the files. */
static int report_on_thread(struct file_loop *loop)
{
	CLEANUP(pipeline_freep) struct pipeline *pipeline = NULL;
	int ret = pipeline_new(&pipeline, &loop_ops, loop->data, 1);

	if (ret < 0)
		return ret;
	pipeline_push(pipeline, loop);
	pipeline_flush(pipeline);
	return loop->ret;
}

int files_each(struct files *files, const struct file_ops *ops, void *data)
{
	struct file_loop loop = { .files = files, .ops = ops, .data = data, .ret = 1 };
	int ret = files_open(files, ops->directory, data);

	if (ret <= 0)
		return ret;
	if (file_options_ask_for_several(files->options)) {
		ret = report_on_thread(&loop);
	} else {
		report_rest(&loop, NULL);
		ret = loop.ret;
	}
	files_close(files);
	return ret;
}

int files_begin_again(struct files *files, struct files *ret_first)
{
	*ret_first = *files;
	*files = (struct files){
		.options = ret_first->options,
		.out = ret_first->out,
		.file_count = ret_first->file_count,
		.started_at = monotonic_ns(),
		.status = STATUS_OK,
		.is_silent = true,
		.walks_again = true,
		.list = ret_first->list,
	};
	return inode_set_new(&files->seen);
}

int files_end_again(struct files *files, const struct files *first, int ret)
{
	struct files again = *files;

	*files = *first;
	files->file_count = again.file_count;
	/* What the command complained about in this look only. */
	if (again.status != STATUS_OK)
		files->status = again.status;
	inode_set_free(again.seen);
	path_text_free(&again.path_text);
	return ret == 0 && again.failed_digest != first->failed_digest ? -EAGAIN : ret;
}

int files_drop_caches(struct files *files, int fd)
{
	int ret;

	if (files->no_cache_drop)
		return 0;
	ret = cold_drop_caches(fd);
	if (ret == 0) {
		files->no_cache_drop = true;
		files->status = STATUS_ERROR;
	}
	return ret;
}

/* -- the report -- */

int files_begin(struct files *files, const char *key)
{
	const struct global_options *global = files->options->global;
	int ret = inode_set_new(&files->seen);

	if (ret < 0)
		return ret;
	files->out = output_of(global);
	files->status = STATUS_OK;
	files->started_at = monotonic_ns();
	files->has_frame = global->json && key;
	progress_start(global->verbosity >= 0);
	if (files->has_frame)
		json_begin_results(&files->out.json, stdout, global->json_style, key);
	return 0;
}

void files_begin_result(struct files *files, const char *path)
{
	static const struct field path_fields[] = {
		{ 0, FIELD_PATH, .key = "path", .help = "The file, as it was named or found." },
		{ 0 },
	};

	json_begin_result(&files->out.json);
	record_members(&files->out, path_fields, &path);
}

void files_say_path(const struct files *files, const char *path)
{
	CLEANUP_QUOTED_NAME const char *quoted = NULL;

	/* A path can have megabytes. */
	if (files->out.format != FORMAT_TEXT)
		return;
	quoted = quoted_name(path);
	record_say(&files->out, "%sFile: %s\n", files->file_count ? "\n" : "", quoted);
}

void files_end_result(struct files *files, int error)
{
	if (error < 0)
		json_fail_result(&files->out.json, strerror(-error));
	json_end_result(&files->out.json);
}

void files_end_results(struct files *files)
{
	if (files->has_frame)
		json_end_results(&files->out.json);
}

static bool found_nothing(const struct files *files)
{
	return !files->file_count && files->has_failed;
}

bool files_have_total(const struct files *files, int ret)
{
	return files->has_frame || (ret == 0 && !found_nothing(files));
}

static const struct metric skipped_mounts_metric = {
	"btrfs_fastpath_skipped_mounts", METRIC_GAUGE, NULL,
	"Mount points of the same file system below named directories, which were not entered."
};

struct walk_sums {
	uint64_t file_count;
	uint64_t vanished_count;
	uint64_t skipped_mount_count;
	bool interrupted;
};

#define WALK(member) offsetof(struct walk_sums, member)

static const struct field walk_fields[] = {
	{ WALK(file_count), FIELD_NUMBER, .key = "file_count",
	  .help = "The number of files that were examined." },
	{ WALK(vanished_count), FIELD_NUMBER, .key = "vanished_count",
	  .help = "The number of files and directories that disappeared before they were examined." },
	{ WALK(skipped_mount_count), FIELD_NUMBER, .key = "skipped_mount_count",
	  .metric = &skipped_mounts_metric,
	  .help = "The number of mount points of the same file system that were not entered." },
	{ WALK(interrupted), FIELD_BOOL, .key = "interrupted",
	  .help = "Whether SIGINT ended the walk early: the sums are those of the files before it." },
	{ 0 },
};

static struct walk_sums walk_sums_of(const struct files *files)
{
	return (struct walk_sums){
		.file_count = files->file_count,
		.vanished_count = files->vanished_count,
		.skipped_mount_count = files->skipped_mount_count,
		.interrupted = stop_requested(),
	};
}

void files_begin_json_total(struct files *files)
{
	const struct walk_sums sums = walk_sums_of(files);

	json_begin_object(&files->out.json, "total");
	record_members(&files->out, walk_fields, &sums);
	files->out.json.has_no_numbers = found_nothing(files);
}

void files_end_json_total(struct files *files)
{
	json_end_object(&files->out.json);
	files->out.json.has_no_numbers = false;
}

/* Metrics come without warnings. */
static void report_to_caller(struct files *files)
{
	const struct walk_sums sums = walk_sums_of(files);

	files->options->global->skipped_mount_count = files->skipped_mount_count;
	if (files->options->recursive)
		record_samples(&files->out, walk_fields, &sums);
}

static void complain_of_end(const struct file_options *options, int ret)
{
	if (ret < 0 && options->files0_from)
		error_path("cannot read the paths from", options->files0_from, ret);
	else if (ret < 0)
		error("cannot continue: %s", strerror(-ret));
}

int files_end(struct files *files, int ret)
{
	if (files->has_frame)
		json_end(&files->out.json);
	if (files->is_interrupted)
		record_say(&files->out, "Interrupted: only %" PRIu64 " %s examined\n",
			   files->file_count, files->file_count == 1 ? "file was" : "files were");
	else if (stop_requested())
		record_say(&files->out,
			   "Interrupted: figures of all files together may be missing\n");
	if (files->seen) {
		warn_of_vanished(files);
		warn_of_mounts(files);
		warn_of_atimes(files);
		report_to_caller(files);
	}
	complain_of_end(files->options, ret);
	kept_list_free(&files->list);
	inode_set_free(files->seen);
	path_text_free(&files->path_text);
	return ret < 0 ? STATUS_ERROR : files->status;
}
