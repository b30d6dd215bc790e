// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fs/device-stats.h"
#include "send-reada-plot.h"
#include "send-reada-reading.h"
#include "send-reada-report.h"
#include "send-reada-source.h"
#include "send/send-extents.h"
#include "send/send-stream.h"
#include "send/send-subvolume.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "ui/counter-delta.h"
#include "ui/directory.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/standard-files.h"

#define PASSES_MAX 1000
#define TOP_MAX 1000

/* -- options -- */

enum progress_wish { PROGRESS_ON_TERMINAL, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct send_arguments {
	struct global_options *global;
	const char *path;
	int path_count;
	const char *decode;
	const char *target;
	const char *parent;
	const char **clones;
	size_t clone_count;
	/* 0: the newest one, if given */
	uint32_t protocol;
	bool protocol_given;
	bool estimate;
	/* --full */
	bool full;
	/* bytes a second, 0 if it is not given */
	uint64_t rate;
	bool measure_rate;
	bool data;
	bool compressed;
	bool cold;
	uint64_t passes;
	uint64_t top;
	const char *plot;
	enum progress_wish progress;
};

enum {
	OPTION_RATE = 0x2000,
	OPTION_PROTO,
	OPTION_PASSES,
	OPTION_TOP,
	OPTION_PLOT,
	OPTION_PROGRESS,
	OPTION_NO_PROGRESS,
	OPTION_DECODE,
	OPTION_TARGET,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to send:", 1 },
	{ "parent", 'p', "PARENT", 0, "Send only the changes since this snapshot", 1 },
	{ "clone-src", 'c', "CLONE", 0, "Refer to data in this snapshot; can be repeated", 1 },
	{ "proto", OPTION_PROTO, "N", 0, "Use protocol N (1); 0 is the newest", 1 },
	{ "compressed-data", FLAG(struct send_arguments, compressed), NULL, 0,
	  "Send compressed data as on disk (protocol 2)", 1 },
	{ "data", FLAG(struct send_arguments, data), NULL, 0, "Send the file data, too", 1 },
	{ NULL, 0, NULL, 0, "What to report:", 2 },
	{ "estimate", FLAG(struct send_arguments, estimate), NULL, 0, "Print only the size", 2 },
	{ "full", FLAG(struct send_arguments, full), NULL, 0,
	  "With --estimate -p: also the size of a full stream", 2 },
	{ "rate", OPTION_RATE, "RATE", 0, "With --estimate: the time at RATE, or measure", 2 },
	{ "top", OPTION_TOP, "N", 0, "Also print the N files with the most bytes", 2 },
	{ "plot", OPTION_PLOT, "FILE", 0, "Draw the first pass, as a new SVG file", 2 },
	{ "decode", OPTION_DECODE, "FILE", 0, "Read a stream from FILE (-: stdin) instead", 2 },
	{ "target", OPTION_TARGET, "DIR", 0, "With --decode: whether DIR has its parent", 2 },
	{ NULL, 0, NULL, 0, "How to send:", 3 },
	{ "cold", FLAG(struct send_arguments, cold), NULL, 0,
	  "First write back and drop all caches (root)", 3 },
	{ "passes", OPTION_PASSES, "N", 0, "Send N times; with --cold the first one is cold", 3 },
	{ "progress", OPTION_PROGRESS, NULL, 0, "Show progress even without a terminal", 3 },
	{ "no-progress", OPTION_NO_PROGRESS, NULL, 0, "Show no progress, even on a terminal", 3 },
	{ 0 },
};

static error_t parse_protocol(struct send_arguments *arguments, const char *text)
{
	if (!isdigit((unsigned char)text[0]) || text[1] || text[0] - '0' > SEND_PROTOCOL_MAX) {
		error_value("unknown protocol", text, " (expected 0 to %d)", SEND_PROTOCOL_MAX);
		return EINVAL;
	}
	arguments->protocol = text[0] - '0';
	arguments->protocol_given = true;
	return 0;
}

static error_t parse_rate(struct send_arguments *arguments, const char *text)
{
	arguments->measure_rate = strcmp(text, "measure") == 0;
	arguments->rate = 0;
	if (!arguments->measure_rate &&
	    (parse_size(text, &arguments->rate) < 0 || !arguments->rate)) {
		error_value("invalid value for --rate:", text,
			    " (expected bytes per second, such as 100M, or measure)");
		return EINVAL;
	}
	return 0;
}

static error_t add_clone(struct send_arguments *arguments, const char *path)
{
	const char **clones = reallocarray(arguments->clones, arguments->clone_count + 1,
					   sizeof(*clones));

	if (!clones)
		return ENOMEM;
	clones[arguments->clone_count++] = path;
	arguments->clones = clones;
	return 0;
}

static error_t check_send_arguments(const struct send_arguments *a, const struct argp_state *state)
{
	const struct option_rule rules[] = {
		{ a->estimate &&
			  (a->data || a->cold || a->passes || a->top || a->decode || a->plot),
		  "--estimate cannot be combined with --data, --cold, --passes, --top, --decode "
		  "or --plot" },
		{ !a->estimate && a->full, "--full requires --estimate" },
		{ !a->estimate && (a->rate || a->measure_rate), "--rate requires --estimate" },
		{ a->target && !a->decode, "--target requires --decode" },
		{ a->decode && a->path_count, "--decode cannot be combined with a subvolume" },
		{ a->decode && (a->parent || a->clone_count || a->protocol_given || a->compressed ||
				a->data || a->cold || a->passes || a->plot),
		  "--decode cannot be combined with -p, -c, --proto, --compressed-data, --data, "
		  "--cold, --passes or --plot" },
		{ a->path_count == 1 && a->compressed && a->protocol_given && a->protocol == 1,
		  "--compressed-data requires protocol 2 or later" },
		{ 0 },
	};
	error_t ret;

	if (a->global->done)
		return 0;
	ret = check_option_rules(rules);
	return ret || a->decode ? ret : expect_one_argument(state, a->path_count);
}

static error_t parse_send_option(int key, char *text, struct argp_state *state)
{
	struct send_arguments *arguments = state->input;

	switch (key) {
	case 'p':
		arguments->parent = text;
		return 0;
	case 'c':
		return add_clone(arguments, text);
	case OPTION_PROTO:
		return parse_protocol(arguments, text);
	case OPTION_RATE:
		return parse_rate(arguments, text);
	case OPTION_TOP:
		return parse_count("--top", text, TOP_MAX, &arguments->top);
	case OPTION_PLOT:
		arguments->plot = text;
		return 0;
	case OPTION_DECODE:
		arguments->decode = text;
		return 0;
	case OPTION_TARGET:
		arguments->target = text;
		return 0;
	case OPTION_PASSES:
		return parse_count("--passes", text, PASSES_MAX, &arguments->passes);
	case OPTION_PROGRESS:
		arguments->progress = PROGRESS_ALWAYS;
		return 0;
	case OPTION_NO_PROGRESS:
		arguments->progress = PROGRESS_NEVER;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	case ARGP_KEY_ARG:
		arguments->path = text;
		arguments->path_count++;
		return 0;
	case ARGP_KEY_END:
		return check_send_arguments(arguments, state);
	default:
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_send_option,
	.children = global_argp_children,
	.args_doc = "SUBVOL\n--decode FILE",
	.doc = "Show the contents of a btrfs send, its reads, its size and its duration."
	       "The kernel sends, and the stream is decoded and discarded, without file data "
	       "unless --data is given. Sending requires root; --decode does not.",
};

/* -- sending -- */

static void measure_pass(struct send_pass *pass, const struct send_reading *reading)
{
	pass->elapsed_ns = monotonic_ns() - reading->started_ns;
	pass->stream_bytes = reading->stream.position;
	pass->command_count = reading->tally.command_count;
}

/* Returns 0; -ERESTART if the send was interrupted; or -1 after printing an error. */
static int send_once(const struct send_request *request, const char *path,
		     struct send_reading *reading)
{
	int ret = 0;

	if ((request->compressed || request->parent) && !request->data)
		ret = send_extents_new(&reading->extents, request->fd, request->parent,
				       request->compressed);
	reading->started_ns = monotonic_ns();
	if (ret == 0)
		ret = send_subvolume(request, send_reading_take, reading);
	if (ret == 0)
		ret = send_stream_end(&reading->stream);
	progress_clear();
	/* A kernel that is corrected ends an interrupted send, others restart it. */
	if (ret == -EINTR || (ret == -EPROTO && reading->stream.fault == SEND_FAULT_RESTART))
		return -ERESTART;
	if (ret == -EPROTO && reading->stream.fault)
		error("the kernel's stream is broken at byte %" PRIu64 ": %s",
		      reading->stream.fault_position, send_fault_text(reading->stream.fault));
	/* The reader explained -ECANCELED. */
	else if (ret < 0 && ret != -ECANCELED)
		error_path("cannot send", path, ret);
	return ret < 0 ? -1 : 0;
}

/* A stream that is broken in each send can look like one that restarts. */
#define SENDS_MAX 100

/* Whether to send once more, by what send_once() returned. */
static bool must_send_again(int ret, const struct send_arguments *arguments, unsigned int *sends)
{
	if (ret != -ERESTART)
		return false;
	if (++*sends >= SENDS_MAX) {
		error_path("a send ended in its midst too often:", arguments->path, 0);
		return false;
	}
	if (arguments->global->verbosity > 0)
		warning("the send was stopped and continued, and is done once more");
	return true;
}

static int estimate_once(const struct send_request *request, const struct send_arguments *arguments,
			 uint64_t *ret_bytes)
{
	struct send_request without_data = *request;
	CLEANUP(send_reading_free) struct send_reading reading;
	int ret;

	without_data.data = false;
	ret = send_reading_init(&reading, arguments->top, arguments->global->sizes);
	if (ret == 0)
		ret = send_once(&without_data, arguments->path, &reading);
	if (ret == 0)
		*ret_bytes = send_reading_estimated_bytes(&reading);
	return ret;
}

/* The size of the stream with data, from one without. */
static int estimate(const struct send_request *request, const struct send_arguments *arguments,
		    uint64_t *ret_bytes)
{
	unsigned int sends = 0;
	int ret;

	do
		ret = estimate_once(request, arguments, ret_bytes);
	while (must_send_again(ret, arguments, &sends));
	return ret;
}

/* Returns 0; or -1, and complains. */
static int begin_cold(int fd)
{
	int ret = cold_drop_caches(fd);

	if (ret < 0)
		error("cannot drop the caches: %s", strerror(-ret));
	return ret > 0 ? 0 : -1;
}

/* Linux 6.1 can keep all metadata that it has just written. */
static void warn_if_not_cold(const struct send_pass *pass)
{
	if (pass->cold == ANSWER_YES && pass->has_device && !pass->device.reads)
		warning("nothing was read: the kernel kept the metadata in memory although the "
			"caches were dropped; unmount and mount it again for a cold pass");
}

static int send_pass(struct send_report *report, const struct send_source *source,
		     const struct send_request *request, struct send_pass *pass)
{
	struct send_reading *reading = &report->reading;
	struct device_stats before, after;
	int ret;

	if (pass->cold == ANSWER_YES && begin_cold(request->fd) < 0)
		return -1;
	pass->has_device = device_stats_read(NULL, source->subvolume.fsid, &before) == 0;
	if (reading->plot)
		send_plot_begin(reading->plot, source->subvolume.fsid);
	ret = send_once(request, report->subvolume, reading);
	if (ret < 0)
		return ret;
	measure_pass(pass, reading);
	if (reading->plot)
		send_plot_end(reading->plot, pass->elapsed_ns, send_reading_amount(reading));
	pass->has_device = pass->has_device &&
			   device_stats_read(NULL, source->subvolume.fsid, &after) == 0;
	if (pass->has_device)
		pass->device = device_stats_subtract(&after, &before);
	warn_if_not_cold(pass);
	return 0;
}

/* The pass INDEX, from the beginning. Returns as send_once(). */
static int send_whole_pass(struct send_report *report, const struct send_arguments *arguments,
			   const struct send_source *source, const struct send_request *request,
			   size_t index, uint64_t expected)
{
	struct send_pass *pass = &report->passes[index];
	int ret;

	send_reading_free(&report->reading);
	ret = send_reading_init(&report->reading, arguments->top, arguments->global->sizes);
	if (ret < 0)
		return ret;
	report->reading.expected_bytes = expected;
	report->reading.plot = index == 0 && arguments->plot ? &report->plot : NULL;
	pass->cold = answer_of(true, arguments->cold && index == 0);
	if (index == 0)
		counter_delta_begin(&report->counter_delta, request->fd);
	ret = send_pass(report, source, request, pass);
	if (index == 0)
		counter_delta_end(&report->counter_delta);
	return ret;
}

/* Each pass reads the same stream; the last one's is reported. */
static int send_passes(struct send_report *report, const struct send_arguments *arguments,
		       const struct send_source *source, const struct send_request *request)
{
	unsigned int sends = 0;
	uint64_t expected = 0;
	int ret = 0;

	if (arguments->data && progress_enabled())
		ret = estimate(request, arguments, &expected);
	for (size_t i = 0; i < report->pass_count && ret == 0; i++) {
		do
			ret = send_whole_pass(report, arguments, source, request, i, expected);
		while (must_send_again(ret, arguments, &sends));
		expected = report->reading.stream.position;
	}
	return ret;
}

#define PROTOCOL_WITH_HOLES 2

/* Adds ", by --proto 2 …" to TEXT, if that is much less: protocol 1 writes zeros to holes. */
static int add_other_protocol(char *text, size_t size, const struct send_arguments *arguments,
			      const struct send_request *request, uint64_t bytes)
{
	struct send_request other = *request;
	char with_holes[UNITS_TEXT_SIZE];
	uint64_t other_bytes;
	int ret;

	*text = '\0';
	other.protocol = PROTOCOL_WITH_HOLES;
	if (request->protocol >= other.protocol || send_newest_protocol() < other.protocol)
		return 0;
	ret = estimate(&other, arguments, &other_bytes);
	if (ret == 0 && other_bytes < bytes / 2)
		snprintf(text, size, "; with --proto %d it is %s", PROTOCOL_WITH_HOLES,
			 format_size(with_holes, other_bytes, arguments->global->sizes));
	return ret;
}

/* An incremental stream can be larger than all of it. */
static int warn_if_larger_than_full(const struct send_forecast *forecast,
				    const struct send_arguments *arguments,
				    const struct send_request *request)
{
	char with_parent[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];
	char other[UNITS_TEXT_SIZE + sizeof("; with --proto 2 it is ")];
	struct size_format sizes = arguments->global->sizes;
	int ret;

	if (forecast->incremental_bytes <= forecast->full_bytes)
		return 0;
	ret = add_other_protocol(other, sizeof(other), arguments, request,
				 forecast->incremental_bytes);
	if (ret < 0)
		return ret;
	warning("the incremental stream is larger than a full one: %s, not %s%s",
		format_size(with_parent, forecast->incremental_bytes, sizes),
		format_size(all, forecast->full_bytes, sizes), other);
	return 0;
}

static int compare_with_full(struct send_report *report, const struct send_arguments *arguments,
			     const struct send_request *request)
{
	struct send_forecast *forecast = &report->forecast;
	struct send_request full = *request;
	int ret;

	full.parent = 0;
	full.clone_count = 0;
	ret = estimate(&full, arguments, &forecast->full_bytes);
	if (ret < 0)
		return ret;
	forecast->has_full = true;
	return warn_if_larger_than_full(forecast, arguments, request);
}

static int find_rate(struct send_report *report, const struct send_arguments *arguments,
		     const struct send_request *request)
{
	int ret;

	report->forecast.rate = arguments->rate;
	if (!arguments->measure_rate)
		return 0;
	ret = send_forecast_measure(&report->forecast, request, arguments->global->sizes);
	if (ret < 0)
		error_path("cannot send", report->subvolume, ret);
	return ret < 0 ? -1 : 0;
}

static int make_forecast(struct send_report *report, const struct send_arguments *arguments,
			 const struct send_request *request)
{
	struct send_forecast *forecast = &report->forecast;
	int ret = 0;

	forecast->is_incremental = request->parent;
	forecast->incremental_bytes = report->estimated_bytes;
	if (!request->parent) {
		forecast->has_full = true;
		forecast->full_bytes = report->estimated_bytes;
	} else if (arguments->full) {
		ret = compare_with_full(report, arguments, request);
	}
	if (ret == 0)
		ret = find_rate(report, arguments, request);
	send_forecast_finish(&report->forecast);
	return ret;
}

static int send_and_count(struct send_report *report, const struct send_arguments *arguments,
			  const struct send_source *source)
{
	struct send_request request = send_source_request(source);
	int ret;

	request.protocol = arguments->protocol;
	request.data = arguments->data;
	request.compressed = arguments->compressed;
	report->tree_bytes = source->subvolume.root.tree_bytes;
	report->parent = source->parent.fd >= 0 ? source->parent.path : NULL;
	ret = send_passes(report, arguments, source, &request);
	report->estimated_bytes = send_reading_estimated_bytes(&report->reading);
	if (ret == 0 && arguments->estimate)
		ret = make_forecast(report, arguments, &request);
	return ret;
}

static int report_send(struct send_report *report, const struct send_arguments *arguments)
{
	struct send_source source;
	int ret;

	report->subvolume = arguments->path;
	ret = send_source_open(&source, arguments->path, arguments->parent, arguments->clones,
			       arguments->clone_count);
	if (ret == 0)
		ret = send_and_count(report, arguments, &source);
	send_source_close(&source);
	return ret;
}

/* -- decoding -- */

static int decode_and_count(struct send_report *report, const struct send_arguments *arguments)
{
	int ret;

	ret = send_reading_init(&report->reading, arguments->top, arguments->global->sizes);
	if (ret == 0)
		ret = send_reading_decode(&report->reading, arguments->decode, &report->error);
	report->passes[0].cold = ANSWER_NO;
	report->estimated_bytes = send_reading_estimated_bytes(&report->reading);
	measure_pass(&report->passes[0], &report->reading);
	report->subvolume = report->reading.name;
	report->is_decoded = true;
	report->target.directory = arguments->target;
	if (ret == 0 && arguments->target && report->reading.identity.has_parent)
		ret = send_target_find(&report->target, report->reading.identity.parent_uuid);
	return ret;
}

/* -- the command -- */

/* What "0" and nothing at all mean. Complains where the kernel does not know the protocol. */
static int settle_protocol(struct send_arguments *arguments)
{
	uint32_t newest = send_newest_protocol();

	if (arguments->protocol_given && !arguments->protocol)
		arguments->protocol = newest < SEND_PROTOCOL_MAX ? newest : SEND_PROTOCOL_MAX;
	else if (!arguments->protocol_given)
		arguments->protocol = arguments->compressed ? 2 : 1;
	if (arguments->protocol > newest) {
		error("this kernel does not support protocol %" PRIu32 ", only up to %" PRIu32,
		      arguments->protocol, newest);
		return -1;
	}
	if (arguments->compressed && arguments->protocol < 2) {
		error("--compressed-data requires protocol 2 or later");
		return -1;
	}
	return 0;
}

static int make_report(struct send_report *report, struct send_arguments *arguments)
{
	if (arguments->decode)
		return decode_and_count(report, arguments);
	if (settle_protocol(arguments) < 0)
		return -1;
	return report_send(report, arguments);
}

static void begin_progress(const struct send_arguments *arguments)
{
	if (arguments->progress == PROGRESS_ALWAYS)
		progress_start_anywhere();
	else
		progress_start(arguments->progress == PROGRESS_ON_TERMINAL &&
			       arguments->global->verbosity >= 0);
}

/* Returns 0 or -ENOMEM. */
static int print_send(const struct send_report *report, const struct send_arguments *arguments,
		      bool is_complete)
{
	struct output out = output_begin(arguments->global);
	int ret = 0;

	if (is_complete) {
		json_begin_object(&out.json, "send-reada");
		ret = send_report_print(report, &out);
		json_end_object(&out.json);
	} else {
		json_add_null(&out.json, "send-reada");
	}
	json_end(&out.json);
	return ret;
}

/* Returns 0, or -1 after printing an error. The report is printed whatever happens to the plot. */
static int draw_send_plot(struct send_plot *plot, const struct send_arguments *arguments,
			  bool is_complete)
{
	if (!arguments->plot)
		return 0;
	if (fflush(stdout))
		standard_output_failed(errno);
	return send_plot_finish(plot, arguments->path, is_complete);
}

static int run_send(struct send_arguments *arguments)
{
	struct send_report report = {
		.with_data = arguments->data,
		.pass_count = arguments->passes ? arguments->passes : 1,
		.plot.with_data = arguments->data,
	};
	int ret = 0;

	report.passes = calloc(report.pass_count, sizeof(*report.passes));
	if (!report.passes)
		ret = -ENOMEM;
	else if (arguments->plot)
		ret = plot_open(&report.plot.plot, arguments->plot);
	begin_progress(arguments);
	if (ret == 0)
		ret = make_report(&report, arguments);
	progress_clear();
	if (print_send(&report, arguments, ret == 0) < 0)
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		error("out of memory");
	if (draw_send_plot(&report.plot, arguments, ret == 0) < 0)
		ret = -1;
	send_reading_free(&report.reading);
	free(report.target.parent_path);
	free(report.passes);
	if (ret < 0 || report.error)
		return STATUS_ERROR;
	if (!send_target_lacks_parent(&report.target))
		return STATUS_OK;
	arguments->global->finding = "btrfs receive would not find the parent";
	return STATUS_CHECK_FAILED;
}

int send_reada_run(int argc, char **argv, struct global_options *global)
{
	struct send_arguments arguments = { .global = global };
	int status = STATUS_ERROR;

	if (!options_parse(&argp, argc, argv, 0, &arguments))
		status = global->done ? STATUS_OK : run_send(&arguments);
	free(arguments.clones);
	return status;
}
