// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "commands.h"
#include "fs/mounted-filesystems.h"
#include "path/new-file.h"
#include "path/trusted-file.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/forked-work.h"
#include "sys/interrupts.h"
#include "sys/marked-process.h"
#include "ui/kernel-metrics.h"
#include "ui/message.h"
#include "ui/module-report.h"
#include "ui/record.h"

#define DEFAULT_OUTPUT "/var/lib/prometheus/node-exporter/btrfs-fastpath.prom"

/* -- options -- */

struct collect_options {
	struct global_options *global;
	/* NULL: the default one, if it exists */
	const char *config;
	const char *output;
	/* seconds for each check */
	uint64_t timeout;
	int count;
};

enum {
	OPTION_CONFIG = 0x2000,
	OPTION_OUTPUT,
	OPTION_TIMEOUT,
};

#define DEFAULT_TIMEOUT 600
#define TIMEOUT_MAX 86400

static const struct argp_option option_list[] = {
	{ "config", OPTION_CONFIG, "FILE", 0, "Run the checks in FILE (" COLLECT_CONFIG ")", 1 },
	{ "output", OPTION_OUTPUT, "FILE", 0, "Write to FILE, or print with - (" DEFAULT_OUTPUT ")",
	  1 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0, "End a check after SECONDS, 1 to 86400 (600)",
	  1 },
	{ 0 },
};

static error_t parse_collect_option(int key, char *text, struct argp_state *state)
{
	struct collect_options *arguments = state->input;

	switch (key) {
	case OPTION_CONFIG:
		arguments->config = text;
		return 0;
	case OPTION_OUTPUT:
		arguments->output = text;
		return 0;
	case OPTION_TIMEOUT:
		return parse_count("--timeout", text, TIMEOUT_MAX, &arguments->timeout);
	case ARGP_KEY_ARG:
		arguments->count++;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return arguments->global->done ? 0 : expect_no_arguments(state, arguments->count);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_collect_option,
	.children = global_argp_children,
	.doc = "Write metrics of the kernel, of each mounted btrfs and of configured checks to a "
	       "file for Prometheus' node_exporter (textfile collector).",
};

/* -- the whole run -- */

struct collection {
	const struct collect_options *arguments;
	struct output out;
	int status;
};

static void collect_kernel(struct collection *run)
{
	struct feature_status statuses[FEATURE_COUNT];
	struct module_report module = { 0 };
	struct utsname kernel;
	int ret;

	uname(&kernel);
	feature_status_read(NULL, kernel.release, statuses);
	kernel_metrics_features(&run->out, kernel.release, statuses);
	ret = module_report_read(&module);
	if (ret == 0)
		module_report_samples(&run->out, &module);
	else if (ret != -ENOENT)
		module_report_complain(warning_path, ret);
	module_report_free(&module);
}

/* It can be unmounted meanwhile, and most kernels do not count. */
static void collect_filesystem(struct collection *run, const uint8_t fsid[FSID_SIZE])
{
	struct commit_counters commits;
	struct counters counters;

	commit_counters_read_stats(NULL, fsid, &commits);
	kernel_metrics_commits(&run->out, fsid, &commits);
	if (counters_read(NULL, fsid, &counters) == 0)
		kernel_metrics_counters(&run->out, fsid, &counters);
}

static void collect_filesystems(struct collection *run)
{
	CLEANUP(mounted_filesystems_free) struct mounted_filesystems filesystems = { 0 };
	int ret;

	ret = mounted_filesystems_read(NULL, &filesystems);
	if (ret < 0) {
		error_path("cannot read", "/sys/fs/btrfs", ret);
		run->status = STATUS_ERROR;
	}
	for (size_t i = 0; i < filesystems.count; i++)
		collect_filesystem(run, filesystems.fsids[i]);
}

/* -- checks -- */

static const struct metric blocked_metric = {
	"btrfs_fastpath_check_blocked", METRIC_GAUGE, NULL,
	"1: the check was not started, because its process of another run still exists."
};
static const struct metric status_metric = {
	"btrfs_fastpath_check_status", METRIC_GAUGE, NULL,
	"The exit status of the check: 0 it passed, 64 it found something, 1 an error."
};
static const struct metric seconds_metric = { "btrfs_fastpath_check_seconds", METRIC_GAUGE,
					      "seconds", "How long the check took." };

struct check_row {
	const char *check;
	const char *command;
	bool blocked;
	uint64_t status;
	uint64_t elapsed_ns;
};

#define CHECK(member) offsetof(struct check_row, member)

static const struct field check_fields[] = {
	{ CHECK(check), FIELD_TEXT, .label.name = "check" },
	{ CHECK(command), FIELD_TEXT, .label.name = "command" },
	{ CHECK(blocked), FIELD_BOOL, .metric = &blocked_metric },
	{ CHECK(status), FIELD_NUMBER, .metric = &status_metric },
	{ CHECK(elapsed_ns), FIELD_TIME, .metric = &seconds_metric },
	{ 0 },
};

/* Prometheus keeps each sample, and each label, for months. */
#define SAMPLES_MAX 1000
#define LABEL_SIZE_MAX 1024

struct configured_check {
	const struct collection *run;
	const char *name;
	/* the path of its configuration, and its line there: patterns can match other files each time */
	const char *subject;
	/* the name of its process */
	char mark[PROCESS_MARK_SIZE];
	const struct command *command;
	/* begins with the command's name */
	int argc;
	char **argv;
};

/* "check 'name'", or NULL without memory. */
static char *subject_of(const struct configured_check *check)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(check->name);
	char *subject;

	return asprintf(&subject, "check %s", quoted) < 0 ? NULL : subject;
}

static int __attribute__((format(printf, 2, 3)))
check_failed(const struct configured_check *check, const char *format, ...)
{
	CLEANUP_FREE char *subject = subject_of(check);
	CLEANUP_FREE char *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&reason, format, arguments) < 0)
		reason = NULL;
	va_end(arguments);
	error("%s: %s", subject ? subject : "check", reason ? reason : "out of memory");
	return STATUS_ERROR;
}

/* Returns the exit status. */
static int run_checked_command(const struct configured_check *check, struct metrics *metrics)
{
	struct global_options global = {
		.metrics = metrics,
		.metrics_alone = true,
		.verbosity = check->run->arguments->global->verbosity,
	};
	int status = check->command->run(check->argc, check->argv, &global);

	if (metrics_exceed_limits(metrics)) {
		error("more than %d samples, or a label of more than %d bytes", SAMPLES_MAX,
		      LABEL_SIZE_MAX);
		return STATUS_ERROR;
	}
	/* A check of a tree has not passed if it saw only a part of the tree. */
	if (status == STATUS_OK && global.skipped_mount_count) {
		error("mount points of the same filesystem that were not entered: %" PRIu64,
		      global.skipped_mount_count);
		return STATUS_ERROR;
	}
	return status;
}

/* In a process of its own: the samples if the command kept within the limits, and the status. */
static void answer_check(void *data, FILE *answer)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	const struct configured_check *check = data;
	CLEANUP_FREE char *subject = subject_of(check);
	int status;

	message_set_subject(subject);
	process_mark_self(check->mark);
	if (!metrics)
		return;
	metrics_set_label(metrics, "check", check->name);
	metrics_set_limits(metrics, SAMPLES_MAX, LABEL_SIZE_MAX);
	status = run_checked_command(check, metrics);
	if (!metrics_exceed_limits(metrics) && metrics_pack(metrics, answer) < 0) {
		error("out of memory");
		status = STATUS_ERROR;
	}
	fwrite(&status, sizeof(status), 1, answer);
	/* A thread that was given up may still print an error. */
	message_set_subject(NULL);
}

/*
 * One that hangs must not keep the others from being made. The command runs in a copy of this process
 * and not in a new program, which would lose the mark. Returns the status of the check.
 */
static int start_check(struct collection *run, struct configured_check *check)
{
	const uint64_t seconds = run->arguments->timeout;
	CLEANUP_FREE char *answer = NULL;
	int status, ret;
	size_t size;

	ret = forked_work_run(answer_check, check, seconds * NANOSECONDS_PER_SECOND, &answer,
			      &size);
	if (ret == 0 && size < sizeof(status))
		ret = -ENOMEM;
	if (ret == 0) {
		size -= sizeof(status);
		memcpy(&status, answer + size, sizeof(status));
		ret = metrics_unpack(run->out.metrics, answer, size);
	}
	switch (ret) {
	case 0:
		return status;
	case -ETIMEDOUT:
		return check_failed(check, "timed out after %" PRIu64 " s", seconds);
	case -ECHILD:
		return check_failed(check, "exited early");
	default:
		return check_failed(check, "cannot start: %s", strerror(-ret));
	}
}

/*
 * A process that waits for a lock that another user holds cannot be killed. There must not be one more
 * after each run.
 */
static bool is_blocked(const struct configured_check *check)
{
	pid_t left = process_find_marked(NULL, check->mark);

	if (left)
		check_failed(check, "not started, since its process %d of another run still exists",
			     (int)left);
	return left;
}

static void make_check(struct collection *run, struct configured_check *check)
{
	struct check_row row = { .check = check->name, .command = check->command->name };
	uint64_t started_at = monotonic_ns();

	process_mark_of(check->subject, check->mark);
	row.blocked = is_blocked(check);
	row.status = row.blocked ? STATUS_ERROR : start_check(run, check);
	row.elapsed_ns = monotonic_ns() - started_at;
	record_samples(&run->out, check_fields, &row);
	if (row.status == STATUS_ERROR)
		run->status = STATUS_ERROR;
}

/* -- the configuration -- */

struct config {
	const char *path;
	/* without symbolic links */
	char *real_path;
	FILE *stream;
	unsigned int line;
	/* of the checks so far */
	char **names;
	size_t name_count;
};

static void line_failed(struct collection *run, const struct config *config, const char *what)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(config->path);

	error("%s, line %u: %s", quoted, config->line, what);
	run->status = STATUS_ERROR;
}

/* Samples of two checks with one name would be indistinguishable. Returns 0, -EEXIST or -ENOMEM. */
static int take_check_name(struct config *config, const char *name)
{
	char **names;

	for (size_t i = 0; i < config->name_count; i++)
		if (strcmp(config->names[i], name) == 0)
			return -EEXIST;
	names = reallocarray(config->names, config->name_count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	config->names = names;
	names[config->name_count] = strdup(name);
	if (!names[config->name_count])
		return -ENOMEM;
	config->name_count++;
	return 0;
}

/* "check NAME COMMAND ARGUMENT...". Returns what is wrong with it, or NULL. */
static const char *apply_words(struct collection *run, struct config *config, const char *subject,
			       int count, char **words)
{
	const struct command *command;
	int ret;

	if (strcmp(words[0], "check") != 0 || count < 3)
		return "expected: check NAME COMMAND ARGUMENT...";
	if (command_find(words[2], CALLER_OWN, &command) != COMMAND_FOUND ||
	    !(command->more_formats & FORMAT_BIT(FORMAT_OPENMETRICS)))
		return "this command has no metrics";
	ret = take_check_name(config, words[1]);
	if (ret < 0)
		return ret == -EEXIST ? "another check has this name" : "out of memory";
	make_check(run, &(struct configured_check){
				.run = run,
				.name = words[1],
				.subject = subject,
				.command = command,
				.argc = count - 2,
				.argv = words + 2,
			});
	return NULL;
}

/* Returns what is wrong with it, or NULL. */
static const char *apply_line(struct collection *run, struct config *config, const char *line)
{
	CLEANUP_FREE char *subject = NULL;
	const char *problem = NULL;
	wordexp_t words;

	if (asprintf(&subject, "%s\n%s", config->real_path, line) < 0) {
		subject = NULL;
		return "out of memory";
	}
	/* Patterns and variables are useful, and commands would be a shell. */
	if (wordexp(line, &words, WRDE_NOCMD) != 0)
		return "cannot be split into words";
	if (words.we_wordc)
		problem = apply_words(run, config, subject, words.we_wordc, words.we_wordv);
	wordfree(&words);
	return problem;
}

static void apply_config(struct collection *run, struct config *config)
{
	CLEANUP_FREE char *line = NULL;
	const char *problem;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, config->stream)) >= 0) {
		config->line++;
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " \t")] == '#')
			continue;
		problem = apply_line(run, config, line);
		if (problem)
			line_failed(run, config, problem);
	}
	if (ferror(config->stream)) {
		error_path("cannot read", config->path, -errno);
		run->status = STATUS_ERROR;
	}
}

/* Who can change it decides what root reads. Returns 0, or -1 unless a missing file is no error. */
static int open_config(struct config *config, bool may_be_missing)
{
	int fd = trusted_file_open(config->path);

	if (fd == -ENOENT && may_be_missing)
		return 0;
	if (fd == -EPERM)
		error_path("refusing a file that other users can modify:", config->path, 0);
	else if (fd < 0)
		error_path("cannot open", config->path, fd);
	if (fd < 0)
		return -1;
	config->stream = fdopen(fd, "r");
	config->real_path = realpath(config->path, NULL);
	if (!config->real_path)
		config->real_path = strdup(config->path);
	if (config->stream && config->real_path)
		return 0;
	if (!config->stream)
		close(fd);
	error("out of memory");
	return -1;
}

static void close_config(struct config *config)
{
	if (config->stream)
		fclose(config->stream);
	free(config->real_path);
	for (size_t i = 0; i < config->name_count; i++)
		free(config->names[i]);
	free(config->names);
}

static void make_checks(struct collection *run)
{
	const char *path = run->arguments->config;
	CLEANUP(close_config) struct config config = { .path = path ? path : COLLECT_CONFIG };

	if (open_config(&config, !path) < 0)
		run->status = STATUS_ERROR;
	else if (config.stream)
		apply_config(run, &config);
}

/* -- the file -- */

static const struct metric time_metric = {
	"btrfs_fastpath_collect_timestamp_seconds", METRIC_GAUGE, "seconds",
	"When these metrics were collected, in seconds since 1970."
};

static void add_time(struct collection *run)
{
	static const struct field fields[] = {
		{ 0, FIELD_NUMBER, .metric = &time_metric },
		{ 0 },
	};
	const uint64_t now = time(NULL);

	record_samples(&run->out, fields, &now);
}

/* A signal meanwhile leaves the old file or the new one. */
static int replace_file(const struct metrics *metrics, const char *path)
{
	struct interrupts interrupts;
	struct descriptor_place left;
	struct new_file file;
	int ret;

	interrupts_hold(&interrupts);
	ret = new_file_open_to_replace(path, &file);
	if (ret == 0) {
		file.error = metrics_write(metrics, file.stream, METRICS_PROMETHEUS);
		ret = new_file_finish(&file, &left);
		free(left.path);
	}
	if (ret < 0)
		new_file_error("cannot write to", path, ret);
	interrupts_release(&interrupts);
	return ret;
}

static int print_collected(const struct metrics *metrics)
{
	int ret = metrics_write(metrics, stdout, METRICS_PROMETHEUS);

	if (ret < 0)
		error("out of memory");
	return ret;
}

static int collect(const struct collect_options *arguments)
{
	struct collection run = {
		.arguments = arguments,
		.out = { .format = FORMAT_OPENMETRICS, .metrics = metrics_new() },
	};
	const char *path = arguments->output;
	int ret;

	if (!run.out.metrics) {
		error("out of memory");
		return STATUS_ERROR;
	}
	collect_kernel(&run);
	collect_filesystems(&run);
	make_checks(&run);
	add_time(&run);
	ret = strcmp(path, "-") == 0 ? print_collected(run.out.metrics) :
				       replace_file(run.out.metrics, path);
	metrics_free(run.out.metrics);
	return ret < 0 ? STATUS_ERROR : run.status;
}

int collect_run(int argc, char **argv, struct global_options *global)
{
	struct collect_options arguments = {
		.global = global,
		.output = DEFAULT_OUTPUT,
		.timeout = DEFAULT_TIMEOUT,
	};

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	return collect(&arguments);
}
