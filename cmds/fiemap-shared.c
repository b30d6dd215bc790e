// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "commands.h"
#include "fiemap-shared-arguments.h"
#include "fiemap-shared-groups.h"
#include "fiemap-shared-joined.h"
#include "fiemap-shared-owners.h"
#include "fiemap-shared-space.h"
#include "fiemap-shared-scan.h"
#include "fiemap-shared-subvolumes.h"
#include "fs/subvolume.h"
#include "sharing/fiemap-timing.h"
#include "sys/cleanup.h"
#include "ui/message.h"
#include "ui/progress.h"

#define EXTENTS_PER_PROGRESS 4096
#define SORT_LOOKS_MAX 4

/* -- the rows, for --sort -- */

static int report_kept_row(void *data, const char *path, void *kept)
{
	struct sharing_report *report = data;
	const struct summary_row *row = kept;

	return sharing_report_summary(report, path, &row->sharing,
				      row->has_space ? &row->space : NULL);
}

/* Returns as row_sort_report(). */
static int report_kept_rows(struct sharing_scan *scan)
{
	int missing = 0, ret;

	if (!scan->rows)
		return 0;
	if (scan->directories)
		missing = directory_rows_sort(scan->directories, scan->rows);
	if (missing < 0)
		return missing;
	if (missing)
		warning("only the first %d directories have a row", ROW_SORT_ROWS_MAX);
	ret = row_sort_report(scan->rows, report_kept_row, &scan->report);
	return ret ? ret : missing;
}

/* -- one file in detail -- */

struct sharing_details {
	struct sharing_scan *scan;
	struct sharing_report *report;
	const char *path;
	size_t argument;
	int fd;
	struct stat status;
	struct fiemap_iter *iter;
	/* for the shared extents, or NULL */
	struct unique_shared_bytes *set;
	/* of all files together, or NULL */
	struct relocation_watch *watch;
	/* with --why */
	struct counter_delta counter_delta;
	/* with --timing and --cold */
	struct sharing_timing timing;
	struct sharing sharing;
	struct space_answer space;
	/* with --why or --owners */
	struct file_extent_iter *items;
	uint64_t subvolid;
	uint64_t last_snapshot;
	struct decisions decisions;
	struct owned_file owned;
};

static uint64_t overlap(const struct mapped_extent *extent, const struct file_extent *item)
{
	uint64_t extent_end = extent->offset + extent->length;
	uint64_t item_end = item->offset + item->length;
	uint64_t start = extent->offset > item->offset ? extent->offset : item->offset;
	uint64_t end = extent_end < item_end ? extent_end : item_end;

	return end > start ? end - start : 0;
}

/* For --owners: the part of ITEM that is in EXTENT. */
static void add_owners(struct sharing_details *details, const struct mapped_extent *extent,
		       const struct file_extent *item)
{
	struct sharing_scan *scan = details->scan;
	uint64_t skipped = extent->offset > item->offset ? extent->offset - item->offset : 0;

	if (scan->arguments->mode == MODE_OWNERS)
		owner_summary_add(scan->owner_summary, details->subvolid, details->status.st_ino,
				  item, skipped, overlap(extent, item),
				  mapped_extent_is_shared(extent));
	else if (details->owned.owners)
		extent_owners_add(details->owned.owners, item, overlap(extent, item),
				  mapped_extent_is_shared(extent));
}

/* Looks at the file extent items behind EXTENT. */
static int visit_items(struct sharing_details *details, const struct mapped_extent *extent,
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

static bool is_selected(enum extent_filter only, const struct mapped_extent *extent)
{
	return only == EXTENTS_ALL || mapped_extent_is_shared(extent) == (only == EXTENTS_SHARED);
}

/* Counts EXTENT where it belongs to, in the file and in the whole set. */
static int count_extent(struct sharing_details *details, const struct mapped_extent *extent)
{
	struct sharing_scan *scan = details->scan;

	sharing_add_extent(&details->sharing, extent);
	if (details->sharing.extent_count % EXTENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " extents", scan->files.file_count,
			      details->sharing.extent_count);
	if (!details->set || !mapped_extent_is_shared(extent) || !mapped_extent_is_on_disk(extent))
		return 0;
	return unique_shared_bytes_add(details->set, extent);
}

static int decide_extent(struct sharing_details *details, const struct mapped_extent *extent,
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

static int report_extent(struct sharing_details *details, const struct mapped_extent *extent)
{
	const struct sharing_options *arguments = details->scan->arguments;
	struct sharing_report *report = details->report;
	struct decisions decisions = { 0 };
	int ret;

	ret = count_extent(details, extent);
	if (ret < 0)
		return ret;
	if (!is_selected(arguments->only, extent))
		return sharing_report_extent(report, extent, NULL);

	ret = decide_extent(details, extent, &decisions);
	if (ret < 0)
		return ret;
	if (!arguments->why)
		decisions = (struct decisions){ 0 };
	return sharing_report_extent(report, extent, &decisions);
}

static int report_extents(struct sharing_details *details)
{
	const struct sharing_options *arguments = details->scan->arguments;
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

/* The time of a full mapping after the caches were dropped, unless they cannot be. */
static int time_cold_map(struct sharing_details *details)
{
	struct sharing_scan *scan = details->scan;
	int ret;

	if (!scan->arguments->cold)
		return 0;
	ret = files_drop_caches(&scan->files, details->fd);
	if (ret <= 0)
		return ret;
	ret = fiemap_timing_once(details->iter, details->fd, scan->arguments->files.range,
				 &details->timing.cold_ns);
	details->timing.has_cold = ret == 0;
	return ret;
}

/* -- putting a file's report together -- */

static int begin_items(struct sharing_details *details)
{
	const struct sharing_scan *scan = details->scan;
	int ret;

	ret = file_extent_iter_new(&details->items, details->fd, details->status.st_ino,
				   scan->arguments->files.range.offset);
	if (ret < 0 || !scan->arguments->owners || scan->arguments->mode == MODE_OWNERS)
		return ret;
	ret = file_look_begin(&details->owned.look, NULL, details->fd);
	if (ret < 0)
		return ret;
	/* With several files it is watched already, for what is said of all of them. */
	if (!details->watch)
		fiemap_iter_watch(details->iter, details->owned.look.watch);
	return extent_owners_new(&details->owned.owners, details->subvolid, details->status.st_ino);
}

static void end_items(struct sharing_details *details)
{
	fiemap_iter_watch(details->iter, details->watch);
	file_look_end(&details->owned.look);
	file_extent_iter_free(details->items);
	details->items = NULL;
	extent_owners_free(details->owned.owners);
	details->owned.owners = NULL;
}

/* For another look at the owners: what was printed stays. */
static int map_again(void *data)
{
	struct sharing_details *details = data;
	const struct sharing_options *arguments = details->scan->arguments;
	struct decisions ignored = { 0 };
	struct mapped_extent extent;
	int ret;

	end_items(details);
	ret = begin_items(details);
	if (ret < 0)
		return ret;
	fiemap_iter_start(details->iter, details->fd, arguments->files.range, 0);
	while ((ret = fiemap_iter_next(details->iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, arguments->files.range) ||
		    !is_selected(arguments->only, &extent))
			continue;
		ret = visit_items(details, &extent, &ignored);
		if (ret < 0)
			return ret;
	}
	return ret;
}

/*
 * What --why and --owners ask the kernel first, so that a missing privilege shows before
 * anything is printed. Without it the rest of the report goes on.
 */
static int prepare_items(struct sharing_details *details)
{
	struct sharing_scan *scan = details->scan;
	int ret;

	if ((!scan->arguments->why && !scan->arguments->owners) || scan->no_tree_search)
		return 0;

	ret = subvolume_id_of(details->fd, &details->subvolid);
	if (ret < 0)
		return ret;
	ret = subvolume_last_snapshot(details->fd, details->subvolid, &details->last_snapshot);
	if (ret == -EPERM) {
		error("--owners and --why require CAP_SYS_ADMIN (root); the rest of the report does not");
		scan->no_tree_search = true;
		scan->files.status = STATUS_ERROR;
		return 0;
	}
	if (ret < 0)
		return ret;

	return begin_items(details);
}

static int report_timing(struct sharing_details *details)
{
	const struct sharing_options *arguments = details->scan->arguments;
	struct sharing_report *report = details->report;
	int ret;

	if (!arguments->timing) {
		sharing_report_timing(report, NULL, 0);
		return 0;
	}
	ret = fiemap_timing_measure(details->iter, details->fd, arguments->files.range,
				    &details->timing.warm);
	if (ret == 0)
		sharing_report_timing(report, &details->timing, details->sharing.extent_count);
	return ret;
}

static int report_owners(struct sharing_details *details)
{
	struct sharing_report *report = details->report;

	if (details->owned.owners && details->sharing.inline_bytes &&
	    !details->sharing.total_bytes) {
		sharing_report_no_owners(report, OWNERS_INLINE);
		return 0;
	}
	if (details->owned.owners)
		return fiemap_shared_report_owners(details->scan, &details->owned);
	sharing_report_no_owners(report, OWNERS_NOT_ASKED);
	return 0;
}

/* What comes after the extents. */
static int report_after_extents(struct sharing_details *details)
{
	bool has_decisions = details->scan->arguments->why && details->items;
	struct sharing_report *report = details->report;
	int ret;

	sharing_report_decisions(report, has_decisions ? &details->decisions : NULL);
	ret = report_timing(details);
	if (ret == 0)
		ret = report_owners(details);
	if (ret < 0)
		return ret;

	file_maps_report(&report->maps, report->path);
	fiemap_shared_count_file(details->scan, details->argument, &details->sharing);
	return sharing_report_sums(report, &details->sharing,
				   fiemap_shared_space_count(details->scan, details->path,
							     &details->space));
}

static struct failure begin_details(struct sharing_details *details, struct sharing_scan *scan,
				    const struct opened_file *file)
{
	int ret;

	*details = (struct sharing_details){
		.scan = scan,
		.report = &scan->report,
		.path = opened_file_path(file),
		.argument = file->found->argument,
		.fd = file->fd,
		.status = file->status,
		.iter = scan->iter,
		.owned = {
			.fd = file->fd,
			.look.operation.ended_fd = -1,
			.map_again = map_again,
			.data = details,
		},
	};
	if (!details->path)
		return (struct failure){ "cannot report", -ENOMEM };
	details->owned.path = details->path;
	ret = fiemap_shared_watch(scan, file->fd, &file->status, &details->watch);
	if (ret == 0)
		ret = fiemap_shared_set(scan, file->fd, &file->status, &details->set);
	if (ret < 0)
		return (struct failure){ "cannot examine the file system of", ret };
	fiemap_iter_watch(scan->iter, details->watch);
	/* First, as in fiemap_shared_summarize(). */
	fiemap_shared_space_ask(scan, scan->reader, file->fd, &file->status, false,
				details->argument, &details->space);
	return NO_FAILURE;
}

static struct failure begin_report(struct sharing_details *details)
{
	int ret = prepare_items(details);

	if (ret < 0)
		return (struct failure){ "cannot search the subvolume of", ret };
	ret = sharing_report_begin_file(details->report, details->path, details->status.st_size);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };
	return NO_FAILURE;
}

static int begin_extents(struct sharing_details *details)
{
	int ret = time_cold_map(details);

	if (ret == 0 && details->scan->arguments->why)
		counter_delta_begin(&details->counter_delta, details->fd);
	return ret;
}

/* RET is what report_extents() returned. */
static int end_extents(struct sharing_details *details, int ret)
{
	struct sharing_report *report = details->report;
	int ended;

	counter_delta_end(&details->counter_delta);
	ended = sharing_report_end_extents(report);
	if (ret < 0 || ended < 0)
		return ret < 0 ? ret : ended;
	sharing_report_calls(report, fiemap_iter_calls(details->iter), &details->counter_delta);
	return 0;
}

/* MODE_DETAILS */
static struct failure sharing_report_file(void *data, const struct opened_file *file)
{
	CLEANUP(end_items) struct sharing_details details;
	struct failure failure = begin_details(&details, data, file);
	int ret;

	if (!failure.action)
		failure = begin_report(&details);
	if (failure.action)
		return failure;
	ret = begin_extents(&details);
	if (ret == 0) {
		ret = report_extents(&details);
		ret = end_extents(&details, ret);
	}
	if (ret == 0)
		ret = report_after_extents(&details);
	sharing_report_end_file(details.report, ret);
	return ret < 0 ? (struct failure){ "cannot map the extents of", ret } : NO_FAILURE;
}

/* MODE_OWNERS */
static struct failure count_owners_of_file(void *data, const struct opened_file *file)
{
	CLEANUP(end_items) struct sharing_details details;
	struct failure failure = begin_details(&details, data, file);
	struct sharing_scan *scan = data;
	int ret;

	if (failure.action)
		return failure;
	ret = fiemap_shared_can_add_owners(scan, file->fd, details.path);
	if (ret > 0)
		ret = prepare_items(&details);
	if (ret < 0)
		return (struct failure){ "cannot search the subvolume of", ret };
	ret = report_extents(&details);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	fiemap_shared_count_file(scan, details.argument, &details.sharing);
	fiemap_shared_space_count(scan, details.path, &details.space);
	return NO_FAILURE;
}

static int sharing_give_up(void *data)
{
	struct sharing_scan *scan = data;

	if (scan->report.path)
		sharing_report_end_file(&scan->report, -EBUSY);
	scan->iter = NULL;
	return fiemap_iter_new(&scan->iter);
}

/* -- the command -- */

static int prepare_arguments(struct sharing_scan *scan)
{
	int ret = fiemap_shared_argument_sums_new(scan->arguments, &scan->argument_sharing);

	return ret == 0 && scan->argument_sharing ? fiemap_shared_sort_arguments(scan->arguments) :
						    ret;
}

static int sharing_prepare(struct sharing_scan *scan)
{
	const struct sharing_options *arguments = scan->arguments;
	int ret;

	ret = fiemap_shared_joined_prepare(scan);
	if (ret == 0)
		ret = prepare_arguments(scan);
	if (ret == 0 && arguments->mode != MODE_ROWS)
		ret = fiemap_iter_new(&scan->iter);
	if (ret == 0 && arguments->sort.key && !arguments->summarize)
		ret = row_sort_new(&scan->rows, &arguments->sort, sizeof(struct summary_row));
	if (ret == 0 && arguments->has_depth)
		ret = directory_rows_new(&scan->directories, arguments->depth);
	return ret;
}

static void sharing_release(struct sharing_scan *scan)
{
	sharing_report_close(&scan->report);
	fiemap_shared_joined_release(scan);
	free(scan->argument_sharing);
	fiemap_iter_free(scan->iter);
	row_sort_free(scan->rows);
	directory_rows_free(scan->directories);
	close_fd(&scan->owner_fd);
}

static int examine_each(struct sharing_scan *scan,
			struct failure (*report)(void *data, const struct opened_file *file))
{
	const struct file_ops ops = {
		.report = report,
		.given_up = sharing_give_up,
		.directory = fiemap_shared_space_directory,
		.name = scan->arguments->freed ? fiemap_shared_space_name : NULL,
	};

	return files_each(&scan->files, &ops, scan);
}

/* For another look at the figures that join files. A report on each file is printed once. */
static int examine_again(struct sharing_scan *scan)
{
	if (scan->arguments->mode == MODE_OWNERS)
		return examine_each(scan, count_owners_of_file);
	if (scan->arguments->mode == MODE_SUBVOLUMES)
		return fiemap_shared_take_subvolumes(scan);
	return fiemap_shared_summarize(scan);
}

static int examine(struct sharing_scan *scan)
{
	if (scan->arguments->mode == MODE_DETAILS)
		return examine_each(scan, sharing_report_file);
	return examine_again(scan);
}

static bool has_freed(const struct joined *joined)
{
	return joined->has_space && joined->space.has_freed;
}

static int find_joined(struct sharing_scan *scan, struct joined *joined)
{
	int ret;

	fiemap_shared_joined_find(scan, examine_again, joined);
	for (int looks = 0; scan->argument_sharing && has_freed(joined); looks++) {
		ret = fiemap_shared_sort_arguments_by_freed(scan->arguments, scan->named,
							    scan->argument_sharing);
		if (ret < 0)
			return ret;
		/* What an argument frees with those above depends on the order, and alone if they overlap. */
		if (ret == 0 || looks == SORT_LOOKS_MAX)
			break;
		fiemap_shared_joined_find_again(scan, examine_again, joined);
	}
	return 0;
}

/* Without those that Ctrl-C came before. */
static uint32_t examined_argument_count(const struct sharing_scan *scan)
{
	uint32_t count = fiemap_shared_argument_count(scan->arguments);

	if (scan->files.is_interrupted && scan->begun_argument_count < count)
		return scan->begun_argument_count;
	return count;
}

static int report_total(struct sharing_scan *scan)
{
	struct argument_rows rows;
	struct joined joined;
	int ret;

	ret = find_joined(scan, &joined);
	if (ret < 0)
		return ret;
	rows = (struct argument_rows){
		.paths = scan->arguments->files.paths,
		.sharing = scan->argument_sharing,
		.freed = has_freed(&joined) ? scan->named->arguments : NULL,
		.count = examined_argument_count(scan),
	};
	ret = sharing_report_total(&scan->report, &scan->total, &rows,
				   joined.has_set_shared ? &joined.set_shared_bytes : NULL,
				   joined.has_space ? &joined.space : NULL);
	if (ret == 0)
		ret = fiemap_shared_report_owner_summary(scan, joined.has_owners);
	return ret < 0 ? ret : fiemap_shared_report_groups(scan, joined.has_groups);
}

/* What comes after the files. Returns as files_each(), which returned RET. */
static int sharing_finish(struct sharing_scan *scan, int ret)
{
	int ended = report_kept_rows(scan);

	if (ended > 0)
		scan->files.status = STATUS_ERROR;
	else if (ret == 0)
		ret = ended;
	files_end_results(&scan->files);
	ended = files_have_total(&scan->files, ret) ? report_total(scan) : 0;
	if (ret == 0)
		ret = ended;
	/* Below everything else, where nothing comes between them. */
	return ret < 0 ? ret : file_maps_report_all(&scan->report.maps, scan->files.out.sizes);
}

int fiemap_shared_run(int argc, char **argv, struct global_options *global)
{
	struct sharing_options arguments = {
		.global = global,
		.files.global = global,
		.sort = { .fields = sharing_report_fields, .usual = "total" },
	};
	CLEANUP(sharing_release)
	struct sharing_scan scan = {
		.arguments = &arguments,
		.files = { .options = &arguments.files, .walks_again = true },
		.report = { .arguments = &arguments, .files = &scan.files },
		.owner_fd = -1,
	};
	int ret, status;

	if (!file_options_parse(&fiemap_shared_argp, argc, argv, &arguments, &arguments.files,
				&status))
		return status;
	ret = sharing_prepare(&scan);
	if (ret == 0)
		ret = files_begin(&scan.files, "fiemap-shared");
	if (ret < 0)
		return files_end(&scan.files, ret);

	ret = sharing_finish(&scan, examine(&scan));
	return files_end(&scan.files, ret);
}
