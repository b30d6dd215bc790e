// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "base/pipeline.h"
#include "commands.h"
#include "fs/fiemap.h"
#include "fs/subvolume.h"
#include "sharing/extent-owners.h"
#include "sharing/fiemap-timing.h"
#include "sharing/owner-names.h"
#include "sharing/sharing.h"
#include "sharing/unique-shared-bytes.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/extent-flags.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/file-visit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/table.h"

#define FILES_PER_BATCH 256
/* Each is a descriptor, of which a process may have 1024, and some 30 batches are under way. */
#define PLACES_PER_BATCH 16
#define MAX_THREADS 8
#define EXTENTS_PER_PROGRESS 4096

/* -- options -- */

enum only { ONLY_ALL, ONLY_SHARED, ONLY_EXCLUSIVE };

struct arguments {
	struct global_options *global;
	struct file_options files;
	bool extents;
	bool owners;
	bool why;
	bool timing;
	bool cold;
	bool map;
	bool sync;
	bool summarize;
	enum only only;
};

enum {
	OPTION_WHY = 0x2000,
	OPTION_TIMING,
	OPTION_COLD,
	OPTION_MAP,
	OPTION_ONLY,
	OPTION_SYNC,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0, "A row per extent: offset, bytenr, length and flags", 1 },
	{ "owners", 'o', NULL, 0, "Who else holds the extents (root)", 1 },
	{ "why", OPTION_WHY, NULL, 0, "How the kernel can decide whether they are shared (root)",
	  1 },
	{ "only", OPTION_ONLY, "shared|exclusive", 0,
	  "Restrict --extents, --owners and --why to such extents", 1 },
	{ "timing", OPTION_TIMING, NULL, 0,
	  "What mapping costs, and what the check for shared extents costs on top", 1 },
	{ "cold", OPTION_COLD, NULL, 0,
	  "As --timing, and first write back, drop all caches and time it cold (root)", 1 },
	{ "map", OPTION_MAP, NULL, 0, "The file from start to end as a line of blocks", 1 },
	{ "summarize", 's', NULL, 0, "The total alone", 1 },
	{ "sync", OPTION_SYNC, NULL, 0, "Write each file's data back before mapping it", 1 },
	{ 0 },
};

static error_t parse_only(struct arguments *arguments, const char *text)
{
	if (strcmp(text, "shared") == 0)
		arguments->only = ONLY_SHARED;
	else if (strcmp(text, "exclusive") == 0)
		arguments->only = ONLY_EXCLUSIVE;
	else {
		error_value("--only knows shared and exclusive, not", text, "%s", "");
		return EINVAL;
	}
	return 0;
}

static bool wants_details(const struct arguments *arguments)
{
	return arguments->extents || arguments->owners || arguments->why || arguments->timing ||
	       arguments->map;
}

static error_t check_arguments(const struct arguments *arguments)
{
	if (arguments->only && !arguments->extents && !arguments->owners && !arguments->why) {
		error("--only restricts --extents, --owners and --why, and none of them is given");
		return EINVAL;
	}
	if (arguments->summarize && wants_details(arguments)) {
		error("--summarize leaves no room for the report on each file");
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
		arguments->map = true;
		return 0;
	case 's':
		arguments->summarize = true;
		return 0;
	case OPTION_ONLY:
		return parse_only(arguments, text);
	case OPTION_SYNC:
		arguments->sync = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->files;
		state->child_inputs[1] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = file_argp_children,
	.args_doc = "PATH...",
	.doc = "Tell which extents of a file on btrfs are shared, with whom, and what the check "
	       "costs.\vWithout options: a row per file, as btrfs filesystem du counts, and a "
	       "total. What needs root says so; everything else works for any file that can be "
	       "read.",
};

static uint32_t fiemap_flags(const struct arguments *arguments)
{
	return arguments->sync ? FIEMAP_FLAG_SYNC : 0;
}

/* -- the whole run -- */

struct scan {
	const struct arguments *arguments;
	struct file_report files;
	/* NULL for one named file, whose shared bytes are the set's */
	struct unique_shared_bytes *set;
	struct sharing total;
	/* the privilege was found missing, and said so */
	bool no_tree_search;
	struct table *summary;
	/* for the files in detail, one after the other */
	struct fiemap_iter *iter;
};

static void complain_no_memory(struct scan *scan)
{
	error("out of memory");
	scan->files.visit.status = STATUS_ERROR;
}

/* FAILED_IN is the directory of the temporary file, or NULL if something else failed. */
static void complain_of_sort(struct scan *scan, const char *what, const char *failed_in, int ret)
{
	CLEANUP_FREE char *directory = failed_in ? quote_name(failed_in) : NULL;

	error("cannot sort %s%s%s: %s", what, directory ? " in " : "", directory ? directory : "",
	      strerror(-ret));
	scan->files.visit.status = STATUS_ERROR;
}

static const struct table_column summary_columns[] = {
	{ "Total", 10, false },	     { "Exclusive", 10, false },     { "Shared", 10, false },
	{ "Set shared", 10, false }, { "Inline", 10, false },	     { "Delalloc", 10, false },
	{ "Extents", 8, false },     { "Shared extents", 0, false }, { "Path", 0, true },
};

static int print_summary_row(struct table *table, const struct sharing *sharing,
			     const uint64_t *set_shared_bytes, const char *path,
			     struct size_format format)
{
	char text[UNITS_TEXT_SIZE];
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_size_cell(table, sharing->total_bytes, format);
	ret |= table_size_cell(table, sharing_exclusive_bytes(sharing), format);
	ret |= table_size_cell(table, sharing->shared_bytes, format);
	ret |= table_cell(table,
			  set_shared_bytes ? format_size(text, *set_shared_bytes, format) : "-");
	ret |= table_size_cell(table, sharing->inline_bytes, format);
	ret |= table_size_cell(table, sharing->delalloc_bytes, format);
	ret |= table_number_cell(table, sharing->extent_count);
	ret |= table_number_cell(table, sharing->shared_count);
	ret |= table_cell(table, path);
	return ret ? -ENOMEM : 0;
}

static void json_sharing(struct json_writer *json, const struct sharing *sharing)
{
	json_add_uint(json, "extent_count", sharing->extent_count);
	json_add_uint(json, "shared_count", sharing->shared_count);
	json_add_uint(json, "total_bytes", sharing->total_bytes);
	json_add_uint(json, "shared_bytes", sharing->shared_bytes);
	json_add_uint(json, "exclusive_bytes", sharing_exclusive_bytes(sharing));
	json_add_uint(json, "inline_bytes", sharing->inline_bytes);
	json_add_uint(json, "delalloc_bytes", sharing->delalloc_bytes);
}

static void count_file(struct scan *scan, const struct sharing *sharing)
{
	sharing_add(&scan->total, sharing);
	scan->files.file_count++;
}

static void report_summary(struct scan *scan, const char *path, const struct sharing *sharing)
{
	const struct arguments *arguments = scan->arguments;

	count_file(scan, sharing);
	if (arguments->summarize)
		return;
	if (!arguments->global->json) {
		if (print_summary_row(scan->summary, sharing, NULL, path,
				      arguments->global->sizes) < 0)
			complain_no_memory(scan);
		return;
	}

	json_begin_object(&scan->files.json, NULL);
	json_add_name(&scan->files.json, "path", path);
	json_sharing(&scan->files.json, sharing);
	json_add_null(&scan->files.json, "extents");
	json_add_null(&scan->files.json, "decisions");
	json_add_null(&scan->files.json, "timing");
	json_add_null(&scan->files.json, "owners");
	json_end_object(&scan->files.json);
}

static int report_total(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	/* For one file btrfs filesystem du gives its shared bytes, and so do we. */
	uint64_t set_shared_bytes = scan->total.shared_bytes;
	int ret = 0;

	if (scan->set) {
		ret = unique_shared_bytes_total(scan->set, &set_shared_bytes);
		if (ret < 0)
			complain_of_sort(scan, "the shared extents",
					 unique_shared_bytes_failed_in(scan->set), ret);
	}

	if (arguments->global->json) {
		json_begin_object(&scan->files.json, "total");
		json_add_uint(&scan->files.json, "file_count", scan->files.file_count);
		json_add_uint(&scan->files.json, "vanished_count",
			      scan->files.visit.vanished_count);
		json_sharing(&scan->files.json, &scan->total);
		json_add_known_uint(&scan->files.json, "set_shared_bytes", ret == 0,
				    set_shared_bytes);
		json_end_object(&scan->files.json);
		return 0;
	}
	if (!arguments->summarize && (scan->files.file_count == 1 || !scan->set))
		return 0;
	if (wants_details(arguments))
		putchar('\n');
	if (print_summary_row(scan->summary, &scan->total, ret < 0 ? NULL : &set_shared_bytes,
			      "total", arguments->global->sizes) < 0)
		complain_no_memory(scan);
	return 0;
}

/* -- summaries, several files at a time -- */

struct job {
	struct found_file file;
	struct failure failure;
	struct stat status;
	struct sharing sharing;
};

struct batch {
	struct scan *scan;
	const struct file_walk *walk;
	size_t count;
	/* those of files in one directory, which come in a row, are one */
	size_t place_count;
	struct job jobs[FILES_PER_BATCH];
};

static struct failure summarize_file(struct job *job, const struct batch *batch,
				     struct fiemap_iter *iter)
{
	struct scan *scan = batch->scan;
	const struct arguments *arguments = scan->arguments;
	CLEANUP_CLOSE int fd = -1;
	struct failure failure;
	int ret;

	failure = file_visit_open(batch->walk, &job->file, &fd, &job->status);
	if (failure.action)
		return failure;
	ret = sharing_of_file(iter, fd, arguments->files.range, fiemap_flags(arguments), scan->set,
			      &job->sharing);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	return NO_FAILURE;
}

static void summarize_batch(void *item, void *worker)
{
	struct batch *batch = item;

	for (size_t i = 0; i < batch->count; i++) {
		struct job *job = &batch->jobs[i];

		if (!job->failure.action)
			job->failure = summarize_file(job, batch, worker);
	}
}

static void report_job(struct scan *scan, const struct job *job)
{
	int ret;

	if (job->failure.action) {
		file_visit_failed(&scan->files.visit, job->file.path, job->file.named,
				  job->failure);
		return;
	}

	ret = file_visit_is_first(&scan->files.visit, &job->status);
	if (ret < 0)
		complain_no_memory(scan);
	else if (ret)
		report_summary(scan, job->file.path, &job->sharing);
}

static void report_batch(void *item, void *data)
{
	struct batch *batch = item;
	struct scan *scan = data;

	for (size_t i = 0; i < batch->count; i++) {
		report_job(scan, &batch->jobs[i]);
		found_file_drop(&batch->jobs[i].file);
	}
	free(batch);

	if (progress_due())
		progress_show("%" PRIu64 " files, %" PRIu64 " extents", scan->files.file_count,
			      scan->total.extent_count);
}

static int worker_new(void **ret_worker)
{
	return fiemap_iter_new((struct fiemap_iter **)ret_worker);
}

static void worker_free(void *worker)
{
	fiemap_iter_free(worker);
}

static const struct pipeline_ops summary_ops = {
	.work = summarize_batch,
	.done = report_batch,
	.worker_new = worker_new,
	.worker_free = worker_free,
};

static unsigned int thread_count(const struct arguments *arguments)
{
	unsigned int cpus = usable_cpu_count();

	if (!file_options_ask_for_several(&arguments->files))
		return 0;
	return cpus < MAX_THREADS ? cpus : MAX_THREADS;
}

static struct batch *batch_new(struct scan *scan, const struct file_walk *walk)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->scan = scan;
	batch->walk = walk;
	return batch;
}

/* Returns 0 or -ENOMEM. */
static int batch_add(struct batch *batch, const struct found_file *file)
{
	struct job *job = &batch->jobs[batch->count];
	int ret = found_file_keep(file, &job->file);

	if (ret < 0)
		return ret;
	if (!batch->count || job->file.place != job[-1].file.place)
		batch->place_count++;
	job->failure = file_visit_check(file);
	batch->count++;
	return 0;
}

static bool batch_is_full(const struct batch *batch)
{
	return batch->count == FILES_PER_BATCH || batch->place_count == PLACES_PER_BATCH;
}

static int scan_summaries(void *data, struct file_walk *walk)
{
	struct scan *scan = data;
	CLEANUP(pipeline_freep) struct pipeline *pipeline = NULL;
	struct batch *batch = NULL;
	struct found_file file;
	int ret;

	ret = pipeline_new(&pipeline, &summary_ops, scan, thread_count(scan->arguments));
	if (ret < 0)
		return ret;
	while ((ret = file_walk_next(walk, &file)) > 0) {
		if (!batch)
			batch = batch_new(scan, walk);
		ret = batch ? batch_add(batch, &file) : -ENOMEM;
		if (ret < 0)
			break;
		if (!batch_is_full(batch))
			continue;
		pipeline_push(pipeline, batch);
		batch = NULL;
	}
	if (batch)
		pipeline_push(pipeline, batch);
	pipeline_flush(pipeline);
	return ret;
}

/* -- one file in detail -- */

struct decisions {
	uint64_t counts[SHARE_DECISION_COUNT];
};

static const char *const decision_names[SHARE_DECISION_COUNT] = {
	[SHARE_DECISION_GENERATION] = "generation",
	[SHARE_DECISION_LEAF] = "leaf",
	[SHARE_DECISION_WALK] = "walk",
};

struct details {
	struct scan *scan;
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
	/* with --map */
	struct block_map *map;
	/* with --extents */
	struct table *rows;
};

static const struct table_column extent_columns[] = {
	{ "Offset", 12, false }, { "Bytenr", 14, false }, { "Length", 10, false },
	{ "Flags", 30, true },	 { "Decision", 8, true },
};

/* The one decision made for all items of an extent, "mixed", or NULL if there was none. */
static const char *decision_name(const struct decisions *decisions)
{
	const char *name = NULL;

	for (int i = 0; i < SHARE_DECISION_COUNT; i++) {
		if (!decisions->counts[i])
			continue;
		if (name)
			return "mixed";
		name = decision_names[i];
	}
	return name;
}

static void json_decisions(struct json_writer *json, const struct decisions *decisions)
{
	json_begin_object(json, "decisions");
	for (int i = 0; i < SHARE_DECISION_COUNT; i++)
		json_add_uint(json, decision_names[i], decisions->counts[i]);
	json_end_object(json);
}

static void json_extent(struct json_writer *json, const struct mapped_extent *extent,
			const struct decisions *decisions)
{
	const char *decision = decision_name(decisions);

	json_begin_object(json, NULL);
	json_add_uint(json, "offset", extent->offset);
	json_add_uint(json, "bytenr", extent->bytenr);
	json_add_uint(json, "length", extent->length);
	json_add_extent_flags(json, "flags", extent->flags);
	json_add_string(json, "decision", decision);
	if (decision && strcmp(decision, "mixed") == 0)
		json_decisions(json, decisions);
	json_end_object(json);
}

static int print_extent(struct details *details, const struct mapped_extent *extent,
			const struct decisions *decisions)
{
	const struct arguments *arguments = details->scan->arguments;
	const char *decision = decision_name(decisions);
	char flags[EXTENT_FLAGS_TEXT_SIZE];
	int ret;

	if (arguments->global->json) {
		json_extent(&details->scan->files.json, extent, decisions);
		return 0;
	}

	ret = table_begin_row(details->rows);
	if (ret < 0)
		return ret;
	/* A rounded address would be of no use. */
	ret |= table_number_cell(details->rows, extent->offset);
	ret |= table_number_cell(details->rows, extent->bytenr);
	ret |= table_size_cell(details->rows, extent->length, arguments->global->sizes);
	ret |= table_cell(details->rows, format_extent_flags(flags, extent->flags));
	if (arguments->why)
		ret |= table_cell(details->rows, decision ? decision : "-");
	return ret ? -ENOMEM : 0;
}

static uint64_t overlap(const struct mapped_extent *extent, const struct file_extent *item)
{
	uint64_t extent_end = extent->offset + extent->length;
	uint64_t item_end = item->offset + item->length;
	uint64_t start = extent->offset > item->offset ? extent->offset : item->offset;
	uint64_t end = extent_end < item_end ? extent_end : item_end;

	return end > start ? end - start : 0;
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
		if (!details->owners)
			continue;
		extent_owners_add(details->owners, &item, overlap(extent, &item),
				  mapped_extent_is_shared(extent));
	}
	return ret;
}

enum map_kind { MAP_HOLE, MAP_EXCLUSIVE, MAP_SHARED };

static const struct block_kind map_kinds[] = {
	[MAP_HOLE] = { "hole", '.', "90" },
	[MAP_EXCLUSIVE] = { "exclusive", '-', "32" },
	[MAP_SHARED] = { "shared", '#', "33" },
};

#define MAP_KIND_COUNT (sizeof(map_kinds) / sizeof(map_kinds[0]))

static bool is_selected(enum only only, const struct mapped_extent *extent)
{
	return only == ONLY_ALL || mapped_extent_is_shared(extent) == (only == ONLY_SHARED);
}

static int report_extent(struct details *details, const struct mapped_extent *extent)
{
	const struct arguments *arguments = details->scan->arguments;
	struct decisions decisions = { 0 };
	bool shared = mapped_extent_is_shared(extent);
	int ret;

	sharing_add_extent(&details->sharing, extent);
	if (details->scan->set && shared && mapped_extent_is_on_disk(extent)) {
		ret = unique_shared_bytes_add(details->scan->set, extent);
		if (ret < 0)
			return ret;
	}
	if (details->map)
		block_map_add(details->map, shared ? MAP_SHARED : MAP_EXCLUSIVE,
			      (struct byte_range){ extent->offset, extent->length });
	if (details->sharing.extent_count % EXTENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " extents",
			      details->scan->files.file_count, details->sharing.extent_count);
	if (!is_selected(arguments->only, extent))
		return 0;

	if (details->items) {
		ret = visit_items(details, extent, &decisions);
		if (ret < 0)
			return ret;
		for (int i = 0; i < SHARE_DECISION_COUNT; i++)
			details->decisions.counts[i] += decisions.counts[i];
	}
	if (!arguments->why)
		decisions = (struct decisions){ 0 };
	return arguments->extents ? print_extent(details, extent, &decisions) : 0;
}

static int report_extents(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(details->iter, details->fd, arguments->files.range,
			  fiemap_flags(arguments));
	while ((ret = fiemap_iter_next(details->iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, arguments->files.range))
			continue;
		ret = report_extent(details, &extent);
		if (ret < 0)
			break;
	}
	return ret;
}

/* -- with whom: --owners -- */

static const struct table_column owner_columns[] = {
	{ "Subvolume", 16, true }, { "Id", 6, false },	   { "Inode", 8, false },
	{ "Extents", 8, false },   { "Bytes", 10, false }, { "Path", 0, true },
};

static void report_disagreement(void *data, const struct owner_disagreement *disagreement)
{
	struct details *details = data;
	struct json_writer *json = &details->scan->files.json;

	if (details->scan->arguments->global->json) {
		json_begin_object(json, NULL);
		json_add_uint(json, "bytenr", disagreement->bytenr);
		json_add_bool(json, "flagged_shared", disagreement->flagged_shared);
		json_add_uint(json, "other_owner_count", disagreement->other_owner_count);
		json_end_object(json);
		return;
	}
	printf("Disagreement: data extent %" PRIu64 " is flagged %s, and has %" PRIu64
	       " other owners\n",
	       disagreement->bytenr, disagreement->flagged_shared ? "shared" : "not shared",
	       disagreement->other_owner_count);
}

static void report_owner_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	if (progress_due())
		progress_show("owners of %" PRIu64 " data extents found", extents_asked);
}

static const struct extent_owners_ops owners_ops = {
	.disagreement = report_disagreement,
	.progress = report_owner_progress,
};

static char *const no_names[] = { NULL };

static void json_owner(struct json_writer *json, const struct extent_owner *owner,
		       const struct owner_name *name)
{
	json_begin_object(json, NULL);
	json_add_name(json, "subvolume", name->subvolume);
	json_add_uint(json, "subvolid", owner->subvolid);
	json_add_uint(json, "inode", owner->inode);
	json_add_name(json, "path", name->names ? name->names[0] : NULL);
	json_add_names(json, "paths", name->names ? name->names : no_names);
	json_add_bool(json, "paths_complete", name->complete);
	json_add_name(json, "mounted_at", name->directory);
	json_add_uint(json, "extent_count", owner->extent_count);
	json_add_uint(json, "bytes", owner->bytes);
	json_end_object(json);
}

/*
 * PLACE is one of the owner's paths, or why there is none. Only the owner's first row has the
 * figures, so that the columns can be added up.
 */
static int print_owner_row(struct table *table, const struct extent_owner *owner,
			   const char *subvolume, const char *place, bool is_first,
			   struct size_format format)
{
	char text[UNITS_TEXT_SIZE];
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_cell(table, subvolume ? subvolume : "(deleted)");
	ret |= table_number_cell(table, owner->subvolid);
	ret |= table_number_cell(table, owner->inode);
	snprintf(text, sizeof(text), "%" PRIu64, owner->extent_count);
	ret |= table_cell(table, is_first ? text : "");
	format_size(text, owner->bytes, format);
	ret |= table_cell(table, is_first ? text : "");
	ret |= table_cell(table, place);
	return ret ? -ENOMEM : 0;
}

/* PATH below the directory that its subvolume is mounted at, if it is; the caller frees it. */
static char *mounted_path(const struct owner_name *name, const char *path)
{
	const char *directory = name->directory ? name->directory : "";
	const char *separator = name->directory && strcmp(directory, "/") != 0 ? "/" : "";
	char *joined;

	return asprintf(&joined, "%s%s%s", directory, separator, path) < 0 ? NULL : joined;
}

static int print_owner(struct table *table, const struct extent_owner *owner,
		       const struct owner_name *name, struct size_format format)
{
	int ret = 0;

	if (!name->names || !name->names[0])
		return print_owner_row(table, owner, name->subvolume, "(no name)", true, format);

	for (char **path = name->names; ret == 0 && *path; path++) {
		CLEANUP_FREE char *place = mounted_path(name, *path);

		if (!place)
			return -ENOMEM;
		ret = print_owner_row(table, owner, name->subvolume, place, path == name->names,
				      format);
	}
	if (ret == 0 && !name->complete)
		ret = print_owner_row(table, owner, name->subvolume, "(and maybe more)", false,
				      format);
	return ret;
}

static int report_owner_list(struct details *details)
{
	const struct global_options *global = details->scan->arguments->global;
	CLEANUP(owner_names_freep) struct owner_names *names = NULL;
	CLEANUP(table_freep) struct table *table = NULL;
	const struct extent_owner *const *owners;
	size_t count;
	int ret;

	ret = owner_names_new(&names, details->fd);
	if (ret < 0)
		return ret;
	owners = extent_owners_list(details->owners, &count);
	if (!global->json) {
		printf(count ? "Owners:\n" : "Owners: none but this file\n");
		ret = TABLE_NEW(&table, owner_columns);
		if (ret < 0)
			return ret;
	}

	for (size_t i = 0; i < count; i++) {
		struct owner_name name;

		ret = owner_names_find(names, owners[i], &name);
		if (ret < 0)
			return ret;
		if (global->json)
			json_owner(&details->scan->files.json, owners[i], &name);
		else
			ret = print_owner(table, owners[i], &name, global->sizes);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void complain_of_owners(struct details *details, int ret)
{
	CLEANUP_FREE char *quoted = quote_name(details->path);
	CLEANUP_FREE char *what = NULL;

	if (!quoted || asprintf(&what, "the extents of %s", quoted) < 0) {
		what = NULL;
		complain_no_memory(details->scan);
		return;
	}
	complain_of_sort(details->scan, what, extent_owners_failed_in(details->owners), ret);
}

/* Complains if the extents cannot be sorted: the rest of the report is of use without owners. */
static bool sort_owners(struct details *details)
{
	struct json_writer *json = &details->scan->files.json;
	int ret;

	ret = extent_owners_sort(details->owners);
	if (ret == 0)
		return true;
	complain_of_owners(details, ret);
	if (details->scan->arguments->global->json) {
		json_add_null(json, "owner_disagreements");
		json_add_null(json, "owners");
	}
	return false;
}

static int report_owners(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.json;
	uint64_t incomplete;
	int ret;

	if (!sort_owners(details))
		return 0;
	if (arguments->global->json)
		json_begin_array(json, "owner_disagreements");
	ret = extent_owners_resolve(details->owners, details->fd, &owners_ops, details);
	if (arguments->global->json) {
		json_end_array(json);
		json_begin_array(json, "owners");
	}
	if (ret == 0)
		ret = report_owner_list(details);
	if (arguments->global->json)
		json_end_array(json);
	if (ret < 0 && extent_owners_failed_in(details->owners)) {
		complain_of_owners(details, ret);
		if (arguments->global->json)
			json_add_string(json, "error", strerror(-ret));
		return 0;
	}
	if (ret < 0)
		return ret;

	incomplete = extent_owners_incomplete_count(details->owners);
	if (incomplete && arguments->global->verbosity >= 0)
		warning("%" PRIu64 " data extents have more owners than the kernel lists",
			incomplete);
	return 0;
}

/* -- what it costs: --timing, --cold -- */

static void report_timing(struct details *details, const struct fiemap_timing *timing,
			  const uint64_t *cold_ns)
{
	uint64_t extent_count = details->sharing.extent_count;
	struct json_writer *json = &details->scan->files.json;
	char map[UNITS_TEXT_SIZE], check[UNITS_TEXT_SIZE], each[UNITS_TEXT_SIZE];

	if (details->scan->arguments->global->json) {
		json_begin_object(json, "timing");
		json_add_uint(json, "map_ns", timing->map_ns);
		json_add_uint(json, "shared_check_ns", timing->shared_check_ns);
		json_add_known_uint(json, "cold_ns", cold_ns, cold_ns ? *cold_ns : 0);
		json_end_object(json);
		return;
	}

	if (cold_ns)
		printf("Cold: %s\n", format_time(map, *cold_ns));
	printf("Warm: %s", format_time(map, timing->map_ns + timing->shared_check_ns));
	printf(" (mapping %s, shared check %s", format_time(map, timing->map_ns),
	       format_time(check, timing->shared_check_ns));
	if (extent_count)
		printf("; per extent %s and %s", format_time(map, timing->map_ns / extent_count),
		       format_time(each, timing->shared_check_ns / extent_count));
	printf(")\n");
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

/* -- why: --why -- */

static void report_decisions(struct details *details)
{
	const uint64_t *counts = details->decisions.counts;

	if (details->scan->arguments->global->json) {
		json_decisions(&details->scan->files.json, &details->decisions);
		return;
	}
	printf("Decisions: %" PRIu64 " by generation, %" PRIu64 " by leaf, %" PRIu64 " by walk\n",
	       counts[SHARE_DECISION_GENERATION], counts[SHARE_DECISION_LEAF],
	       counts[SHARE_DECISION_WALK]);
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
		error("--owners and --why need CAP_SYS_ADMIN (root); everything else works without");
		scan->no_tree_search = true;
		scan->files.visit.status = STATUS_ERROR;
		return 0;
	}
	if (ret < 0)
		return ret;

	ret = file_extent_iter_new(&details->items, details->fd, details->status.st_ino,
				   scan->arguments->files.range.offset);
	if (ret < 0 || !scan->arguments->owners)
		return ret;
	return extent_owners_new(&details->owners, details->subvolid, details->status.st_ino);
}

static int prepare_map(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;

	if (!arguments->map || arguments->global->json)
		return 0;
	return block_map_new_for_file(&details->map, map_kinds, MAP_KIND_COUNT,
				      arguments->files.range, details->status.st_size);
}

static int prepare_rows(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	size_t columns = sizeof(extent_columns) / sizeof(extent_columns[0]);

	if (!arguments->extents || arguments->global->json)
		return 0;
	return table_new(&details->rows, extent_columns, arguments->why ? columns : columns - 1);
}

static void begin_file(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.json;
	CLEANUP_FREE char *quoted = NULL;

	if (arguments->global->json) {
		json_begin_object(json, NULL);
		json_add_name(json, "path", details->path);
		if (arguments->extents)
			json_begin_array(json, "extents");
		else
			json_add_null(json, "extents");
		return;
	}
	quoted = quote_name(details->path);
	printf("%sFile: %s\n", details->scan->files.file_count ? "\n" : "", quoted ? quoted : "?");
}

static void report_calls(struct details *details, uint64_t calls)
{
	const struct global_options *global = details->scan->arguments->global;

	if (global->json)
		json_add_uint(&details->scan->files.json, "fiemap_calls", calls);
	else if (global->verbosity > 0)
		printf("FIEMAP calls: %" PRIu64 "\n", calls);
}

/* What comes behind the extents. */
static int report_findings(struct details *details, const uint64_t *cold_ns)
{
	const struct arguments *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.json;
	struct fiemap_timing timing;
	int ret;

	if (arguments->why && details->items)
		report_decisions(details);
	else if (arguments->global->json)
		json_add_null(json, "decisions");

	if (arguments->timing) {
		ret = fiemap_timing_measure(details->iter, details->fd, arguments->files.range,
					    &timing);
		if (ret < 0)
			return ret;
		report_timing(details, &timing, cold_ns);
	} else if (arguments->global->json) {
		json_add_null(json, "timing");
	}

	if (details->owners) {
		ret = report_owners(details);
		if (ret < 0)
			return ret;
	} else if (arguments->global->json) {
		json_add_null(json, "owners");
	}

	if (details->map)
		block_map_print(details->map, stdout, isatty(STDOUT_FILENO));
	return 0;
}

static int report_sums(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	count_file(details->scan, &details->sharing);
	if (arguments->global->json) {
		json_sharing(&details->scan->files.json, &details->sharing);
		return 0;
	}
	ret = TABLE_NEW(&table, summary_columns);
	if (ret < 0)
		return ret;
	return print_summary_row(table, &details->sharing, NULL, details->path,
				 arguments->global->sizes);
}

static int report_contents(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct counter_delta counter_delta = { 0 };
	uint64_t cold_ns;
	int cold, ret;

	cold = time_cold(details, &cold_ns);
	if (cold < 0)
		return cold;

	if (arguments->why)
		counter_delta_begin(&counter_delta, details->fd);
	ret = report_extents(details);
	counter_delta_end(&counter_delta);
	table_free(details->rows);
	details->rows = NULL;
	if (arguments->global->json && arguments->extents)
		json_end_array(&details->scan->files.json);
	if (ret < 0)
		return ret;
	report_calls(details, fiemap_iter_calls(details->iter));
	counter_delta_report(&counter_delta,
			     arguments->global->json ? &details->scan->files.json : NULL);

	ret = report_findings(details, cold ? &cold_ns : NULL);
	return ret < 0 ? ret : report_sums(details);
}

static struct failure report_opened_file(struct details *details)
{
	struct json_writer *json = &details->scan->files.json;
	bool is_json = details->scan->arguments->global->json;
	int ret;

	ret = prepare_items(details);
	if (ret < 0)
		return (struct failure){ "cannot search the subvolume of", ret };
	ret = prepare_map(details);
	if (ret == 0)
		ret = prepare_rows(details);
	if (ret < 0)
		return (struct failure){ "cannot report", ret };

	begin_file(details);
	ret = report_contents(details);
	if (ret < 0 && is_json)
		json_add_string(json, "error", strerror(-ret));
	if (is_json)
		json_end_object(json);
	if (ret < 0)
		return (struct failure){ "cannot map the extents of", ret };
	return NO_FAILURE;
}

static struct failure report_file(void *data, const struct opened_file *file)
{
	struct scan *scan = data;
	struct details details = {
		.scan = scan,
		.path = file->path,
		.fd = file->fd,
		.status = file->status,
		.iter = scan->iter,
	};
	struct failure failure;

	failure = report_opened_file(&details);
	file_extent_iter_free(details.items);
	extent_owners_free(details.owners);
	block_map_free(details.map);
	table_free(details.rows);
	return failure;
}

/* -- the command -- */

static int scan_init(struct scan *scan)
{
	const struct arguments *arguments = scan->arguments;

	if (file_options_ask_for_several(&arguments->files)) {
		int ret = unique_shared_bytes_new(&scan->set);

		if (ret < 0)
			return ret;
	}
	return arguments->global->json ? 0 : TABLE_NEW(&scan->summary, summary_columns);
}

static int prepare_summaries(void *data)
{
	return scan_init(data);
}

static int prepare_details(void *data)
{
	struct scan *scan = data;
	int ret = scan_init(scan);

	return ret < 0 ? ret : fiemap_iter_new(&scan->iter);
}

static void release(void *data)
{
	struct scan *scan = data;

	fiemap_iter_free(scan->iter);
	table_free(scan->summary);
	unique_shared_bytes_free(scan->set);
}

static const struct file_report_ops summaries_ops = {
	.key = "fiemap-shared",
	.prepare = prepare_summaries,
	.walk = scan_summaries,
	.total = report_total,
	.release = release,
};

static const struct file_report_ops details_ops = {
	.key = "fiemap-shared",
	.prepare = prepare_details,
	.file = report_file,
	.total = report_total,
	.release = release,
};

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan = { .arguments = arguments };

	return file_report_run(&scan.files, &arguments->files,
			       wants_details(arguments) ? &details_ops : &summaries_ops, &scan);
}

int fiemap_shared_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global, .files.global = global };

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
