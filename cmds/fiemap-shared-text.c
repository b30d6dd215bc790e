// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fiemap-shared-report.h"
#include "ui/extent-flags.h"
#include "ui/quoted-name.h"
#include "ui/terminal.h"

static const struct table_column summary_columns[] = {
	{ "Total", 10, false },	     { "Exclusive", 10, false },     { "Shared", 10, false },
	{ "Set shared", 10, false }, { "Inline", 10, false },	     { "Delalloc", 10, false },
	{ "Extents", 8, false },     { "Shared extents", 0, false }, { "Path", 0, true },
};

/* With --disk, after the other sizes */
static const struct table_column disk_column = { "Disk", 10, false };
#define DISK_PLACE 6
#define SUMMARY_COLUMNS (sizeof(summary_columns) / sizeof(summary_columns[0]))

static const struct table_column extent_columns[] = {
	{ "Offset", 12, false }, { "Bytenr", 14, false }, { "Length", 10, false },
	{ "Flags", 30, true },	 { "Decision", 8, true },
};

static const struct table_column owner_columns[] = {
	{ "Subvolume", 16, true }, { "Id", 6, false },	   { "Inode", 8, false },
	{ "Extents", 8, false },   { "Bytes", 10, false }, { "Path", 0, true },
};

static const struct table_column subvolume_columns[] = {
	{ "Subvolume", 16, true }, { "Id", 6, false },	   { "Files", 8, false },
	{ "Extents", 8, false },   { "Bytes", 10, false },
};

enum map_kind { MAP_HOLE, MAP_EXCLUSIVE, MAP_SHARED };

static const struct block_kind map_kinds[] = {
	[MAP_HOLE] = { "hole", '.', "90" },
	[MAP_EXCLUSIVE] = { "exclusive", '-', "32" },
	[MAP_SHARED] = { "shared", '#', "33" },
};

#define MAP_KIND_COUNT (sizeof(map_kinds) / sizeof(map_kinds[0]))

static int new_summary_table(const struct arguments *arguments, struct table **ret_table)
{
	struct table_column columns[SUMMARY_COLUMNS + 1];

	if (!arguments->disk)
		return TABLE_NEW(ret_table, summary_columns);
	memcpy(columns, summary_columns, DISK_PLACE * sizeof(*columns));
	columns[DISK_PLACE] = disk_column;
	memcpy(columns + DISK_PLACE + 1, summary_columns + DISK_PLACE,
	       (SUMMARY_COLUMNS - DISK_PLACE) * sizeof(*columns));
	return TABLE_NEW(ret_table, columns);
}

static int new_summary(const struct arguments *arguments, struct table **ret_table)
{
	int ret = new_summary_table(arguments, ret_table);

	if (ret < 0)
		return ret;
	table_shorten(*ret_table, "Set shared", "Set sh.");
	table_shorten(*ret_table, "Extents", "Ext.");
	table_shorten(*ret_table, "Shared extents", "Sh.ext.");
	return 0;
}

static int open_report(struct report *report)
{
	const struct arguments *arguments = report->arguments;
	int ret = 0;

	if (arguments->map && file_options_ask_for_several(&arguments->files))
		ret = block_maps_new(&report->maps, map_kinds, MAP_KIND_COUNT, arguments->map);
	return ret < 0 ? ret : new_summary(arguments, &report->summary);
}

static void close_report(struct report *report)
{
	block_maps_free(report->maps);
	table_free(report->summary);
}

/* -- a row of sums -- */

/* The arguments that can be NULL are what is not known. */
static int print_sums(const struct arguments *arguments, struct table *table,
		      const struct sharing *sharing, const uint64_t *set_shared_bytes,
		      const uint64_t *disk_bytes, const char *path)
{
	const struct size_format format = arguments->global->sizes;
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	table_size_cell(table, sharing->total_bytes, format);
	table_size_cell(table, sharing_exclusive_bytes(sharing), format);
	table_size_cell(table, sharing->shared_bytes, format);
	table_cell(table, set_shared_bytes ? format_size(text, *set_shared_bytes, format) : "-");
	table_size_cell(table, sharing->inline_bytes, format);
	table_size_cell(table, sharing->delalloc_bytes, format);
	if (arguments->disk)
		table_cell(table, disk_bytes ? format_size(text, *disk_bytes, format) : "-");
	table_number_cell(table, sharing->extent_count);
	table_number_cell(table, sharing->shared_count);
	table_cell(table, path);
	return table_error(table);
}

static int print_summary(struct report *report, const char *path, const struct sharing *sharing,
			 const struct file_space *space)
{
	return print_sums(report->arguments, report->summary, sharing, NULL,
			  space ? &space->disk_bytes : NULL, path);
}

/* -- the extents of a file -- */

static int prepare_rows(struct report *report)
{
	size_t columns = sizeof(extent_columns) / sizeof(extent_columns[0]);

	if (!report->arguments->extents)
		return 0;
	return table_new(&report->rows, extent_columns,
			 report->arguments->why ? columns : columns - 1);
}

static int prepare_map(struct report *report, uint64_t size)
{
	if (!report->arguments->map)
		return 0;
	return block_map_new_for_file(&report->map, map_kinds, MAP_KIND_COUNT,
				      report->arguments->files.range, size, report->arguments->map);
}

static int end_extents(struct report *report)
{
	return table_end(&report->rows);
}

static void end_file(struct report *report)
{
	end_extents(report);
	block_map_free(report->map);
	report->map = NULL;
	report->path = NULL;
}

static int begin_file(struct report *report, const char *path, uint64_t size)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);
	int ret;

	report->path = path;
	ret = prepare_map(report, size);
	if (ret == 0)
		ret = prepare_rows(report);
	if (ret < 0) {
		end_file(report);
		return ret;
	}
	printf("%sFile: %s\n", report->files->file_count ? "\n" : "", quoted);
	return 0;
}

static int print_extent(struct report *report, const struct mapped_extent *extent,
			const struct decisions *decisions)
{
	const struct arguments *arguments = report->arguments;
	struct table *table = report->rows;
	char flags[EXTENT_FLAGS_TEXT_SIZE];

	if (report->map)
		block_map_add(report->map,
			      mapped_extent_is_shared(extent) ? MAP_SHARED : MAP_EXCLUSIVE,
			      (struct byte_range){ extent->offset, extent->length });
	if (!table || !decisions)
		return 0;

	table_begin_row(table);
	/* A rounded address would be of no use. */
	table_number_cell(table, extent->offset);
	table_number_cell(table, extent->bytenr);
	table_size_cell(table, extent->length, arguments->global->sizes);
	table_cell(table, format_extent_flags(flags, extent->flags));
	if (arguments->why) {
		const char *decision = fiemap_shared_decision_name(decisions);

		table_cell(table, decision ? decision : "-");
	}
	return table_error(table);
}

/* -- what is known of them -- */

static void print_calls(struct report *report, uint64_t calls)
{
	if (report->arguments->global->verbosity > 0)
		printf("FIEMAP calls: %" PRIu64 "\n", calls);
}

static void print_counters(struct report *report, const struct counter_delta *delta)
{
	(void)report;
	counter_delta_report(delta, NULL);
}

static void print_decisions(struct report *report, const struct decisions *decisions)
{
	(void)report;
	if (decisions)
		printf("Decisions: %" PRIu64 " by generation, %" PRIu64 " by leaf, %" PRIu64
		       " by walk\n",
		       decisions->counts[SHARE_DECISION_GENERATION],
		       decisions->counts[SHARE_DECISION_LEAF],
		       decisions->counts[SHARE_DECISION_WALK]);
}

static void print_timing(struct report *report, const struct fiemap_timing *timing,
			 const uint64_t *cold_ns, uint64_t extent_count)
{
	char map[UNITS_TEXT_SIZE], check[UNITS_TEXT_SIZE];

	(void)report;
	if (!timing)
		return;
	if (cold_ns)
		printf("Cold: %s\n", format_time(map, *cold_ns));
	printf("Warm: %s", format_time(map, timing->map_ns + timing->shared_check_ns));
	printf(" (mapping %s, shared check %s", format_time(map, timing->map_ns),
	       format_time(check, timing->shared_check_ns));
	if (extent_count)
		printf("; per extent %s and %s", format_time(map, timing->map_ns / extent_count),
		       format_time(check, timing->shared_check_ns / extent_count));
	printf(")\n");
}

/* -- with whom: --owners -- */

static void no_owners(struct report *report, bool asked)
{
	(void)report;
	(void)asked;
}

static void print_disagreement(struct report *report, const struct owner_disagreement *disagreement)
{
	(void)report;
	printf("%sDisagreement%s: data extent %" PRIu64 " is flagged %s, and has %" PRIu64
	       " other owners\n",
	       terminal_alarm_begin(), terminal_alarm_end(), disagreement->bytenr,
	       disagreement->flagged_shared ? "shared" : "not shared",
	       disagreement->other_owner_count);
}

/*
 * PLACE is one of the owner's paths, or why there is none. Only the owner's first row has the
 * figures, so that the columns can be added up.
 */
static int print_owner_row(struct report *report, const struct extent_owner *owner,
			   const char *subvolume, const char *place, bool is_first)
{
	struct table *table = report->owners;
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	table_cell(table, subvolume ? subvolume : "(deleted)");
	table_number_cell(table, owner->subvolid);
	table_number_cell(table, owner->inode);
	snprintf(text, sizeof(text), "%" PRIu64, owner->extent_count);
	table_cell(table, is_first ? text : "");
	format_size(text, owner->bytes, report->arguments->global->sizes);
	table_cell(table, is_first ? text : "");
	table_cell(table, place);
	return table_error(table);
}

/* PATH below the directory that its subvolume is mounted at, if it is; the caller frees it. */
static char *mounted_path(const struct owner_name *name, const char *path)
{
	const char *directory = name->directory ? name->directory : "";
	const char *separator = name->directory && strcmp(directory, "/") != 0 ? "/" : "";
	char *joined;

	return asprintf(&joined, "%s%s%s", directory, separator, path) < 0 ? NULL : joined;
}

static int print_owner_rows(struct report *report, const struct extent_owner *owner,
			    const struct owner_name *name)
{
	int ret = 0;

	if (!name->names || !name->names[0])
		return print_owner_row(report, owner, name->subvolume, "(no name)", true);

	for (char **path = name->names; ret == 0 && *path; path++) {
		CLEANUP_FREE char *place = mounted_path(name, *path);

		if (!place)
			return -ENOMEM;
		ret = print_owner_row(report, owner, name->subvolume, place, path == name->names);
	}
	if (ret == 0 && !name->complete)
		ret = print_owner_row(report, owner, name->subvolume, "(and maybe more)", false);
	return ret;
}

static int print_owner(struct report *report, const struct extent_owner *owner,
		       const struct owner_name *name)
{
	if (!report->owners) {
		int ret = TABLE_NEW(&report->owners, owner_columns);

		if (ret < 0)
			return ret;
		printf("Owners:\n");
	}
	return print_owner_rows(report, owner, name);
}

static int end_owners(struct report *report, bool complete)
{
	if (complete && !report->owners)
		printf("Owners: none but this file\n");
	return table_end(&report->owners);
}

/* -- the end of a file, and of all -- */

static void print_map(struct report *report)
{
	if (!report->map)
		return;
	if (report->maps)
		block_maps_add(report->maps, report->path, report->map);
	else
		block_map_print(report->map, stdout, terminal_has_colours());
}

static int print_maps(struct report *report)
{
	if (!report->maps)
		return 0;
	return block_maps_print(report->maps, report->arguments->global->sizes, stdout,
				terminal_has_colours());
}

static int print_file_sums(struct report *report, const char *path, const struct sharing *sharing,
			   const struct file_space *space)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret = new_summary(report->arguments, &table);

	if (ret < 0)
		return ret;
	print_sums(report->arguments, table, sharing, NULL, space ? &space->disk_bytes : NULL,
		   path);
	return table_end(&table);
}

static void print_freed(const struct arguments *arguments, const struct sharing *total,
			const struct freed_space *space)
{
	const struct size_format format = arguments->global->sizes;
	char data[UNITS_TEXT_SIZE], metadata[UNITS_TEXT_SIZE];

	if (!arguments->freed || !space)
		return;
	printf("Freed: %s of data, and about %s of metadata\n",
	       format_size(data, space->freed_bytes, format),
	       format_size(metadata, space->freed_metadata_bytes, format));
	if (space->has_raw_bytes && space->freed_raw_bytes != space->freed_bytes)
		printf("On the devices: %s of data, with all copies\n",
		       format_size(data, space->freed_raw_bytes, format));
	printf("Kept: %s of data, to which others refer\n",
	       format_size(data, space->kept_bytes, format));
	if (total->delalloc_bytes)
		printf("Not on disk yet: %s of data\n",
		       format_size(data, total->delalloc_bytes, format));
}

static int print_total_row(struct report *report, const struct sharing *total,
			   const uint64_t *set_shared_bytes, const struct freed_space *space)
{
	const struct arguments *arguments = report->arguments;
	bool is_one = report->files->file_count == 1 ||
		      !file_options_ask_for_several(&arguments->files);

	if (!arguments->summarize && is_one)
		return table_finish(report->summary);
	if (!arguments->summarize && fiemap_shared_wants_details(arguments))
		putchar('\n');
	print_sums(arguments, report->summary, total, set_shared_bytes,
		   space ? &space->disk_bytes : NULL, "total");
	return table_finish(report->summary);
}

static int print_total(struct report *report, const struct sharing *total,
		       const uint64_t *set_shared_bytes, const struct freed_space *space)
{
	int ret = print_total_row(report, total, set_shared_bytes, space);

	if (ret == 0)
		print_freed(report->arguments, total, space);
	return ret;
}

/* -- the owners by subvolume -- */

static int print_subvolume(struct report *report, const struct subvolume_owners *owners,
			   const struct owner_name *name)
{
	struct table *table;

	if (!report->owners) {
		int ret = TABLE_NEW(&report->owners, subvolume_columns);

		if (ret < 0)
			return ret;
		printf("Owners:\n");
	}
	table = report->owners;
	table_begin_row(table);
	table_cell(table, name->subvolume ? name->subvolume : "(deleted)");
	table_number_cell(table, owners->subvolid);
	table_number_cell(table, owners->file_count);
	table_number_cell(table, owners->extent_count);
	table_size_cell(table, owners->bytes, report->arguments->global->sizes);
	return table_error(table);
}

static int end_owner_summary(struct report *report)
{
	if (!report->owners)
		printf("Owners: none but these files\n");
	return table_end(&report->owners);
}

/* A complaint on standard error tells of it. */
static void failed(struct report *report, int ret)
{
	(void)report;
	(void)ret;
}

/* What has no beginning or end in text. */
static void nothing(struct report *report)
{
	(void)report;
}

const struct report_ops fiemap_shared_text = {
	.open = open_report,
	.close = close_report,
	.summary = print_summary,
	.begin_file = begin_file,
	.extent = print_extent,
	.end_extents = end_extents,
	.calls = print_calls,
	.counters = print_counters,
	.decisions = print_decisions,
	.timing = print_timing,
	.no_owners = no_owners,
	.begin_disagreements = nothing,
	.disagreement = print_disagreement,
	.end_disagreements = nothing,
	.begin_owners = nothing,
	.owner = print_owner,
	.end_owners = end_owners,
	.map = print_map,
	.sums = print_file_sums,
	.failed = failed,
	.end_file = end_file,
	.total = print_total,
	.maps = print_maps,
	.no_owner_summary = nothing,
	.begin_owner_summary = nothing,
	.subvolume = print_subvolume,
	.end_owner_summary = end_owner_summary,
};
