// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "commands.h"
#include "fs/counters.h"
#include "probe/feature-measure.h"
#include "probe/feature-status.h"
#include "sys/cleanup.h"
#include "sys/interrupts.h"
#include "ui/directory.h"
#include "ui/files.h"
#include "ui/front-end.h"
#include "ui/kernel-metrics.h"
#include "ui/message.h"
#include "ui/module-report.h"
#include "ui/record.h"

/* -- options -- */

struct status_arguments {
	struct global_options *global;
	/* NULL: only the kernel */
	const char *path;
	int path_count;
	/* NULL: nothing is measured */
	const char *measure;
	bool check;
};

enum {
	OPTION_MEASURE = 0x2000,
};

static const struct argp_option option_list[] = {
	{ "measure", OPTION_MEASURE, "DIR", 0, "Also measure the features in DIR, on btrfs", 1 },
	{ "check", FLAG(struct status_arguments, check), NULL, 0,
	  "Exit with status 64 if a feature is absent", 1 },
	{ 0 },
};

static error_t parse_status_option(int key, char *text, struct argp_state *state)
{
	struct status_arguments *arguments = state->input;

	switch (key) {
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
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_status_option,
	.children = global_argp_children,
	.args_doc = "[PATH]",
	.doc = "Show which of the five features of btrfs-fastpath the running kernel has, and "
	       "how that is known. With PATH, on btrfs, also print the kernel's counters for "
	       "this file system.",
};

/* -- what is found out -- */

/* What a small run showed of a feature. */
struct measured {
	const char *name;
	/* the reason, or NULL */
	const char *not_measured;
	struct feature_probe probe;
	bool is_done;
	struct feature_costs costs;
	uint64_t ratio_percent;
	bool has_improvement;
	bool has_second_ratio;
	uint64_t second_ratio_percent;
	const char *verdict;
};

struct status_report {
	const struct status_arguments *arguments;
	struct utsname kernel;
	struct feature_status statuses[FEATURE_COUNT];
	/* of the file system of PATH, if there is one and the kernel counts */
	bool has_filesystem;
	bool has_counters;
	struct counters counters;
	uint8_t fsid[FSID_SIZE];
	struct commit_counters commits;
	struct measured measured[FEATURE_COUNT];
	bool has_measured;
	/* of the package that has a patched module, if that is installed */
	bool has_module;
	struct module_report module;
	int status;
};

/* As the commands for files open one. Returns a descriptor, or -1 and complains. */
static int open_regular_file(const char *path)
{
	char *const paths[] = { (char *)path, NULL };
	struct path_store store = { 0 };
	const struct file_walk_options options = { .store = &store, .paths = paths };
	CLEANUP(file_walk_freep) struct file_walk *walk = NULL;
	struct found_file found;
	struct failure failure;
	struct stat status;
	int fd = -1, ret;

	ret = file_walk_new(&walk, &options);
	if (ret == 0)
		ret = file_walk_next(walk, &found);
	failure = ret < 0 ? (struct failure){ "cannot open", ret } : found_file_check(&found);
	if (!failure.action)
		failure = found_file_open(walk, &found, &fd, &status);
	if (failure.error == -EAGAIN && file_walk_defer(walk, &found) == 0 &&
	    file_walk_next(walk, &found) > 0)
		failure = found_file_open(walk, &found, &fd, &status);
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
		return open_regular_file(path);
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
static void read_counters(struct status_report *report)
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
static void read_module(struct status_report *report)
{
	int ret = module_report_read(&report->module);

	report->has_module = ret == 0;
	if (ret < 0 && ret != -ENOENT)
		module_report_complain(warning_path, ret);
}

static void announce_measuring(const struct status_arguments *arguments)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(arguments->measure);

	warning("creating %s thousand temporary files and subvolumes in %s",
		geteuid() == 0 ? "an image with some" : "some", quoted);
}

static void complain_of_measuring(const struct status_report *report, enum feature_id id, int err,
				  const struct probe_failure *failure)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->measure);
	CLEANUP_FREE char *said = escape_for_terminal(failure->said);

	error("cannot measure %s in %s: %s%s%s%s", features[id].name, quoted,
	      failure->step ? failure->step : "", failure->step ? ": " : "",
	      said && *said ? said : strerror(-err),
	      err == -EPERM ? " (CAP_SYS_ADMIN is required)" : "");
}

/* Those that are not measured on an image alone. */
static void list_unprivileged_probes(void)
{
	char names[128] = "";

	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		size_t length = strlen(names);

		if (!feature_probe_needs_root(&feature_probes[i]))
			snprintf(names + length, sizeof(names) - length, "%s%s", *names ? ", " : "",
				 features[i].name);
	}
	fprintf(stderr, "These can be measured without privilege: %s\n", names);
}

static struct measured measured_of(enum feature_id id)
{
	const struct feature_probe *probe = &feature_probes[id];
	bool needs_root = feature_probe_needs_root(probe) && geteuid() != 0;

	return (struct measured){
		.name = features[id].name,
		.not_measured = needs_root ? "mounting an image requires root" : NULL,
		.probe = *probe,
		.has_improvement = probe->run_improved,
	};
}

static void judge(struct measured *measured, struct feature_status *status)
{
	const struct feature_costs *costs = &measured->costs;
	enum feature_state verdict = feature_costs_judge(&measured->probe, costs);

	measured->is_done = true;
	measured->ratio_percent = feature_cost_percent(&costs->feature);
	measured->has_second_ratio = costs->improvement.reference;
	measured->second_ratio_percent = feature_cost_percent(&costs->improvement);
	measured->verdict = verdict == FEATURE_UNKNOWN ? "unclear" : feature_state_name(verdict);
	if (feature_status_measured(status, verdict))
		warning("%s: the measurement contradicts the kernel", measured->name);
}

/* Returns 0 or a negative errno, and complains; a signal is not complained of. */
static int measure_feature(struct status_report *report, enum feature_id id, int directory_fd,
			   struct interrupts *interrupts)
{
	struct measured *measured = &report->measured[id];
	struct probe_failure failure;
	int ret;

	ret = feature_measure(&measured->probe, directory_fd, interrupts, &measured->costs,
			      &failure);
	if (ret < 0 && ret != -EINTR)
		complain_of_measuring(report, id, ret, &failure);
	if (ret < 0)
		return ret;
	judge(measured, &report->statuses[id]);
	report->has_measured = true;
	return 0;
}

/* A signal that comes meanwhile ends the program once nothing is left. */
static void measure_each(struct status_report *report, int directory_fd)
{
	struct interrupts interrupts;
	bool lacks_privilege = false;
	int ret = 0;

	interrupts_hold(&interrupts);
	for (size_t i = 0; i < FEATURE_COUNT && ret != -EINTR; i++) {
		if (report->measured[i].not_measured)
			continue;
		ret = measure_feature(report, i, directory_fd, &interrupts);
		lacks_privilege |= ret == -EPERM;
		if (ret < 0)
			report->status = STATUS_ERROR;
	}
	if (lacks_privilege)
		list_unprivileged_probes();
	interrupts_release(&interrupts);
}

static void measure_features(struct status_report *report)
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
	announce_measuring(report->arguments);
	measure_each(report, fd);
}

static bool has_any(const struct status_report *report, enum feature_state state)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (report->statuses[i].state == state)
			return true;
	return false;
}

/* What is not known is not there for certain either, so it is no answer to --check. */
static void check_features(struct status_report *report)
{
	if (report->status != STATUS_OK)
		return;
	if (has_any(report, FEATURE_ABSENT)) {
		report->arguments->global->finding = "a feature is absent";
		report->status = STATUS_CHECK_FAILED;
	} else if (has_any(report, FEATURE_UNKNOWN)) {
		error("cannot determine the features of the kernel");
		report->status = STATUS_ERROR;
	}
}

/* -- the features -- */

struct feature_row {
	const char *name;
	const char *state;
	char since[32];
	const char *mainline;
	const char *evidence;
	const char *symbol;
	char explanation_text[128];
	const char *explanation;
};

#define FEATURE(member) offsetof(struct feature_row, member)

static const struct field feature_fields[] = {
	{ FEATURE(name), FIELD_TEXT, .key = "feature", .title = "Feature", .width = 12,
	  .help = "Its name." },
	{ FEATURE(state), FIELD_TEXT, .key = "state", .title = "State", .width = 8,
	  .help = "Whether the kernel has it; improved: it has, and patches make it faster than in mainline." },
	{ FEATURE(mainline), FIELD_TEXT, .key = "mainline", .title = "Mainline", .width = 8,
	  .help = "The first mainline release with it." },
	{ FEATURE(evidence), FIELD_TEXT, .key = "evidence",
	  .help = "How that is known; null if the state is unknown." },
	{ FEATURE(symbol), FIELD_TEXT, .key = "symbol",
	  .help = "The symbol of the kernel that proves it; null with other evidence." },
	{ FEATURE(explanation), FIELD_TEXT, .title = "Evidence", .width = 30 },
	{ 0 },
};

static void explain(struct feature_row *row, const struct feature_status *status)
{
	static const struct {
		const char *name;
		const char *text;
	} evidences[] = {
		[FEATURE_BY_NOTHING] = { NULL, "no evidence" },
		[FEATURE_BY_RELEASE] = { "release", "inferred from the release" },
		[FEATURE_BY_MEASURE] = { "measurement", "measured" },
		[FEATURE_BY_SYMBOL] = { "symbol", "kernel symbol " },
		[FEATURE_BY_LIST] = { "feature-list", "listed by the kernel" },
	};
	bool is_listed = status->evidence != FEATURE_BY_LIST ||
			 feature_state_is_present(status->state);

	row->evidence = evidences[status->evidence].name;
	row->explanation = row->explanation_text;
	snprintf(row->explanation_text, sizeof(row->explanation_text), "%s%s%s",
		 is_listed ? "" : "not ", evidences[status->evidence].text,
		 status->symbol ? status->symbol : "");
}

static int report_features(const struct status_report *report, struct output *out)
{
	struct rows *rows;
	int ret = rows_new(&rows, out, "features", feature_fields, 0);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		const struct feature_status *status = &report->statuses[i];
		struct feature_row row = {
			.name = features[i].name,
			.state = feature_state_name(status->state),
			.mainline = row.since,
			.symbol = status->symbol,
		};

		snprintf(row.since, sizeof(row.since), "%u.%u", features[i].since.version,
			 features[i].since.patchlevel);
		explain(&row, status);
		rows_add(rows, &row);
	}
	return rows_end(&rows);
}

/* -- what to do -- */

struct advice {
	/* "complete", "absent" or "unknown" */
	const char *state;
	/* the first release of mainline with all features; NULL if none is absent */
	const char *mainline;
	char mainline_text[32];
	/*
	 * the absent features; those that patches would bring to this kernel; those that
	 * patches would improve
	 */
	const char *const *absent;
	const char *const *brought;
	const char *const *improved;
	const char *names[3][FEATURE_COUNT + 1];
};

#define ADVICE(member) offsetof(struct advice, member)

static const struct field advice_fields[] = {
	{ ADVICE(state), FIELD_TEXT, .key = "state",
	  .help = "Whether the kernel has all features." },
	{ ADVICE(absent), FIELD_NAMES, .key = "absent", .help = "The features that are absent." },
	{ ADVICE(mainline), FIELD_TEXT, .key = "mainline",
	  .help = "The first release of mainline with all of them; null if none is absent." },
	{ ADVICE(brought), FIELD_NAMES, .key = "patches_bring",
	  .help = "The absent features that patches of this package bring to this release." },
	{ ADVICE(improved), FIELD_NAMES, .key = "patches_improve",
	  .help = "The present features that patches of this package make faster on this release." },
	{ 0 },
};

/* What the patches add to a feature with this STATE, or FEATURE_UNKNOWN. */
static enum feature_state gain_of(const struct status_report *report, enum feature_id id)
{
	struct kernel_release release;
	enum feature_state patched;

	if (kernel_release_parse(report->kernel.release, &release) < 0)
		return FEATURE_UNKNOWN;
	patched = feature_state_patched(id, release);
	return patched > report->statuses[id].state ? patched : FEATURE_UNKNOWN;
}

static void make_advice(const struct status_report *report, struct advice *advice)
{
	const char **absent = advice->names[0], **brought = advice->names[1],
		   **improved = advice->names[2];
	struct kernel_release newest = { 0 };

	*advice = (struct advice){
		.state = "complete",
		.absent = absent,
		.brought = brought,
		.improved = improved,
	};
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		enum feature_state state = report->statuses[i].state, gain = gain_of(report, i);

		if (state == FEATURE_ABSENT) {
			*absent++ = features[i].name;
			if (kernel_release_compare(features[i].since, newest) > 0)
				newest = features[i].since;
			if (gain != FEATURE_UNKNOWN)
				*brought++ = features[i].name;
		} else if (state == FEATURE_PRESENT && gain != FEATURE_UNKNOWN) {
			*improved++ = features[i].name;
		}
	}
	if (advice->absent[0]) {
		snprintf(advice->mainline_text, sizeof(advice->mainline_text), "%u.%u",
			 newest.version, newest.patchlevel);
		advice->mainline = advice->mainline_text;
		advice->state = "absent";
	} else if (has_any(report, FEATURE_UNKNOWN)) {
		advice->state = "unknown";
	}
}

/* VERB says what the patches do to the features with these NAMES. */
static void say_patches(const struct output *out, const char *verb, const char *const *names)
{
	char text[NAMES_TEXT_SIZE];

	if (*names)
		record_say(out, "The patches %s: %s (see btrfs-fastpath-kernel(7))\n", verb,
			   names_text(text, names));
}

static void say_advice(const struct advice *advice, const struct output *out)
{
	if (advice->absent[0])
		record_say(out, "What to do: Linux %s and later have all %d features\n",
			   advice->mainline, FEATURE_COUNT);
	else if (strcmp(advice->state, "unknown") == 0)
		record_say(out, "What to do: measure what is unknown with --measure DIR\n");
	else
		record_say(out, "No feature is missing: this kernel has all %d\n", FEATURE_COUNT);
	/* Those that a release has are in it whatever is done about the features. */
	if (advice->brought[0] || advice->improved[0])
		record_say(out,
			   "The patches fix bugs that lose data (see btrfs-fastpath-kernel(7))\n");
	say_patches(out, "bring to this kernel", advice->brought);
	say_patches(out, "make faster", advice->improved);
}

static void report_advice(const struct status_report *report, struct output *out)
{
	struct advice advice;

	make_advice(report, &advice);
	say_advice(&advice, out);
	record_object(out, "advice", advice_fields, &advice);
}

/* -- the module -- */

/* A module that was built and is not used would make features faster, if it does not bring them. */
static bool is_module_shown(const struct status_report *report)
{
	const struct module_kernel *running = report->module.running;

	return running && (has_any(report, FEATURE_ABSENT) || report->module.needs_reboot ||
			   running->state == MODULE_READY || running->state == MODULE_REFUSED);
}

static int report_module(const struct status_report *report, struct output *out)
{
	const struct module_kernel *running = report->module.running;
	CLEANUP_FREE char *reason = NULL;

	module_report_object(out, report->has_module ? &report->module : NULL);
	if (!report->has_module || !is_module_shown(report))
		return 0;
	reason = escape_for_terminal(running->reason ? running->reason : "");
	if (!reason)
		return -ENOMEM;
	record_say(out, "Module: %s%s%s%s\n", module_state_name(running->state),
		   *reason ? ": " : "", reason,
		   report->module.needs_reboot ? "; a reboot is needed" : "");
	return 0;
}

/* -- what was measured -- */

#define MEASURED(member) offsetof(struct measured, member)

static const struct field measured_fields[] = {
	{ MEASURED(name), FIELD_TEXT, .key = "feature", .title = "Feature", .width = 12,
	  .help = "The name of the feature." },
	{ MEASURED(probe.what), FIELD_TEXT, .key = "compared",
	  .help = "What the cost and the reference are." },
	{ MEASURED(not_measured), FIELD_TEXT, .key = "not_measured",
	  .help = "Why it was not measured, or null if it was." },
	{ MEASURED(probe.unit), FIELD_TEXT, .key = "unit",
	  .help = "That of the cost and the reference." },
	{ MEASURED(costs.feature.cost), FIELD_NUMBER, .key = "cost", .known = MEASURED(is_done),
	  .help = "The cost that the feature reduces; null if it was not measured." },
	{ MEASURED(costs.feature.reference), FIELD_NUMBER, .key = "reference",
	  .known = MEASURED(is_done),
	  .help = "What it is compared with; null if it was not measured." },
	{ MEASURED(ratio_percent), FIELD_RATIO, .key = "ratio_percent", .title = "Ratio",
	  .width = 8, .known = MEASURED(is_done),
	  .help = "The cost in percent of the reference; null if it was not measured." },
	{ MEASURED(probe.present_below), FIELD_RATIO, .key = "present_below_percent",
	  .title = "Present", .prefix = "<", .help = "Below it the feature is present." },
	{ MEASURED(probe.absent_above), FIELD_RATIO, .key = "absent_above_percent",
	  .title = "Absent", .prefix = ">", .help = "Above it the feature is absent." },
	{ 0, FIELD_OBJECT, .key = "improvement", .known = MEASURED(has_improvement),
	  .help = "A second comparison, which tells improved from present; null if the feature has none." },
	{ MEASURED(probe.what_improved), FIELD_TEXT, .key = "compared",
	  .help = "What its cost and its reference are." },
	{ MEASURED(costs.improvement.cost), FIELD_NUMBER, .key = "cost",
	  .known = MEASURED(has_second_ratio),
	  .help = "The cost that the improvement reduces; null if it could not be measured, or the feature is not present." },
	{ MEASURED(costs.improvement.reference), FIELD_NUMBER, .key = "reference",
	  .known = MEASURED(has_second_ratio),
	  .help = "What it is compared with; null if the cost is." },
	{ MEASURED(second_ratio_percent), FIELD_RATIO, .key = "ratio_percent", .title = "2nd ratio",
	  .known = MEASURED(has_second_ratio),
	  .help = "The cost in percent of the reference; null if the cost is." },
	{ MEASURED(probe.improved_below), FIELD_RATIO, .key = "improved_below_percent",
	  .title = "Improved", .prefix = "<", .known = MEASURED(has_improvement),
	  .help = "Below it a feature that is present is improved." },
	{ 0, FIELD_OBJECT_END, .key = NULL },
	{ MEASURED(verdict), FIELD_TEXT, .key = "verdict", .title = "Verdict", .width = 1,
	  .help = "What the ratios show; null if it was not measured." },
	{ 0 },
};

static const struct field measure_fields[] = {
	{ 0, FIELD_PATH, .key = "directory", .help = "Where it was measured." },
	{ 0 },
};

static void add_measured(const struct status_report *report, struct output *out)
{
	if (!report->arguments->measure) {
		json_add_null(&out->json, "measured");
		return;
	}
	json_begin_object(&out->json, "measured");
	record_members(out, measure_fields, &report->arguments->measure);
	json_begin_array(&out->json, "features");
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		record_object(out, NULL, measured_fields, &report->measured[i]);
	json_end_array(&out->json);
	json_end_object(&out->json);
}

/* A column of these texts would not fit a terminal. */
static void say_compared(const struct measured *measured, const struct output *out)
{
	if (measured->not_measured) {
		record_say(out, "Not measured: %s: %s\n", measured->name, measured->not_measured);
		return;
	}
	record_say(out, "%s: %s\n", measured->name, measured->probe.what);
	if (measured->has_improvement)
		record_say(out, "%s, 2nd ratio: %s\n", measured->name,
			   measured->probe.what_improved);
}

static int say_measured(const struct status_report *report, struct output *out)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->measure);
	const struct measured *measured = report->measured;
	struct rows *rows;
	int ret;

	record_say(out, "\nMeasured: %s\n", quoted);
	ret = rows_new(&rows, out, NULL, measured_fields, 0);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (!measured[i].not_measured)
			rows_add(rows, &measured[i]);
	ret = rows_end(&rows);
	for (size_t i = 0; i < FEATURE_COUNT && ret == 0; i++)
		say_compared(&measured[i], out);
	return ret;
}

/* -- the counters -- */

static void add_counters(const struct status_report *report, struct json_writer *json)
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

static void say_counters(const struct status_report *report, const struct output *out)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->arguments->path);

	record_say(out, "\nCounters: %s%s\n", quoted,
		   report->has_counters ? "" : ": this kernel has no counters");
	for (size_t i = 0; i < report->counters.count; i++)
		record_say(out, "%20" PRIu64 " %s\n", report->counters.list[i].value,
			   report->counters.list[i].name);
}

/* -- the command -- */

static void add_samples(const struct status_report *report, struct output *out)
{
	kernel_metrics_features(out, report->kernel.release, report->statuses);
	if (report->has_module)
		module_report_samples(out, &report->module);
	if (!report->has_filesystem)
		return;
	kernel_metrics_commits(out, report->fsid, &report->commits);
	if (report->has_counters)
		kernel_metrics_counters(out, report->fsid, &report->counters);
}

struct system_row {
	const char *release;
	const char *front_end;
	const char *path;
};

#define SYSTEM(member) offsetof(struct system_row, member)

static const struct field system_fields[] = {
	{ SYSTEM(release), FIELD_PATH, .key = "release",
	  .help = "The release of the running kernel." },
	{ SYSTEM(front_end), FIELD_TEXT, .key = "front_end",
	  .help = "The front end that calls of btrfs reach, or null." },
	{ SYSTEM(path), FIELD_PATH, .key = "path", .help = "The path that was given, or null." },
	{ 0 },
};

/* Returns 0 or -ENOMEM. */
static int report_all(const struct status_report *report, struct output *out)
{
	const struct system_row row = {
		.release = report->kernel.release,
		.front_end = front_end_is_enabled() ? front_end_path : NULL,
		.path = report->arguments->path,
	};
	CLEANUP_FREE char *release = escape_for_terminal(report->kernel.release);
	int ret;

	record_say(out, "Kernel: %s\n", release ? release : "?");
	record_say(out, "Front end: %s\n",
		   row.front_end ?
			   row.front_end :
			   "not enabled: use btrfs-fastpath COMMAND, not btrfs inspect COMMAND");
	record_members(out, system_fields, &row);
	ret = report_features(report, out);
	if (ret == 0)
		ret = report_module(report, out);
	add_counters(report, &out->json);
	add_measured(report, out);
	/* After an error there is nothing to show but bounds. */
	if (ret == 0 && report->has_measured)
		ret = say_measured(report, out);
	if (ret == 0 && report->has_filesystem)
		say_counters(report, out);
	if (ret == 0)
		report_advice(report, out);
	add_samples(report, out);
	return ret;
}

/* Returns the exit status. */
static int print_status(const struct status_report *report)
{
	const struct global_options *global = report->arguments->global;
	struct output out = output_begin(global);
	int ret;

	json_begin_object(&out.json, "status");
	ret = report_all(report, &out);
	json_end_object(&out.json);
	json_end(&out.json);
	if (ret < 0)
		error("out of memory");
	return ret < 0 ? STATUS_ERROR : report->status;
}

static int show_status(const struct status_arguments *arguments)
{
	struct status_report report = { .arguments = arguments };
	int status;

	uname(&report.kernel);
	feature_status_read(NULL, report.kernel.release, report.statuses);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		report.measured[i] = measured_of(i);
	read_module(&report);
	if (arguments->measure)
		measure_features(&report);
	if (arguments->path)
		read_counters(&report);
	if (arguments->check || arguments->global->format == FORMAT_NAGIOS)
		check_features(&report);

	status = print_status(&report);
	module_report_free(&report.module);
	return status;
}

int status_run(int argc, char **argv, struct global_options *global)
{
	struct status_arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	return global->done ? STATUS_OK : show_status(&arguments);
}
