// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "commands.h"
#include "fiemap-shared-batch.h"
#include "fiemap-shared-owners.h"
#include "fiemap-shared-space.h"
#include "fiemap-shared.h"
#include "fs/subvolume.h"
#include "sharing/fiemap-timing.h"
#include "ui/message.h"
#include "ui/progress.h"

#define EXTENTS_PER_PROGRESS 4096

/* -- options -- */

enum {
	OPTION_WHY = 0x2000,
	OPTION_TIMING,
	OPTION_COLD,
	OPTION_MAP,
	OPTION_ONLY,
	OPTION_SYNC,
	OPTION_DISK,
	OPTION_FREED,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0, "Print a row for each extent: offset, bytenr, length and flags",
	  1 },
	{ "owners", 'o', NULL, 0, "Print the other files that refer to the extents (root)", 1 },
	{ "why", OPTION_WHY, NULL, 0,
	  "Print how the kernel can decide whether the extents are shared (root)", 1 },
	{ "only", OPTION_ONLY, "shared|exclusive", 0,
	  "Restrict --extents, --owners and --why to these extents", 1 },
	{ "timing", OPTION_TIMING, NULL, 0,
	  "Print the time for mapping, and the additional time for the check for shared extents",
	  1 },
	{ "cold", OPTION_COLD, NULL, 0,
	  "Like --timing, but first write back, drop all caches and time a cold pass (root)", 1 },
	{ "map", OPTION_MAP, "HEIGHT", OPTION_ARG_OPTIONAL,
	  "Draw the file from start to end as HEIGHT lines (1) of blocks, several files on one scale",
	  1 },
	{ "disk", OPTION_DISK, NULL, 0,
	  "Add a column with the bytes on disk, compressed and with overwritten parts (root)", 1 },
	{ "freed", OPTION_FREED, NULL, 0,
	  "Print what is freed if all of the files are deleted together (root)", 1 },
	{ "summarize", 's', NULL, 0,
	  "Print only the total, and with --owners the subvolumes that hold the other files", 1 },
	{ "summary", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "sync", OPTION_SYNC, NULL, 0, "Write back the data of each file first", 1 },
	{ 0 },
};

static error_t parse_only(struct arguments *arguments, const char *text)
{
	if (strcmp(text, "shared") == 0)
		arguments->only = ONLY_SHARED;
	else if (strcmp(text, "exclusive") == 0)
		arguments->only = ONLY_EXCLUSIVE;
	else {
		error_value("invalid value for --only:", text, " (expected shared or exclusive)");
		return EINVAL;
	}
	return 0;
}

bool fiemap_shared_wants_details(const struct arguments *arguments)
{
	return arguments->extents || arguments->owners || arguments->why || arguments->timing ||
	       arguments->map;
}

/* The column that --disk adds. */
#define SORT_DISK "disk"

/* Whether the owners of all files are reported together. */
static bool wants_owner_summary(const struct arguments *arguments)
{
	return arguments->summarize && arguments->owners;
}

static error_t check_arguments(const struct arguments *arguments)
{
	if (arguments->only && !arguments->extents && !arguments->owners && !arguments->why) {
		error("--only needs --extents, --owners or --why");
		return EINVAL;
	}
	if (arguments->global->metrics && fiemap_shared_wants_details(arguments)) {
		error("metrics are the sums of all files, without a report on each");
		return EINVAL;
	}
	if (arguments->summarize &&
	    (arguments->extents || arguments->why || arguments->timing || arguments->map)) {
		error("--summarize cannot be combined with a report on each file");
		return EINVAL;
	}
	if (arguments->sort.key &&
	    (arguments->summarize || fiemap_shared_wants_details(arguments))) {
		error("--sort and --top cannot be combined with --summarize or a report on each file");
		return EINVAL;
	}
	if (arguments->sort.key && strcmp(arguments->sort.key->name, SORT_DISK) == 0 &&
	    !arguments->disk) {
		error("--sort disk needs --disk");
		return EINVAL;
	}
	if (arguments->freed &&
	    (arguments->files.range.offset || arguments->files.range.length != WHOLE_FILE.length)) {
		error("--freed cannot be combined with --range, because files are deleted as a whole");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'e':
		arguments->extents = true;
		return 0;
	case 'o':
		arguments->owners = true;
		return 0;
	case OPTION_WHY:
		arguments->why = true;
		return 0;
	case OPTION_COLD:
		arguments->cold = true;
		/* fall through */
	case OPTION_TIMING:
		arguments->timing = true;
		return 0;
	case OPTION_MAP:
		arguments->map = 1;
		return text ? parse_count("--map", text, BLOCK_MAP_HEIGHT_MAX, &arguments->map) : 0;
	case 's':
		arguments->summarize = true;
		return 0;
	case OPTION_DISK:
		arguments->disk = true;
		return 0;
	case OPTION_FREED:
		arguments->freed = true;
		return 0;
	case OPTION_ONLY:
		return parse_only(arguments, text);
	case OPTION_SYNC:
		arguments->fiemap_flags = FIEMAP_FLAG_SYNC;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->sort;
		state->child_inputs[1] = &arguments->files;
		state->child_inputs[2] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child argp_children[] = {
	{ &sort_argp, 0, NULL, 0 },
	{ &file_argp, 0, NULL, 0 },
	{ &global_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = argp_children,
	.args_doc = "PATH...",
	.doc = "Show which extents of a file on btrfs are shared, with whom, and how long the "
	       "check takes.\vWithout options there is a row for each file, counted as btrfs "
	       "filesystem du counts, and a total. Options that need root say so; the others "
	       "work for every file that you can read.",
};

/* -- the columns -- */

static const struct sharing *sharing_of(const void *row)
{
	return &((const struct summary_row *)row)->sharing;
}

static uint64_t total_of(const void *row)
{
	return sharing_of(row)->total_bytes;
}

static uint64_t exclusive_of(const void *row)
{
	return sharing_exclusive_bytes(sharing_of(row));
}

static uint64_t shared_of(const void *row)
{
	return sharing_of(row)->shared_bytes;
}

static uint64_t inline_of(const void *row)
{
	return sharing_of(row)->inline_bytes;
}

static uint64_t delalloc_of(const void *row)
{
	return sharing_of(row)->delalloc_bytes;
}

static uint64_t extents_of(const void *row)
{
	return sharing_of(row)->extent_count;
}

static uint64_t shared_extents_of(const void *row)
{
	return sharing_of(row)->shared_count;
}

static uint64_t disk_of(const void *row)
{
	return ((const struct summary_row *)row)->space.disk_bytes;
}

static const struct sort_key sort_keys[] = {
	{ "total", total_of },
	{ "exclusive", exclusive_of },
	{ "shared", shared_of },
	{ "inline", inline_of },
	{ "delalloc", delalloc_of },
	{ "extents", extents_of },
	{ "shared-extents", shared_extents_of },
	{ SORT_DISK, disk_of },
	{ "path", NULL },
	{ 0 },
};

/* -- the whole run -- */

void fiemap_shared_complain_no_memory(struct scan *scan)
{
	error("out of memory");
	scan->files.visit.status = STATUS_ERROR;
}

void fiemap_shared_complain_of_sort(struct scan *scan, const char *what, const char *failed_in,
				    int ret)
{
	CLEANUP_FREE char *directory = failed_in ? quote_name(failed_in) : NULL;

	error("cannot sort %s%s%s: %s", what, directory ? " in " : "", directory ? directory : "",
	      strerror(-ret));
	scan->files.visit.status = STATUS_ERROR;
}

void fiemap_shared_count_file(struct scan *scan, const struct sharing *sharing)
{
	sharing_add(&scan->total, sharing);
	scan->files.file_count++;
}

static int report_total(void *data)
{
	struct scan *scan = data;
	struct report *report = &scan->report;
	/* For one file btrfs filesystem du gives its shared bytes, and so do we. */
	uint64_t set_shared_bytes = scan->total.shared_bytes;
	struct freed_space space;
	bool has_space;
	int ret = 0;

	if (scan->set)
		ret = unique_shared_bytes_total(scan->set, &set_shared_bytes);
	if (ret < 0)
		fiemap_shared_complain_of_sort(scan, "the shared extents",
					       unique_shared_bytes_failed_in(scan->set), ret);
	has_space = fiemap_shared_space_total(scan, &space);
	ret = report->ops->total(report, &scan->total, ret < 0 ? NULL : &set_shared_bytes,
				 has_space ? &space : NULL);
	return ret < 0 ? ret : fiemap_shared_report_owner_summary(scan);
}

int fiemap_shared_keep_row(struct scan *scan, const char *path, const struct sharing *sharing,
			   const struct file_space *space)
{
	const struct summary_row row = {
		.sharing = *sharing,
		.has_space = space,
		.space = space ? *space : (struct file_space){ 0 },
	};

	return row_sort_add(scan->rows, path, &row);
}

static int report_row(void *data, const char *path, void *kept)
{
	struct report *report = data;
	const struct summary_row *row = kept;

	return report->ops->summary(report, path, &row->sharing,
				    row->has_space ? &row->space : NULL);
}

static int report_rows(void *data)
{
	struct scan *scan = data;

	return scan->rows ? row_sort_report(scan->rows, report_row, &scan->report) : 0;
}

/* -- one file in detail -- */

struct details {
	struct scan *scan;
	struct report *report;
	const char *path;
	int fd;
	struct stat status;
	struct fiemap_iter *iter;
	struct sharing sharing;
	/* with --why or --owners */
	struct file_extent_iter *items;
	uint64_t subvolid;
	uint64_t last_snapshot;
	struct decisions decisions;
	struct extent_owners *owners;
};

const char *const fiemap_shared_decision_names[SHARE_DECISION_COUNT] = {
	[SHARE_DECISION_GENERATION] = "generation",
	[SHARE_DECISION_LEAF] = "leaf",
	[SHARE_DECISION_WALK] = "walk",
};

const char *fiemap_shared_decision_name(const struct decisions *decisions)
{
	const char *name = NULL;

	for (int i = 0; i < SHARE_DECISION_COUNT; i++) {
		if (!decisions->counts[i])
			continue;
		if (name)
			return "mixed";
		name = fiemap_shared_decision_names[i];
	}
	return name;
}

static uint64_t overlap(const struct mapped_extent *extent, const struct file_extent *item)
{
	uint64_t extent_end = extent->offset + extent->length;
	uint64_t item_end = item->offset + item->length;
	uint64_t start = extent->offset > item->offset ? extent->offset : item->offset;
	uint64_t end = extent_end < item_end ? extent_end : item_end;

	return end > start ? end - start : 0;
}

/* For --owners: the part of ITEM that is in EXTENT. */
static void add_owners(struct details *details, const struct mapped_extent *extent,
		       const struct file_extent *item)
{
	struct owner_summary *summary = details->scan->owner_summary;
	uint64_t skipped = extent->offset > item->offset ? extent->offset - item->offset : 0;

	if (summary)
		owner_summary_add(summary, details->subvolid, details->status.st_ino, item, skipped,
				  overlap(extent, item), mapped_extent_is_shared(extent));
	else if (details->owners)
		extent_owners_add(details->owners, item, overlap(extent, item),
				  mapped_extent_is_shared(extent));
}

/* Looks at the file extent items behind EXTENT. */
static int visit_items(struct details *details, const struct mapped_extent *extent,
		       struct decisions *ret_decisions)
{
	struct file_extent item;
	int ret;

	if (!mapped_extent_is_on_disk(extent))
		return 0;

	while ((ret = file_extent_iter_next(details->items, extent->offset,
					    extent->offset + extent->length, &item)) > 0) {
		if (!item.disk_bytenr)
			continue;
		ret_decisions->counts[share_decision_of(&item, details->last_snapshot)]++;
		add_owners(details, extent, &item);
	}
	return ret;
}

static bool is_selected(enum only only, const struct mapped_extent *extent)
{
	return only == ONLY_ALL || mapped_extent_is_shared(extent) == (only == ONLY_SHARED);
}

/* Counts EXTENT where it belongs to, in the file and in the whole set. */
static int count_extent(struct details *details, const struct mapped_extent *extent)
{
	struct scan *scan = details->scan;

	sharing_add_extent(&details->sharing, extent);
	if (details->sharing.extent_count % EXTENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " extents", scan->files.file_count,
			      details->sharing.extent_count);
	if (!scan->set || !mapped_extent_is_shared(extent) || !mapped_extent_is_on_disk(extent))
		return 0;
	return unique_shared_bytes_add(scan->set, extent);
}

static int decide_extent(struct details *details, const struct mapped_extent *extent,
			 struct decisions *ret_decisions)
{
	int ret;

	if (!details->items)
		return 0;
	ret = visit_items(details, extent, ret_decisions);
	if (ret < 0)
		return ret;
	for (int i = 0; i < SHARE_DECISION_COUNT; i++)
		details->decisions.counts[i] += ret_decisions->counts[i];
	return 0;
}

static int report_extent(struct details *details, const struct mapped_extent *extent)
{
	const struct arguments *arguments = details->scan->arguments;
	struct report *report = details->report;
	struct decisions decisions = { 0 };
	int ret;

	ret = count_extent(details, extent);
	if (ret < 0)
		return ret;
	if (!is_selected(arguments->only, extent))
		return report->ops->extent(report, extent, NULL);

	ret = decide_extent(details, extent, &decisions);
	if (ret < 0)
		return ret;
	if (!arguments->why)
		decisions = (struct decisions){ 0 };
	return report->ops->extent(report, extent, &decisions);
}

static int report_extents(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(details->iter, details->fd, arguments->files.range,
			  arguments->fiemap_flags);
	while ((ret = fiemap_iter_next(details->iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, arguments->files.range))
			continue;
		ret = report_extent(details, &extent);
		if (ret < 0)
			break;
	}
	return ret;
}

/* Returns 1 with the time of a full mapping after the caches were dropped, 0 if they cannot be. */
static int time_cold(struct details *details, uint64_t *ret_ns)
{
	struct scan *scan = details->scan;
	int ret;

	if (!scan->arguments->cold)
		return 0;
	ret = file_visit_drop_caches(&scan->files.visit, details->fd);
	if (ret <= 0)
		return ret;
	ret = fiemap_timing_once(details->iter, details->fd, scan->arguments->files.range, ret_ns);
	return ret < 0 ? ret : 1;
}

/* -- putting a file's report together -- */

/*
 * What --why and --owners ask the kernel first, so that a missing privilege shows before
 * anything is printed. Without it the rest of the report goes on.
 */
static int prepare_items(struct details *details)
{
	struct scan *scan = details->scan;
	int ret;

	if ((!scan->arguments->why && !scan->arguments->owners) || scan->no_tree_search)
		return 0;

	ret = subvolume_id_of(details->fd, &details->subvolid);
	if (ret < 0)
		return ret;
	ret = subvolume_last_snapshot(details->fd, details->subvolid, &details->last_snapshot);
	if (ret == -EPERM) {
		error("--owners and --why need CAP_SYS_ADMIN (root); the rest of the report needs no privilege");
		scan->no_tree_search = true;
		scan->files.visit.status = STATUS_ERROR;
		return 0;
	}
	if (ret < 0)
		return ret;

	ret = file_extent_iter_new(&details->items, details->fd, details->status.st_ino,
				   scan->arguments->files.range.offset);
	if (ret < 0 || !scan->arguments->owners || scan->owner_summary)
		return ret;
	return extent_owners_new(&details->owners, details->subvolid, details->status.st_ino);
}

static int report_timing(struct details *details, const uint64_t *cold_ns)
{
	const struct arguments *arguments = details->scan->arguments;
	struct report *report = details->report;
	struct fiemap_timing timing;
	int ret;

	if (!arguments->timing) {
		report->ops->timing(report, NULL, NULL, 0);
		return 0;
	}
	ret = fiemap_timing_measure(details->iter, details->fd, arguments->files.range, &timing);
	if (ret < 0)
		return ret;
	report->ops->timing(report, &timing, cold_ns, details->sharing.extent_count);
	return 0;
}

static int report_owners(struct details *details)
{
	struct report *report = details->report;

	if (details->owners)
		return fiemap_shared_report_owners(details->scan, details->owners, details->fd,
						   details->path);
	report->ops->no_owners(report, false);
	return 0;
}

/* What comes after the extents. */
static int report_findings(struct details *details, const uint64_t *cold_ns)
{
	bool has_decisions = details->scan->arguments->why && details->items;
	struct space_answer answer;
	struct report *report = details->report;
	int ret;

	report->ops->decisions(report, has_decisions ? &details->decisions : NULL);
	ret = report_timing(details, cold_ns);
	if (ret == 0)
		ret = report_owners(details);
	if (ret < 0)
		return ret;

	report->ops->map(report);
	fiemap_shared_count_file(details->scan, &details->sharing);
	fiemap_shared_space_ask(details->scan, details->scan->reader, details->fd, &details->status,
				&answer);
	return report->ops->sums(report, details->path, &details->sharing,
				 fiemap_shared_space_count(details->scan, details->path, &answer));
}

static int report_contents(struct details *details)
{
	struct counter_delta counter_delta = { 0 };
	struct report *report = details->report;
	uint64_t cold_ns;
	int cold, ret, ended;

	cold = time_cold(details, &cold_ns);
	if (cold < 0)
		return cold;

	if (details->scan->arguments->why)
		counter_delta_begin(&counter_delta, details->fd);
	ret = report_extents(details);
	counter_delta_end(&counter_delta);
	ended = report->ops->end_extents(report);
	if (ret < 0 || ended < 0)
		return ret < 0 ? ret : ended;
	report->ops->calls(report, fiemap_iter_calls(details->iter));
	report->ops->counters(report, &counter_delta);
	return report_findings(details, cold ? &cold_ns : NULL);
}

static struct failure report_opened_file(struct details *details)
{
	struct report *report = details->report;
	int ret;

	ret = prepare_items(details);
	if (ret < 0)
		return (struct failure){ "cannot search the subvolume of", ret };
	ret = report->ops->begin_file(report, details->path, details->status.st_size);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };

	ret = report_contents(details);
	if (ret < 0)
		report->ops->failed(report, ret);
	report->ops->end_file(report);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	return NO_FAILURE;
}

/* For the total alone, with its owners. */
static struct failure count_opened_file(struct details *details)
{
	struct scan *scan = details->scan;
	struct space_answer answer;
	int ret;

	ret = fiemap_shared_can_add_owners(scan, details->fd, details->path);
	if (ret > 0)
		ret = prepare_items(details);
	if (ret < 0)
		return (struct failure){ "cannot search the subvolume of", ret };
	ret = report_extents(details);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	fiemap_shared_count_file(scan, &details->sharing);
	fiemap_shared_space_ask(scan, scan->reader, details->fd, &details->status, &answer);
	fiemap_shared_space_count(scan, details->path, &answer);
	return NO_FAILURE;
}

static struct failure report_file(void *data, const struct opened_file *file)
{
	struct scan *scan = data;
	struct details details = {
		.scan = scan,
		.report = &scan->report,
		.path = file->path,
		.fd = file->fd,
		.status = file->status,
		.iter = scan->iter,
	};
	struct failure failure;

	failure = scan->owner_summary ? count_opened_file(&details) : report_opened_file(&details);
	file_extent_iter_free(details.items);
	extent_owners_free(details.owners);
	return failure;
}

/* -- the command -- */

static int prepare(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	int ret = 0;

	if (file_options_ask_for_several(&arguments->files))
		ret = unique_shared_bytes_new(&scan->set);
	if (ret == 0 && fiemap_shared_wants_details(arguments))
		ret = fiemap_iter_new(&scan->iter);
	if (ret == 0 && arguments->sort.key)
		ret = row_sort_new(&scan->rows, &arguments->sort, sizeof(struct summary_row));
	if (ret == 0 && wants_owner_summary(arguments))
		ret = owner_summary_new(&scan->owner_summary);
	if (ret == 0)
		ret = fiemap_shared_space_prepare(scan);
	return ret < 0 ? ret : scan->report.ops->open(&scan->report);
}

static void release(void *data)
{
	struct scan *scan = data;

	scan->report.ops->close(&scan->report);
	fiemap_shared_space_release(scan);
	fiemap_iter_free(scan->iter);
	unique_shared_bytes_free(scan->set);
	row_sort_free(scan->rows);
	owner_summary_free(scan->owner_summary);
	close_fd(&scan->owner_fd);
}

/* Below everything else, where nothing comes between them. */
static int report_maps(void *data)
{
	struct scan *scan = data;
	struct report *report = &scan->report;

	return report->ops->maps ? report->ops->maps(report) : 0;
}

static const struct file_report_ops summaries_ops = {
	.key = "fiemap-shared",
	.prepare = prepare,
	.walk = fiemap_shared_summarize,
	.directory = fiemap_shared_space_directory,
	.kept = report_rows,
	.total = report_total,
	.release = release,
};

static const struct file_report_ops details_ops = {
	.key = "fiemap-shared",
	.prepare = prepare,
	.file = report_file,
	.directory = fiemap_shared_space_directory,
	.name = fiemap_shared_space_name,
	.total = report_total,
	.append = report_maps,
	.release = release,
};

static const struct report_ops *reporter_of(const struct global_options *global)
{
	if (global->metrics)
		return &fiemap_shared_metrics;
	return global->json ? &fiemap_shared_json : &fiemap_shared_text;
}

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan = { .arguments = arguments, .owner_fd = -1 };

	scan.report = (struct report){
		.ops = reporter_of(arguments->global),
		.arguments = arguments,
		.files = &scan.files,
	};
	return file_report_run(&scan.files, &arguments->files,
			       fiemap_shared_wants_details(arguments) ? &details_ops :
									&summaries_ops,
			       &scan);
}

int fiemap_shared_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = {
		.global = global,
		.files.global = global,
		.sort.keys = sort_keys,
	};

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
