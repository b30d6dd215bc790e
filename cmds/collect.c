// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/forked-work.h"
#include "base/interrupts.h"
#include "base/new-file.h"
#include "base/trusted-program.h"
#include "commands.h"
#include "fs/mounted-filesystems.h"
#include "ui/kernel-metrics.h"
#include "ui/message.h"
#include "ui/new-file-error.h"
#include "ui/metrics.h"
#include "ui/quoted-name.h"
#include "ui/standard-files.h"

#define DEFAULT_OUTPUT "/var/lib/prometheus/node-exporter/btrfs-fastpath.prom"

/* -- options -- */

struct arguments {
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
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Make the checks that FILE names (" COLLECT_CONFIG ", if it exists)", 1 },
	{ "output", OPTION_OUTPUT, "FILE", 0,
	  "Replace FILE, or print with \"-\" (" DEFAULT_OUTPUT ")", 1 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0, "End a check after SECONDS, 1 to 86400 (600)",
	  1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

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
	.parser = parse,
	.children = global_argp_children,
	.doc = "Write metrics of the kernel, of each mounted btrfs and of configured checks to a "
	       "file, for the textfile collector of Prometheus' node_exporter.",
};

/* -- the whole run -- */

struct run {
	const struct arguments *arguments;
	struct metrics *metrics;
	int status;
};

static void collect_kernel(struct run *run)
{
	struct feature_status statuses[FEATURE_COUNT];
	struct module_report module = { 0 };
	struct utsname kernel;
	int ret;

	uname(&kernel);
	feature_status_read(NULL, kernel.release, statuses);
	kernel_metrics_features(run->metrics, kernel.release, statuses);
	ret = module_report_read(&module);
	if (ret == 0)
		kernel_metrics_module(run->metrics, &module);
	else if (ret != -ENOENT)
		module_report_complain(warning_path, ret);
	module_report_free(&module);
}

/* It can be unmounted meanwhile, and most kernels do not count. */
static void collect_filesystem(struct run *run, const uint8_t fsid[FSID_SIZE])
{
	struct commit_counters commits;
	struct counters counters;

	commit_counters_read_stats(NULL, fsid, &commits);
	kernel_metrics_commits(run->metrics, fsid, &commits);
	if (counters_read(NULL, fsid, &counters) == 0)
		kernel_metrics_counters(run->metrics, fsid, &counters);
}

static void collect_filesystems(struct run *run)
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

static const struct metric check_status_metric = {
	.name = "btrfs_fastpath_check_status",
	.type = METRIC_GAUGE,
	.help = "The exit status of the check: 0 it passed, 64 it found something, 1 an error.",
};

static const struct metric check_time_metric = {
	.name = "btrfs_fastpath_check_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "How long the check took.",
};

/* A check of a tree has not passed if it saw only a part of the tree. */
static int report_skipped(const char *name, uint64_t count)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(name);

	error("check %s: mount points of the same filesystem that were not entered: %" PRIu64,
	      quoted, count);
	return STATUS_ERROR;
}

/* Prometheus keeps each sample, and each label, for months. */
#define SAMPLES_MAX 1000
#define LABEL_SIZE_MAX 1024

static int report_excess(const char *name)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(name);

	error("check %s: more than %d samples, or a label of more than %d bytes", quoted,
	      SAMPLES_MAX, LABEL_SIZE_MAX);
	return STATUS_ERROR;
}

struct check {
	const struct run *run;
	const char *name;
	const struct command *command;
	/* begins with the command's name */
	int argc;
	char **argv;
};

/* Returns the exit status. */
static int run_command(const struct check *check, struct metrics *metrics)
{
	struct global_options global = {
		.metrics = metrics,
		.metrics_alone = true,
		.verbosity = check->run->arguments->global->verbosity,
	};
	int status = check->command->run(check->argc, check->argv, &global);

	if (metrics_exceed_limits(metrics))
		return report_excess(check->name);
	if (!global.skipped_mount_count)
		return status;
	return status == STATUS_OK ? report_skipped(check->name, global.skipped_mount_count) :
				     status;
}

/* In a process of its own: the samples if the command kept within the limits, and the status. */
static void answer_check(void *data, FILE *answer)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	const struct check *check = data;
	int status;

	if (!metrics)
		return;
	metrics_set_label(metrics, "check", check->name);
	metrics_set_limits(metrics, SAMPLES_MAX, LABEL_SIZE_MAX);
	status = run_command(check, metrics);
	if (!metrics_exceed_limits(metrics) && metrics_pack(metrics, answer) < 0) {
		error("out of memory");
		status = STATUS_ERROR;
	}
	fwrite(&status, sizeof(status), 1, answer);
}

static int complain_of_check(const struct check *check, int ret)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(check->name);

	if (ret == -ETIMEDOUT)
		error("check %s: not done after %" PRIu64 " seconds", quoted,
		      check->run->arguments->timeout);
	else if (ret == -ECHILD)
		error("check %s: ended before it was done", quoted);
	else
		error("check %s: cannot be made: %s", quoted, strerror(-ret));
	return STATUS_ERROR;
}

/* One that hangs must not keep the others from being made. Returns the status of the check. */
static int run_check(struct run *run, struct check *check)
{
	uint64_t nanoseconds = run->arguments->timeout * NANOSECONDS_PER_SECOND;
	CLEANUP_FREE char *answer = NULL;
	int status, ret;
	size_t size;

	ret = forked_work_run(answer_check, check, nanoseconds, &answer, &size);
	if (ret == 0 && size < sizeof(status))
		ret = -ENOMEM;
	if (ret < 0)
		return complain_of_check(check, ret);
	size -= sizeof(status);
	memcpy(&status, answer + size, sizeof(status));
	ret = metrics_unpack(run->metrics, answer, size);
	return ret < 0 ? complain_of_check(check, ret) : status;
}

static void make_check(struct run *run, struct check *check)
{
	const struct metric_label labels[] = { { "command", check->command->name },
					       { NULL, NULL } };
	uint64_t started_at = monotonic_ns();
	int status = run_check(run, check);

	metrics_set_label(run->metrics, "check", check->name);
	metrics_add(run->metrics, &check_status_metric, labels, status);
	metrics_add_ns(run->metrics, &check_time_metric, labels, monotonic_ns() - started_at);
	metrics_set_label(run->metrics, NULL, NULL);
	if (status == STATUS_ERROR)
		run->status = STATUS_ERROR;
}

/* -- the configuration -- */

struct config {
	const char *path;
	FILE *stream;
	unsigned int line;
	/* of the checks so far */
	char **names;
	size_t name_count;
};

static void complain_of_line(struct run *run, const struct config *config, const char *what)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(config->path);

	error("%s, line %u: %s", quoted, config->line, what);
	run->status = STATUS_ERROR;
}

/* Samples of two checks with one name could not be told apart. Returns 0, -EEXIST or -ENOMEM. */
static int take_name(struct config *config, const char *name)
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

/* "check NAME COMMAND ARGUMENT..." */
static void obey(struct run *run, struct config *config, int count, char **words)
{
	const struct command *command;
	int ret;

	if (strcmp(words[0], "check") != 0 || count < 3) {
		complain_of_line(run, config, "expected: check NAME COMMAND ARGUMENT...");
		return;
	}
	if (command_find(words[2], CALLER_OWN, &command) != COMMAND_FOUND ||
	    !(command->more_formats & FORMAT_BIT(FORMAT_OPENMETRICS))) {
		complain_of_line(run, config, "this command has no metrics");
		return;
	}
	ret = take_name(config, words[1]);
	if (ret < 0) {
		complain_of_line(run, config,
				 ret == -EEXIST ? "another check has this name" : "out of memory");
		return;
	}
	make_check(run, &(struct check){
				.run = run,
				.name = words[1],
				.command = command,
				.argc = count - 2,
				.argv = words + 2,
			});
}

static void obey_line(struct run *run, struct config *config, const char *line)
{
	wordexp_t words;

	/* Patterns and variables are useful, and commands would be a shell. */
	if (wordexp(line, &words, WRDE_NOCMD) != 0) {
		complain_of_line(run, config, "cannot be split into words");
		return;
	}
	if (words.we_wordc)
		obey(run, config, words.we_wordc, words.we_wordv);
	wordfree(&words);
}

static void obey_config(struct run *run, struct config *config)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, config->stream)) >= 0) {
		config->line++;
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " \t")] != '#')
			obey_line(run, config, line);
	}
	if (ferror(config->stream)) {
		error_path("cannot read", config->path, -errno);
		run->status = STATUS_ERROR;
	}
}

/* Who can change it decides what root reads. Returns 0, or less after it has complained. */
static int open_config(const char *path, bool may_be_missing, FILE **ret_stream)
{
	int fd = trusted_file_open(path);

	if (fd == -ENOENT && may_be_missing)
		return fd;
	if (fd == -EPERM) {
		error_path("will not obey what other users can change:", path, 0);
		return fd;
	}
	if (fd < 0) {
		error_path("cannot open", path, fd);
		return fd;
	}
	*ret_stream = fdopen(fd, "r");
	if (*ret_stream)
		return 0;
	close(fd);
	error("out of memory");
	return -ENOMEM;
}

static void free_names(struct config *config)
{
	for (size_t i = 0; i < config->name_count; i++)
		free(config->names[i]);
	free(config->names);
}

static void make_checks(struct run *run)
{
	const char *path = run->arguments->config;
	struct config config = { .path = path ? path : COLLECT_CONFIG };
	int ret;

	ret = open_config(config.path, !path, &config.stream);
	if (ret < 0) {
		if (path || ret != -ENOENT)
			run->status = STATUS_ERROR;
		return;
	}
	obey_config(run, &config);
	fclose(config.stream);
	free_names(&config);
}

/* -- the file -- */

static const struct metric time_metric = {
	.name = "btrfs_fastpath_collect_timestamp_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "When these metrics were collected, in seconds since 1970.",
};

static void add_time(struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	metrics_add(run->metrics, &time_metric, NULL, now.tv_sec);
}

static int write_to_file(struct run *run, const char *path)
{
	struct descriptor_place left;
	struct new_file file;
	int ret, finished;

	ret = new_file_open_to_replace(path, &file);
	if (ret < 0)
		return ret;
	file.error = metrics_write(run->metrics, file.stream, METRICS_PROMETHEUS);
	finished = new_file_finish(&file, &left);
	free(left.path);
	return finished;
}

/* A signal meanwhile leaves the old file or the new one. */
static void replace_file(struct run *run, const char *path)
{
	struct interrupts interrupts;
	int ret;

	interrupts_hold(&interrupts);
	ret = write_to_file(run, path);
	if (ret < 0)
		new_file_error("cannot write to", path, ret);
	if (ret < 0)
		run->status = STATUS_ERROR;
	interrupts_release(&interrupts);
}

static void write_metrics(struct run *run)
{
	const char *path = run->arguments->output;

	if (strcmp(path, "-") != 0) {
		replace_file(run, path);
	} else if (metrics_write(run->metrics, stdout, METRICS_PROMETHEUS) < 0) {
		error("out of memory");
		run->status = STATUS_ERROR;
	}
}

static int collect(const struct arguments *arguments)
{
	struct run run = { .arguments = arguments, .metrics = metrics_new() };

	if (!run.metrics) {
		error("out of memory");
		return STATUS_ERROR;
	}
	collect_kernel(&run);
	collect_filesystems(&run);
	make_checks(&run);
	add_time(&run);
	write_metrics(&run);
	metrics_free(run.metrics);
	return run.status;
}

int collect_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = {
		.global = global,
		.output = DEFAULT_OUTPUT,
		.timeout = DEFAULT_TIMEOUT,
	};

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (global->json) {
		error("collect writes metrics in Prometheus' own format");
		return STATUS_ERROR;
	}
	return collect(&arguments);
}
