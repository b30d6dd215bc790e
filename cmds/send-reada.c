// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "commands.h"
#include "fs/device-stats.h"
#include "send-reada-decode.h"
#include "send-reada-metrics.h"
#include "send-reada-plot.h"
#include "send-reada-reading.h"
#include "send-reada-report.h"
#include "send-reada-source.h"
#include "send/send-extents.h"
#include "send/send-stream.h"
#include "send/send-subvolume.h"
#include "ui/cold.h"
#include "ui/counter-delta.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/standard-files.h"

#define PASSES_MAX 1000
#define TOP_MAX 1000

/* -- options -- */

enum progress_wish { PROGRESS_ON_TERMINAL, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct arguments {
	struct global_options *global;
	const char *path;
	int path_count;
	const char *decode;
	const char *parent;
	const char **clones;
	size_t clone_count;
	/* 0: the newest one, if given */
	uint32_t protocol;
	bool protocol_given;
	bool estimate;
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
	OPTION_ESTIMATE = 0x2000,
	OPTION_RATE,
	OPTION_DATA,
	OPTION_PROTO,
	OPTION_COMPRESSED,
	OPTION_COLD,
	OPTION_PASSES,
	OPTION_TOP,
	OPTION_PLOT,
	OPTION_PROGRESS,
	OPTION_NO_PROGRESS,
	OPTION_DECODE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to send, as btrfs send has it:", 1 },
	{ "parent", 'p', "PARENT", 0, "Send only the changes since this snapshot", 1 },
	{ "clone-src", 'c', "CLONE", 0,
	  "Send a reference instead of data that this snapshot also has; can be given several times",
	  1 },
	{ "proto", OPTION_PROTO, "N", 0, "Use protocol N (1); 0 is the newest of the kernel", 1 },
	{ "compressed-data", OPTION_COMPRESSED, NULL, 0,
	  "Send compressed data as it is on disk; needs protocol 2", 1 },
	{ "data", OPTION_DATA, NULL, 0, "Send the file data, too, which has to be read from disk",
	  1 },
	{ NULL, 0, NULL, 0, "What to report:", 2 },
	{ "estimate", OPTION_ESTIMATE, NULL, 0,
	  "Print only the size of the stream with data, and with -p also that of a full one", 2 },
	{ "rate", OPTION_RATE, "RATE", 0,
	  "With --estimate: also print how long the stream takes at RATE, in bytes a second "
	  "(100M), or measure",
	  2 },
	{ "top", OPTION_TOP, "N", 0, "Also print the N files with the most bytes in the stream",
	  2 },
	{ "plot", OPTION_PLOT, "FILE", 0,
	  "Also draw the rate of the stream and the reads in flight in the first pass, by gnuplot, "
	  "into a new FILE in SVG",
	  2 },
	{ "decode", OPTION_DECODE, "FILE", 0,
	  "Read a stream from FILE (-: standard input) instead of sending", 2 },
	{ NULL, 0, NULL, 0, "How to send:", 3 },
	{ "cold", OPTION_COLD, NULL, 0, "First write back and drop all caches (root)", 3 },
	{ "passes", OPTION_PASSES, "N", 0, "Send N times; with --cold only the first pass is cold",
	  3 },
	{ "progress", OPTION_PROGRESS, NULL, 0,
	  "Show progress even if standard error is not a terminal", 3 },
	{ "no-progress", OPTION_NO_PROGRESS, NULL, 0, "Show no progress, not even on a terminal",
	  3 },
	{ 0 },
};

static error_t parse_protocol(struct arguments *arguments, const char *text)
{
	if (!isdigit((unsigned char)text[0]) || text[1] || text[0] - '0' > SEND_PROTOCOL_MAX) {
		error_value("unknown protocol", text, " (expected 0 to %d)", SEND_PROTOCOL_MAX);
		return EINVAL;
	}
	arguments->protocol = text[0] - '0';
	arguments->protocol_given = true;
	return 0;
}

static error_t parse_rate(struct arguments *arguments, const char *text)
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

static error_t add_clone(struct arguments *arguments, const char *path)
{
	const char **clones = reallocarray(arguments->clones, arguments->clone_count + 1,
					   sizeof(*clones));

	if (!clones)
		return ENOMEM;
	clones[arguments->clone_count++] = path;
	arguments->clones = clones;
	return 0;
}

static error_t check_decode(const struct arguments *arguments)
{
	if (arguments->path_count) {
		error("--decode cannot be combined with a subvolume");
		return EINVAL;
	}
	if (arguments->parent || arguments->clone_count || arguments->protocol_given ||
	    arguments->compressed || arguments->data || arguments->cold || arguments->passes ||
	    arguments->plot) {
		error("--decode cannot be combined with -p, -c, --proto, --compressed-data, --data, "
		      "--cold, --passes or --plot");
		return EINVAL;
	}
	return 0;
}

static error_t check_arguments(struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (arguments->estimate && (arguments->data || arguments->cold || arguments->passes ||
				    arguments->top || arguments->decode || arguments->plot)) {
		error("--estimate cannot be combined with --data, --cold, --passes, --top, --decode "
		      "or --plot");
		return EINVAL;
	}
	if (!arguments->estimate && (arguments->rate || arguments->measure_rate)) {
		error("--rate needs --estimate");
		return EINVAL;
	}
	if (arguments->decode)
		return check_decode(arguments);
	if (expect_one_argument(state, arguments->path_count))
		return EINVAL;
	if (arguments->compressed && arguments->protocol_given && arguments->protocol == 1) {
		error("--compressed-data needs protocol 2 or later");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'p':
		arguments->parent = text;
		return 0;
	case 'c':
		return add_clone(arguments, text);
	case OPTION_PROTO:
		return parse_protocol(arguments, text);
	case OPTION_COMPRESSED:
		arguments->compressed = true;
		return 0;
	case OPTION_DATA:
		arguments->data = true;
		return 0;
	case OPTION_ESTIMATE:
		arguments->estimate = true;
		return 0;
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
	case OPTION_COLD:
		arguments->cold = true;
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
		return check_arguments(arguments, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "SUBVOL\n--decode FILE",
	.doc = "Show what a btrfs send of a read-only subvolume consists of, what it reads "
	       "from the devices, and how large it would be.\vThe kernel sends, and the stream "
	       "is decoded and discarded. Without --data the kernel leaves out the file data, "
	       "and the size with the data is computed. Sending needs root; --decode does not.",
};

/* -- sending -- */

static void pass_measure(struct send_pass *pass, const struct send_reading *reading)
{
	pass->elapsed_ns = monotonic_ns() - reading->started_ns;
	pass->stream_bytes = reading->stream.position;
	pass->command_count = reading->tally.command_count;
}

/* Complains. */
static void send_failed(const struct send_reading *reading, const char *path, int ret)
{
	if (ret == -EPROTO && reading->stream.fault)
		error("the kernel's stream is broken at byte %" PRIu64 ": %s",
		      reading->stream.fault_position, send_fault_text(reading->stream.fault));
	else
		error_path("cannot send", path, ret);
}

static int send_once(const struct send_request *request, const char *path,
		     struct send_reading *reading)
{
	int ret = 0;

	if (request->compressed && !request->data)
		ret = send_extents_new(&reading->extents, request->fd);
	reading->started_ns = monotonic_ns();
	if (ret == 0)
		ret = send_subvolume(request, send_reading_take, reading);
	if (ret == 0)
		ret = send_stream_end(&reading->stream);
	progress_clear();
	if (ret < 0)
		send_failed(reading, path, ret);
	return ret < 0 ? -1 : 0;
}

/* The size of the stream with data, from one without. */
static int estimate(const struct send_request *request, const struct arguments *arguments,
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
	if (pass->cold && pass->device_known && !pass->device.reads)
		warning("nothing was read: the kernel kept the metadata in memory although the "
			"caches were dropped; unmount and mount it again for a cold pass");
}

static int send_pass(struct send_report *report, const struct send_source *source,
		     const struct send_request *request, struct send_pass *pass)
{
	struct send_reading *reading = &report->reading;
	struct device_stats before, after;
	int ret;

	if (pass->cold && begin_cold(request->fd) < 0)
		return -1;
	pass->device_known = device_stats_read(NULL, source->subvolume.fsid, &before) == 0;
	if (reading->plot)
		send_plot_begin(reading->plot, source->subvolume.fsid);
	ret = send_once(request, report->subvolume, reading);
	if (ret < 0)
		return ret;
	pass_measure(pass, reading);
	if (reading->plot)
		send_plot_end(reading->plot, pass->elapsed_ns, pass->stream_bytes);
	if (pass->device_known && device_stats_read(NULL, source->subvolume.fsid, &after) == 0)
		pass->device = device_stats_subtract(&after, &before);
	else
		pass->device_known = false;
	warn_if_not_cold(pass);
	return 0;
}

/* Each pass reads the same stream; the last one's is reported. */
static int send_passes(struct send_report *report, const struct arguments *arguments,
		       const struct send_source *source, const struct send_request *request)
{
	uint64_t expected = 0;
	int ret = 0;

	if (arguments->data && progress_enabled())
		ret = estimate(request, arguments, &expected);
	for (size_t i = 0; i < report->pass_count && ret == 0; i++) {
		send_reading_free(&report->reading);
		ret = send_reading_init(&report->reading, arguments->top, report->sizes);
		if (ret < 0)
			return ret;
		report->reading.expected_bytes = expected;
		report->reading.plot = i == 0 ? report->plot : NULL;
		report->passes[i].cold = arguments->cold && i == 0;
		if (i == 0)
			counter_delta_begin(&report->counter_delta, request->fd);
		ret = send_pass(report, source, request, &report->passes[i]);
		if (i == 0)
			counter_delta_end(&report->counter_delta);
		expected = report->reading.stream.position;
	}
	return ret;
}

/* An incremental stream can be larger than all of it. */
static void warn_if_larger_than_full(const struct send_report *report)
{
	const struct send_forecast *forecast = &report->forecast;
	char with_parent[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];

	if (forecast->incremental_bytes > forecast->full_bytes)
		warning("the incremental stream is larger than a full one: %s, not %s",
			format_size(with_parent, forecast->incremental_bytes, report->sizes),
			format_size(all, forecast->full_bytes, report->sizes));
}

static int compare_with_full(struct send_report *report, const struct arguments *arguments,
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
	forecast->is_incremental = true;
	forecast->incremental_bytes = send_reading_estimated_bytes(&report->reading);
	warn_if_larger_than_full(report);
	return 0;
}

static int find_rate(struct send_report *report, const struct arguments *arguments,
		     const struct send_request *request)
{
	int ret;

	report->forecast.rate = arguments->rate;
	if (!arguments->measure_rate)
		return 0;
	ret = send_forecast_measure(&report->forecast, request, report->sizes);
	if (ret < 0)
		error_path("cannot send", report->subvolume, ret);
	return ret < 0 ? -1 : 0;
}

static int make_forecast(struct send_report *report, const struct arguments *arguments,
			 const struct send_request *request)
{
	int ret = 0;

	report->forecast.is_made = true;
	if (request->parent)
		ret = compare_with_full(report, arguments, request);
	else
		report->forecast.full_bytes = send_reading_estimated_bytes(&report->reading);
	return ret < 0 ? ret : find_rate(report, arguments, request);
}

static int send_and_count(struct send_report *report, const struct arguments *arguments,
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
	if (ret == 0 && arguments->estimate)
		ret = make_forecast(report, arguments, &request);
	return ret;
}

static int report_send(struct send_report *report, const struct arguments *arguments)
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

static int report_stream(struct send_report *report, const struct arguments *arguments)
{
	int ret;

	ret = send_reading_init(&report->reading, arguments->top, report->sizes);
	if (ret == 0)
		ret = send_reada_decode(arguments->decode, &report->reading, &report->error);
	pass_measure(&report->passes[0], &report->reading);
	report->subvolume = report->reading.name;
	return ret;
}

/* -- the command -- */

/* What "0" and nothing at all mean. Complains where the kernel does not know the protocol. */
static int settle_protocol(struct arguments *arguments)
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
		error("--compressed-data needs protocol 2 or later");
		return -1;
	}
	return 0;
}

static int make_report(struct send_report *report, struct arguments *arguments)
{
	if (arguments->decode)
		return report_stream(report, arguments);
	if (settle_protocol(arguments) < 0)
		return -1;
	return report_send(report, arguments);
}

static void begin_progress(const struct arguments *arguments)
{
	if (arguments->progress == PROGRESS_ALWAYS)
		progress_start_anywhere();
	else
		progress_start(arguments->progress == PROGRESS_ON_TERMINAL &&
			       arguments->global->verbosity >= 0);
}

static int print_estimate(const struct send_report *report)
{
	send_forecast_print(&report->forecast, report->sizes);
	return 0;
}

static int print(const struct send_report *report, const struct arguments *arguments,
		 bool is_complete)
{
	struct json_writer json;

	if (arguments->global->metrics) {
		if (is_complete)
			send_report_metrics(report, arguments->global->metrics);
		return 0;
	}
	if (!arguments->global->json) {
		if (!is_complete)
			return 0;
		return arguments->estimate ? print_estimate(report) : send_report_print(report);
	}
	json_begin(&json, stdout, arguments->global->json_style);
	if (is_complete) {
		json_begin_object(&json, "send-reada");
		send_report_json(report, &json);
		json_end_object(&json);
	} else {
		json_add_null(&json, "send-reada");
	}
	json_end(&json);
	return 0;
}

/* Returns 0, or -1, and complains. */
static int prepare_plot(struct send_report *report, const struct arguments *arguments)
{
	if (!arguments->plot)
		return 0;
	report->plot = calloc(1, sizeof(*report->plot));
	if (!report->plot) {
		error("out of memory");
		return -1;
	}
	return plot_open(&report->plot->plot, arguments->plot);
}

static int finish_plot(struct send_report *report, const struct arguments *arguments,
		       bool is_complete)
{
	int ret = 0;

	if (report->plot)
		ret = send_plot_finish(report->plot, arguments->path, is_complete);
	free(report->plot);
	return ret;
}

/* Returns the exit status. */
static int run_report(struct send_report *report, struct arguments *arguments)
{
	int ret;

	begin_progress(arguments);
	ret = make_report(report, arguments);
	progress_clear();
	if (print(report, arguments, ret == 0) < 0)
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		error("out of memory");
	/* Whatever becomes of gnuplot. */
	if (report->plot && fflush(stdout))
		standard_output_failed(errno);
	if (finish_plot(report, arguments, ret == 0) < 0)
		ret = -1;
	send_reading_free(&report->reading);
	return ret < 0 || report->error ? STATUS_ERROR : STATUS_OK;
}

static int run(struct arguments *arguments)
{
	struct send_report report = {
		.sizes = arguments->global->sizes,
		.with_data = arguments->data,
		.cold = arguments->cold,
		.pass_count = arguments->passes ? arguments->passes : 1,
	};
	int status = STATUS_ERROR;

	report.passes = calloc(report.pass_count, sizeof(*report.passes));
	if (!report.passes) {
		error("out of memory");
	} else if (prepare_plot(&report, arguments) < 0) {
		print(&report, arguments, false);
		finish_plot(&report, arguments, false);
	} else {
		status = run_report(&report, arguments);
	}
	free(report.passes);
	return status;
}

int send_reada_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };
	int status = STATUS_ERROR;

	if (!options_parse(&argp, argc, argv, 0, &arguments))
		status = global->done ? STATUS_OK : run(&arguments);
	free(arguments.clones);
	return status;
}
