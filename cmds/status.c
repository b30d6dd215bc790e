// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupts.h"
#include "base/name-escape.h"
#include "commands.h"
#include "fs/counters.h"
#include "probe/feature-measure.h"
#include "probe/feature-status.h"
#include "ui/kernel-metrics.h"
#include "ui/directory.h"
#include "ui/file-visit.h"
#include "ui/front-end.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/module-report.h"
#include "ui/quoted-name.h"
#include "ui/table.h"

/* -- options -- */

struct arguments {
	struct global_options *global;
	/* NULL: the kernel alone */
	const char *path;
	int path_count;
	/* NULL: nothing is measured */
	const char *measure;
	bool check;
};

enum {
	OPTION_CHECK = 0x2000,
	OPTION_MEASURE,
};

static const struct argp_option option_list[] = {
	{ "measure", OPTION_MEASURE, "DIR", 0,
	  "Also measure the features, with temporary files in DIR on btrfs", 1 },
	{ "check", OPTION_CHECK, NULL, 0, "Exit with status 64 if a feature is absent", 1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_CHECK:
		arguments->check = true;
		return 0;
	case OPTION_MEASURE:
		arguments->measure = text;
		return 0;
	case ARGP_KEY_ARG:
		arguments->path = text;
		arguments->path_count++;
		return 0;
	case ARGP_KEY_END:
		return expect_one_argument_at_most(state, arguments->path_count);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "[PATH]",
	.doc = "Show which of the five optimised paths of btrfs the running kernel has, and "
	       "how that is known. With PATH, on btrfs, also show the counters of the kernel "
	       "for this file system.",
};

/* -- what is found out -- */

/* What a small run showed of a feature. */
struct measured {
	bool done;
	struct feature_costs costs;
	enum feature_state verdict;
};

struct report {
	const struct arguments *arguments;
	struct utsname kernel;
	struct feature_status statuses[FEATURE_COUNT];
	/* of the file system of PATH, if there is one and the kernel counts */
	bool has_filesystem;
	bool has_counters;
	struct counters counters;
	uint8_t fsid[FSID_SIZE];
	struct commit_counters commits;
	struct measured measured[FEATURE_COUNT];
	/* of the package that has a patched module, if that is installed */
	bool has_module;
	struct module_report module;
	int status;
};

/* As the commands for files open one. Returns a descriptor, or -1 and complains. */
static int open_file(const char *path)
{
	char *const paths[] = { (char *)path, NULL };
	const struct file_walk_options options = { .paths = paths };
	CLEANUP(file_walk_freep) struct file_walk *walk = NULL;
	struct found_file found;
	struct failure failure;
	struct stat status;
	int fd = -1, ret;

	ret = file_walk_new(&walk, &options);
	if (ret == 0)
		ret = file_walk_next(walk, &found);
	failure = ret < 0 ? (struct failure){ "cannot open", ret } : file_visit_check(&found);
	if (!failure.action)
		failure = file_visit_open(walk, &found, &fd, &status);
	if (failure.action)
		error_path(failure.action, path, failure.error);
	return fd;
}

/*
 * Anything else is not opened, which can have effects. Returns a descriptor, or -1 and complains.
 */
static int open_directory_or_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR)
		return open_file(path);
	if (fd < 0)
		error_path("cannot open", path, -errno);
	return fd;
}

/* Returns 0, or less and complains where PATH is not on btrfs. */
static int find_filesystem(const char *path, uint8_t ret_fsid[FSID_SIZE])
{
	CLEANUP_CLOSE int fd = open_directory_or_file(path);
	int ret;

	if (fd < 0)
		return -1;
	ret = filesystem_id_of(fd, ret_fsid);
	if (ret == -ENOTTY)
		error_path("not a btrfs filesystem:", path, 0);
	else if (ret < 0)
		error_path("cannot examine", path, ret);
	return ret;
}

/* A kernel that does not count is no error. */
static void read_counters(struct report *report)
{
	const char *path = report->arguments->path;
	int ret;

	if (find_filesystem(path, report->fsid) == 0) {
		commit_counters_read_stats(NULL, report->fsid, &report->commits);
		ret = counters_read(NULL, report->fsid, &report->counters);
		report->has_counters = ret == 0;
		report->has_filesystem = ret == 0 || ret == -ENOENT;
		if (report->has_filesystem)
			return;
		error_path("cannot read the counters of", path, ret);
	}
	report->status = STATUS_ERROR;
}

/* Most machines have none. What the kernel has is known without it. */
static void read_module(struct report *report)
{
	int ret = module_report_read(&report->module);

	report->has_module = ret == 0;
	if (ret < 0 && ret != -ENOENT)
		module_report_complain(warning_path, ret);
}

static void announce(const struct arguments *arguments)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(arguments->measure);

	warning("making %s thousand temporary files and subvolumes in %s",
		geteuid() == 0 ? "an image with some" : "some", quoted);
}

static void complain_of_measuring(const struct report *report, enum feature_id id, int err,
				  const struct probe_failure *failure)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->measure);
	CLEANUP_FREE char *said = escape_name(failure->said);

	error("cannot measure %s in %s: %s%s%s", features[id].name, quoted,
	      failure->step ? failure->step : "", failure->step ? ": " : "",
	      said && *said ? said : strerror(-err));
}

#define NEEDS_ROOT "mounting an image needs root"

static bool can_measure(enum feature_id id)
{
	return !feature_probe_needs_root(&feature_probes[id]) || geteuid() == 0;
}

/* Returns 0 or a negative errno, and complains; a signal is not complained of. */
static int measure_feature(struct report *report, enum feature_id id, int directory_fd,
			   struct interrupts *interrupts)
{
	const struct feature_probe *probe = &feature_probes[id];
	struct measured *measured = &report->measured[id];
	struct probe_failure failure;
	int ret;

	ret = feature_measure(probe, directory_fd, interrupts, &measured->costs, &failure);
	if (ret < 0) {
		if (ret != -EINTR)
			complain_of_measuring(report, id, ret, &failure);
		return ret;
	}
	measured->done = true;
	measured->verdict = feature_costs_judge(probe, &measured->costs);
	if (feature_status_measured(&report->statuses[id], measured->verdict))
		warning("%s: the measurement contradicts the kernel", features[id].name);
	return 0;
}

/* A signal that comes meanwhile ends the program once nothing is left. */
static void measure_each(struct report *report, int directory_fd)
{
	struct interrupts interrupts;
	int ret = 0;

	interrupts_hold(&interrupts);
	for (size_t i = 0; i < FEATURE_COUNT && ret != -EINTR; i++) {
		if (!can_measure(i))
			continue;
		ret = measure_feature(report, i, directory_fd, &interrupts);
		if (ret < 0)
			report->status = STATUS_ERROR;
	}
	interrupts_release(&interrupts);
}

static void measure_features(struct report *report)
{
	CLEANUP_CLOSE int fd = directory_open(report->arguments->measure);

	if (fd < 0) {
		report->status = STATUS_ERROR;
		return;
	}
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
		error_path("cannot write to", report->arguments->measure, -errno);
		report->status = STATUS_ERROR;
		return;
	}
	if (!feature_clock_is_fine()) {
		error("cannot measure: the kernel counts CPU time in ticks only");
		report->status = STATUS_ERROR;
		return;
	}
	announce(report->arguments);
	measure_each(report, fd);
}

static bool has_any(const struct report *report, enum feature_state state)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (report->statuses[i].state == state)
			return true;
	return false;
}

/* What is not known is not there for certain either, so it is no answer to --check. */
static void check(struct report *report)
{
	if (report->status != STATUS_OK)
		return;
	if (has_any(report, FEATURE_ABSENT)) {
		report->status = STATUS_CHECK_FAILED;
	} else if (has_any(report, FEATURE_UNKNOWN)) {
		error("cannot tell which features the kernel has");
		report->status = STATUS_ERROR;
	}
}

/* -- how it is told -- */

/* NULL where there is none */
static const char *evidence_name(enum feature_evidence evidence)
{
	static const char *const names[] = {
		[FEATURE_BY_RELEASE] = "release",
		[FEATURE_BY_MEASURE] = "measurement",
		[FEATURE_BY_SYMBOL] = "symbol",
		[FEATURE_BY_LIST] = "feature-list",
	};

	return names[evidence];
}

#define EVIDENCE_TEXT_SIZE 128

static const char *explain(char text[EVIDENCE_TEXT_SIZE], const struct feature_status *status)
{
	switch (status->evidence) {
	case FEATURE_BY_NOTHING:
		break;
	case FEATURE_BY_RELEASE:
		return "inferred from the release";
	case FEATURE_BY_MEASURE:
		return "measured";
	case FEATURE_BY_SYMBOL:
		snprintf(text, EVIDENCE_TEXT_SIZE, "kernel symbol %s", status->symbol);
		return text;
	case FEATURE_BY_LIST:
		return feature_state_is_present(status->state) ? "listed by the kernel" :
								 "not listed by the kernel";
	}
	return "no evidence";
}

static const struct table_column feature_columns[] = {
	{ "Feature", 12, true },
	{ "State", 8, true },
	{ "Mainline", 8, true },
	{ "Evidence", 30, true },
};

#define SINCE_TEXT_SIZE 32

static const char *format_since(char text[SINCE_TEXT_SIZE], enum feature_id id)
{
	snprintf(text, SINCE_TEXT_SIZE, "%u.%u", features[id].since.version,
		 features[id].since.patchlevel);
	return text;
}

static void print_feature(struct table *table, enum feature_id id,
			  const struct feature_status *status)
{
	char since[SINCE_TEXT_SIZE], evidence[EVIDENCE_TEXT_SIZE];

	table_begin_row(table);
	table_cell(table, features[id].name);
	table_cell(table, feature_state_name(status->state));
	table_cell(table, format_since(since, id));
	table_cell(table, explain(evidence, status));
}

static int print_features(const struct report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, feature_columns);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		print_feature(table, i, &report->statuses[i]);
	return table_finish(table);
}

/* A module that was built and is not used would make features faster, if it does not bring them. */
static bool is_module_told(const struct report *report)
{
	const struct module_kernel *running = report->module.running;

	return running && (has_any(report, FEATURE_ABSENT) || report->module.needs_reboot ||
			   running->state == MODULE_READY || running->state == MODULE_REFUSED);
}

/* Why the running kernel does not have what the package's module has. */
static int print_module(const struct report *report)
{
	const struct module_kernel *running = report->module.running;
	CLEANUP_FREE char *reason = NULL;

	if (!is_module_told(report))
		return 0;
	reason = escape_name(running->reason ? running->reason : "");
	if (!reason)
		return -ENOMEM;
	printf("Module: %s%s%s%s\n", module_state_name(running->state), *reason ? ": " : "", reason,
	       report->module.needs_reboot ? "; a reboot is needed" : "");
	return 0;
}

static const char *verdict_name(enum feature_state verdict)
{
	return verdict == FEATURE_UNKNOWN ? "unclear" : feature_state_name(verdict);
}

#define RATIO_TEXT_SIZE 32

static const char *format_ratio(char text[RATIO_TEXT_SIZE], const char *before, uint64_t percent)
{
	snprintf(text, RATIO_TEXT_SIZE, "%s%" PRIu64 ".%02" PRIu64, before, percent / 100,
		 percent % 100);
	return text;
}

static const struct table_column measure_columns[] = {
	{ "Feature", 12, true }, { "Ratio", 8, false },	    { "Present", 9, false },
	{ "Absent", 9, false },	 { "2nd ratio", 9, false }, { "Improved", 9, false },
	{ "Verdict", 0, true },
};

static void print_measured(struct table *table, enum feature_id id, const struct measured *measured)
{
	const struct feature_probe *probe = &feature_probes[id];
	const struct feature_costs *costs = &measured->costs;
	char ratio[RATIO_TEXT_SIZE], present[RATIO_TEXT_SIZE], absent[RATIO_TEXT_SIZE];
	char second[RATIO_TEXT_SIZE], improved[RATIO_TEXT_SIZE];
	const char *cells[] = {
		features[id].name,
		"-",
		format_ratio(present, "<", probe->present_below),
		format_ratio(absent, ">", probe->absent_above),
		"-",
		"-",
		"-",
	};

	if (probe->run_improved)
		cells[5] = format_ratio(improved, "<", probe->improved_below);
	if (measured->done) {
		cells[1] = format_ratio(ratio, "", feature_cost_percent(&costs->feature));
		cells[6] = verdict_name(measured->verdict);
	}
	if (costs->improvement.reference)
		cells[4] = format_ratio(second, "", feature_cost_percent(&costs->improvement));
	table_begin_row(table);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		table_cell(table, cells[i]);
}

/* A column of these texts would not fit a terminal. */
static void print_compared(enum feature_id id)
{
	const struct feature_probe *probe = &feature_probes[id];

	if (can_measure(id))
		printf("%s: %s\n", features[id].name, probe->what);
	else
		printf("Not measured: %s: " NEEDS_ROOT "\n", features[id].name);
	if (can_measure(id) && probe->run_improved)
		printf("%s, 2nd ratio: %s\n", features[id].name, probe->what_improved);
}

/* After an error there is nothing to show but bounds. */
static bool has_measured(const struct report *report)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		if (report->measured[i].done)
			return true;
	}
	return false;
}

static int print_measurement(const struct report *report)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->measure);
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	printf("\nMeasured: %s\n", quoted);
	ret = TABLE_NEW(&table, measure_columns);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		if (can_measure(i))
			print_measured(table, i, &report->measured[i]);
	}
	ret = table_finish(table);
	for (size_t i = 0; i < FEATURE_COUNT && ret == 0; i++)
		print_compared(i);
	return ret;
}

static void print_counters(const struct report *report)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->path);

	printf("\nCounters: %s%s\n", quoted,
	       report->has_counters ? "" : ": this kernel does not count");
	for (size_t i = 0; i < report->counters.count; i++)
		printf("%20" PRIu64 " %s\n", report->counters.list[i].value,
		       report->counters.list[i].name);
}

static int print_report(const struct report *report)
{
	CLEANUP_FREE char *release = escape_name(report->kernel.release);
	int ret;

	printf("Kernel: %s\n", release ? release : "?");
	printf("Front end: %s\n", front_end_is_enabled() ? front_end_path : "not enabled");
	ret = print_features(report);
	if (ret == 0)
		ret = print_module(report);
	if (ret == 0 && has_measured(report))
		ret = print_measurement(report);
	if (ret == 0 && report->has_filesystem)
		print_counters(report);
	return ret;
}

static void json_feature(struct json_writer *json, enum feature_id id,
			 const struct feature_status *status)
{
	char since[SINCE_TEXT_SIZE];

	json_begin_object(json, NULL);
	json_add_string(json, "feature", features[id].name);
	json_add_string(json, "state", feature_state_name(status->state));
	json_add_string(json, "mainline", format_since(since, id));
	json_add_string(json, "evidence", evidence_name(status->evidence));
	json_add_string(json, "symbol", status->symbol);
	json_end_object(json);
}

static void json_improvement(struct json_writer *json, const struct feature_probe *probe,
			     const struct feature_cost *cost)
{
	bool known = cost->reference;

	if (!probe->run_improved) {
		json_add_null(json, "improvement");
		return;
	}
	json_begin_object(json, "improvement");
	json_add_string(json, "compared", probe->what_improved);
	json_add_known_uint(json, "cost", known, cost->cost);
	json_add_known_uint(json, "reference", known, cost->reference);
	json_add_known_uint(json, "ratio_percent", known, feature_cost_percent(cost));
	json_add_uint(json, "improved_below_percent", probe->improved_below);
	json_end_object(json);
}

static void json_measured(struct json_writer *json, enum feature_id id,
			  const struct measured *measured)
{
	const struct feature_probe *probe = &feature_probes[id];
	const struct feature_cost *cost = &measured->costs.feature;

	json_begin_object(json, NULL);
	json_add_string(json, "feature", features[id].name);
	json_add_string(json, "compared", probe->what);
	json_add_string(json, "not_measured", can_measure(id) ? NULL : NEEDS_ROOT);
	json_add_string(json, "unit", probe->unit);
	json_add_known_uint(json, "cost", measured->done, cost->cost);
	json_add_known_uint(json, "reference", measured->done, cost->reference);
	json_add_known_uint(json, "ratio_percent", measured->done, feature_cost_percent(cost));
	json_add_uint(json, "present_below_percent", probe->present_below);
	json_add_uint(json, "absent_above_percent", probe->absent_above);
	json_improvement(json, probe, &measured->costs.improvement);
	json_add_string(json, "verdict", measured->done ? verdict_name(measured->verdict) : NULL);
	json_end_object(json);
}

static void json_measurement(struct json_writer *json, const struct report *report)
{
	if (!report->arguments->measure) {
		json_add_null(json, "measured");
		return;
	}
	json_begin_object(json, "measured");
	json_add_name(json, "directory", report->arguments->measure);
	json_begin_array(json, "features");
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		json_measured(json, i, &report->measured[i]);
	json_end_array(json);
	json_end_object(json);
}

static void json_counters(struct json_writer *json, const struct report *report)
{
	if (!report->has_counters) {
		json_add_null(json, "counters");
		return;
	}
	json_begin_object(json, "counters");
	for (size_t i = 0; i < report->counters.count; i++)
		json_add_uint(json, report->counters.list[i].name, report->counters.list[i].value);
	json_end_object(json);
}

static void json_module(struct json_writer *json, const struct report *report)
{
	if (!report->has_module) {
		json_add_null(json, "module");
		return;
	}
	json_begin_object(json, "module");
	module_report_json(json, &report->module);
	module_report_json_kernel(json, report->module.running);
	json_end_object(json);
}

static void json_report(const struct report *report)
{
	struct json_writer json;

	json_begin(&json, stdout, report->arguments->global->json_style);
	json_begin_object(&json, "status");
	json_add_name(&json, "release", report->kernel.release);
	json_begin_array(&json, "features");
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		json_feature(&json, i, &report->statuses[i]);
	json_end_array(&json);
	json_add_string(&json, "front_end", front_end_is_enabled() ? front_end_path : NULL);
	json_module(&json, report);
	json_add_name(&json, "path", report->arguments->path);
	json_counters(&json, report);
	json_measurement(&json, report);
	json_end_object(&json);
	json_end(&json);
}

/* -- the command -- */

static void add_metrics(const struct report *report)
{
	struct metrics *metrics = report->arguments->global->metrics;

	kernel_metrics_features(metrics, report->kernel.release, report->statuses);
	if (report->has_module)
		kernel_metrics_module(metrics, &report->module);
	if (!report->has_filesystem)
		return;
	kernel_metrics_commits(metrics, report->fsid, &report->commits);
	if (report->has_counters)
		kernel_metrics_counters(metrics, report->fsid, &report->counters);
}

static int print(const struct report *report)
{
	if (report->arguments->global->metrics) {
		add_metrics(report);
	} else if (report->arguments->global->json) {
		json_report(report);
	} else if (print_report(report) < 0) {
		error("out of memory");
		return STATUS_ERROR;
	}
	return report->status;
}

static int run(const struct arguments *arguments)
{
	struct report report = { .arguments = arguments };
	int status;

	uname(&report.kernel);
	feature_status_read(NULL, report.kernel.release, report.statuses);
	read_module(&report);
	if (arguments->measure)
		measure_features(&report);
	if (arguments->path)
		read_counters(&report);
	if (arguments->check)
		check(&report);

	status = print(&report);
	module_report_free(&report.module);
	return status;
}

int status_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	return global->done ? STATUS_OK : run(&arguments);
}
