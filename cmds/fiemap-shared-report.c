// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiemap-shared-report.h"
#include "fiemap-shared-rewrite.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "ui/json.h"
#include "ui/progress.h"

static const struct metric files_metric = { "btrfs_fastpath_sharing_files", METRIC_GAUGE, NULL,
					    "Files whose extents were examined." };
static const struct metric extents_metric = { "btrfs_fastpath_sharing_extents", METRIC_GAUGE, NULL,
					      "Extents of these files." };
static const struct metric shared_extents_metric = { "btrfs_fastpath_sharing_shared_extents",
						     METRIC_GAUGE, NULL,
						     "Extents of these files that are shared." };
static const struct metric bytes_metric = {
	"btrfs_fastpath_sharing_bytes", METRIC_GAUGE, "bytes",
	"Bytes of these files by kind; set_shared counts bytes that several of them share once."
};
static const struct metric disk_metric = { "btrfs_fastpath_sharing_disk_bytes", METRIC_GAUGE,
					   "bytes", "Size on disk of the data of these files." };
static const struct metric freed_metric = {
	"btrfs_fastpath_sharing_freed_bytes", METRIC_GAUGE, "bytes",
	"Data on disk that becomes free if all of these files are deleted together."
};

/* -- a row of sums -- */

struct sharing_row {
	/* NULL: all files */
	const char *path;
	/* of all files */
	uint64_t file_count;
	/* its files were examined */
	bool has_sums;
	struct sharing sharing;
	uint64_t exclusive_bytes;
	uint64_t set_shared_bytes;
	bool has_set_shared;
	uint64_t disk_bytes;
	bool has_disk;
	struct named_argument freed;
	bool has_freed;
	bool has_written;
};

/*
 * With --disk, with --freed where each argument has a row, with --fragments, with --subvolumes, and
 * without it.
 */
#define COLUMN_DISK 1
#define COLUMN_FREED 2
#define COLUMN_FRAGMENTS 4
#define COLUMN_WRITTEN 8
#define COLUMN_SUMS 16

#define SUMS(member) offsetof(struct sharing_row, member)

const struct field sharing_report_fields[] = {
	{ SUMS(sharing.extent_count), FIELD_NUMBER, .key = "extent_count", .title = "Extents",
	  .sort = "extents", .short_title = "Ext.", .place = 3, .option = COLUMN_SUMS,
	  .known = SUMS(has_sums), .metric = &extents_metric,
	  .help = "The number of extents, inline and delalloc extents included." },
	{ SUMS(sharing.shared_count), FIELD_NUMBER, .key = "shared_count",
	  .title = "Shared extents", .sort = "shared-extents", .short_title = "Sh.ext.", .place = 3,
	  .option = COLUMN_SUMS, .known = SUMS(has_sums), .metric = &shared_extents_metric,
	  .help = "The number of shared extents." },
	{ SUMS(sharing.total_bytes), FIELD_SIZE, .key = "total_bytes", .title = "Total",
	  .sort = "total", .option = COLUMN_SUMS, .known = SUMS(has_sums), .metric = &bytes_metric,
	  .label = { "kind", "total" },
	  .help = "The bytes in extents on disk, written or preallocated." },
	{ SUMS(sharing.shared_bytes), FIELD_SIZE, .key = "shared_bytes", .title = "Shared",
	  .sort = "shared", .place = 1, .option = COLUMN_SUMS, .known = SUMS(has_sums),
	  .help = "The bytes of it that something else refers to, too." },
	{ SUMS(exclusive_bytes), FIELD_SIZE, .key = "exclusive_bytes", .title = "Exclusive",
	  .sort = "exclusive", .option = COLUMN_SUMS, .known = SUMS(has_sums),
	  .metric = &bytes_metric, .label = { "kind", "exclusive" },
	  .help = "The bytes of it that nothing else refers to." },
	{ SUMS(sharing.shared_bytes), FIELD_SIZE, .known = SUMS(has_sums), .metric = &bytes_metric,
	  .label = { "kind", "shared" } },
	{ SUMS(sharing.inline_bytes), FIELD_SIZE, .key = "inline_bytes", .title = "Inline",
	  .sort = "inline", .place = 2, .option = COLUMN_SUMS, .known = SUMS(has_sums),
	  .metric = &bytes_metric, .label = { "kind", "inline" },
	  .help = "The bytes that are stored in the metadata, in whole blocks." },
	{ SUMS(sharing.delalloc_bytes), FIELD_SIZE, .key = "delalloc_bytes", .title = "Delalloc",
	  .sort = "delalloc", .place = 2, .option = COLUMN_SUMS, .known = SUMS(has_sums),
	  .metric = &bytes_metric, .label = { "kind", "delalloc" },
	  .help = "The bytes that were written but have no place on disk yet." },
	{ SUMS(set_shared_bytes), FIELD_SIZE, .title = "Set shared", .short_title = "Set sh.",
	  .place = 1, .option = COLUMN_SUMS, .known = SUMS(has_set_shared), .metric = &bytes_metric,
	  .label = { "kind", "set_shared" } },
	{ SUMS(disk_bytes), FIELD_SIZE, .title = "Disk", .sort = SORT_DISK, .place = 2,
	  .option = COLUMN_DISK, .known = SUMS(has_disk), .metric = &disk_metric },
	{ SUMS(sharing.piece_count), FIELD_NUMBER, .key = "piece_count", .title = "Pieces",
	  .sort = SORT_PIECES, .place = 3, .option = COLUMN_FRAGMENTS,
	  .known = SUMS(sharing.has_fragments),
	  .help = "With --fragments the number of pieces at consecutive addresses on disk, else null." },
	{ SUMS(sharing.waste_bytes), FIELD_SIZE, .key = "waste_bytes", .title = "Waste",
	  .sort = SORT_WASTE, .place = 3, .option = COLUMN_FRAGMENTS,
	  .known = SUMS(sharing.has_fragments),
	  .help = "With --fragments the bytes on disk that no part of any file reads, as far as only one file refers to their extent, else null." },
	{ SUMS(freed.written_bytes), FIELD_SIZE, .title = "Written", .place = 4,
	  .option = COLUMN_WRITTEN, .known = SUMS(has_freed) },
	{ SUMS(freed.freed_alone_bytes), FIELD_SIZE, .title = "Freed alone", .short_title = "Alone",
	  .place = 4, .option = COLUMN_FREED, .known = SUMS(has_freed) },
	{ SUMS(freed.freed_with_above_bytes), FIELD_SIZE, .title = "With above", .place = 4,
	  .option = COLUMN_FREED, .known = SUMS(has_freed) },
	{ SUMS(path), FIELD_PATH, .title = "Path", .sort = SORT_PATH, .place = 5,
	  .unknown = "total" },
	/* These sort arguments, and not the rows of files. */
	{ SUMS(path), FIELD_PATH, .sort = SORT_AGE },
	{ SUMS(path), FIELD_PATH, .sort = SORT_FREED },
	{ 0 },
};

static const struct field disk_fields[] = {
	{ SUMS(disk_bytes), FIELD_SIZE, .key = "disk_bytes", .known = SUMS(has_disk),
	  .help = "With --disk the size on disk of the data, where each extent counts once; null without the option or the privilege, or if the file system changed too fast." },
	{ 0 },
};

/* Of all files. */
static const struct field total_fields[] = {
	{ SUMS(file_count), FIELD_NUMBER, .known = SUMS(has_sums), .metric = &files_metric },
	{ SUMS(set_shared_bytes), FIELD_SIZE, .key = "set_shared_bytes",
	  .known = SUMS(has_set_shared),
	  .help = "The shared bytes of all files, where bytes that several of them refer to count once; null if the shared extents could not be sorted, or the file system changed too fast." },
	{ 0 },
};

static const struct field argument_fields[] = {
	{ SUMS(path), FIELD_PATH, .key = "path", .help = "The path, as it was given." },
	{ SUMS(freed.written_bytes), FIELD_SIZE, .key = "written_bytes", .known = SUMS(has_written),
	  .help = "With --subvolumes the bytes of data extents that were written since the snapshot before it, or of all that it has; null without the option, or as freed." },
	{ SUMS(freed.freed_alone_bytes), FIELD_SIZE, .key = "freed_alone_bytes",
	  .known = SUMS(has_freed),
	  .help = "With --freed the bytes that deleting this path alone would free; null without the option, or as freed." },
	{ SUMS(freed.freed_with_above_bytes), FIELD_SIZE, .key = "freed_with_above_bytes",
	  .known = SUMS(has_freed),
	  .help = "With --freed the bytes that deleting this path and all those before it would free; null likewise." },
	{ 0 },
};

static struct sharing_row sharing_row_of(const char *path, const struct sharing *sharing,
					 const struct file_space *space)
{
	return (struct sharing_row){
		.path = path,
		.has_sums = true,
		.sharing = *sharing,
		.exclusive_bytes = sharing_exclusive_bytes(sharing),
		.disk_bytes = space ? space->disk_bytes : 0,
		.has_disk = space,
	};
}

static unsigned int sums_options(const struct sharing_options *arguments)
{
	bool has_freed = arguments->freed && fiemap_shared_argument_count(arguments);

	if (arguments->mode == MODE_SUBVOLUMES)
		return COLUMN_WRITTEN | COLUMN_FREED;
	return COLUMN_SUMS | (arguments->disk ? COLUMN_DISK : 0) | (has_freed ? COLUMN_FREED : 0) |
	       (arguments->fragments ? COLUMN_FRAGMENTS : 0);
}

int sharing_report_keep(struct row_sort *rows, struct path_node *path,
			const struct summary_row *kept)
{
	const struct sharing_row row = sharing_row_of(NULL, &kept->sharing,
						      kept->has_space ? &kept->space : NULL);

	return row_sort_add(rows, path, &row, kept);
}

static int report_sharing_row(struct sharing_report *report, const struct sharing_row *row)
{
	const struct sharing_options *arguments = report->arguments;
	int ret = rows_begin_or_add(&report->summary, &report->files->out, sharing_report_fields,
				    sums_options(arguments), row);

	/* It stands below the details of the file. */
	return ret == 0 && arguments->mode == MODE_DETAILS ? rows_end(&report->summary) : ret;
}

static void add_sharing_sums(struct output *out, const struct sharing_row *row)
{
	record_members(out, sharing_report_fields, row);
	record_members(out, disk_fields, row);
}

int sharing_report_summary(struct sharing_report *report, const char *path,
			   const struct sharing *sharing, const struct file_space *space)
{
	const struct sharing_row row = sharing_row_of(path, sharing, space);
	struct output *out = &report->files->out;
	struct json_writer *json = &out->json;

	files_begin_result(report->files, path);
	add_sharing_sums(out, &row);
	json_add_null(json, "extents");
	json_add_null(json, "decisions");
	json_add_null(json, "timing");
	json_add_null(json, "owners");
	files_end_result(report->files, 0);
	return report_sharing_row(report, &row);
}

/* -- the extents of a file -- */

#define DECISION(name) offsetof(struct decisions, counts[SHARE_DECISION_##name])

static const struct field decision_fields[] = {
	{ DECISION(GENERATION), FIELD_NUMBER, .key = "generation",
	  .help = "By the generation of the extent." },
	{ DECISION(LEAF), FIELD_NUMBER, .key = "leaf", .help = "By the leaf with the item." },
	{ DECISION(WALK), FIELD_NUMBER, .key = "walk",
	  .help = "By a walk from the extent to the roots." },
	{ 0 },
};

/* The decision if it is the same for all items of an extent, "mixed" if not, NULL without items. */
static const char *decision_name(const struct decisions *decisions)
{
	const char *name = NULL;

	for (const struct field *field = decision_fields; field->type; field++) {
		if (!field_figure(field, decisions))
			continue;
		if (name)
			return "mixed";
		name = field->key;
	}
	return name;
}

struct extent_row {
	struct mapped_extent extent;
	const char *decision;
	bool is_mixed;
	struct decisions decisions;
};

/* With --why. */
#define COLUMN_DECISION 1

#define EXTENT(member) offsetof(struct extent_row, member)

/* Numbers for the addresses: a rounded one would be of no use. */
static const struct field extent_fields[] = {
	{ EXTENT(extent.offset), FIELD_NUMBER, .key = "offset", .title = "Offset", .width = 12,
	  .help = "Where it begins in the file." },
	{ EXTENT(extent.bytenr), FIELD_NUMBER, .key = "bytenr", .title = "Bytenr", .width = 14,
	  .help = "Its logical address; 0 if it has none." },
	{ EXTENT(extent.length), FIELD_SIZE, .key = "length", .title = "Length",
	  .help = "Its length in bytes." },
	{ EXTENT(extent.flags), FIELD_EXTENT_FLAGS, .key = "flags", .title = "Flags",
	  .help = "The names of its flags, and a number for those without a name." },
	{ EXTENT(decision), FIELD_TEXT, .key = "decision", .title = "Decision", .width = 8,
	  .option = COLUMN_DECISION,
	  .help = "How the kernel can decide whether it is shared; null without file extent items." },
	{ EXTENT(decisions), FIELD_OBJECT, .key = "decisions", .known = EXTENT(is_mixed),
	  .optional = true,
	  .help = "Only if the decision is mixed: the number of items for each one." },
	{ EXTENT(decisions) + DECISION(GENERATION), FIELD_NUMBER, .key = "generation" },
	{ EXTENT(decisions) + DECISION(LEAF), FIELD_NUMBER, .key = "leaf" },
	{ EXTENT(decisions) + DECISION(WALK), FIELD_NUMBER, .key = "walk" },
	{ 0, FIELD_OBJECT_END, .key = NULL },
	{ 0 },
};

enum map_kind { MAP_HOLE, MAP_EXCLUSIVE, MAP_SHARED };

static const struct block_kind map_kinds[] = {
	[MAP_HOLE] = { "hole", ".", "90" },
	[MAP_EXCLUSIVE] = { "exclusive", "-", "32" },
	[MAP_SHARED] = { "shared", ":+*#", "33" },
};

#define MAP_KIND_COUNT (sizeof(map_kinds) / sizeof(map_kinds[0]))

static int begin_sharing_map(struct sharing_report *report, uint64_t size)
{
	const struct sharing_options *arguments = report->arguments;

	if (!arguments->map || report->files->out.format != FORMAT_TEXT)
		return 0;
	report->maps.kinds = map_kinds;
	report->maps.kind_count = MAP_KIND_COUNT;
	return file_maps_begin(&report->maps, file_options_ask_for_several(&arguments->files),
			       arguments->files.range, size, arguments->map);
}

int sharing_report_begin_file(struct sharing_report *report, const char *path, uint64_t size)
{
	const struct sharing_options *arguments = report->arguments;
	struct output *out = &report->files->out;
	int ret = begin_sharing_map(report, size);

	if (ret < 0)
		return ret;
	report->path = path;
	files_say_path(report->files, path);
	files_begin_result(report->files, path);
	if (arguments->extents)
		ret = rows_new(&report->rows, out, "extents", extent_fields,
			       arguments->why ? COLUMN_DECISION : 0);
	else
		json_add_null(&out->json, "extents");
	if (ret < 0)
		sharing_report_end_file(report, ret);
	return ret;
}

int sharing_report_extent(struct sharing_report *report, const struct mapped_extent *extent,
			  const struct decisions *decisions)
{
	struct extent_row row = { .extent = *extent };

	if (report->maps.map)
		block_map_add(report->maps.map,
			      mapped_extent_is_shared(extent) ? MAP_SHARED : MAP_EXCLUSIVE,
			      (struct byte_range){ extent->offset, extent->length });
	if (!report->rows || !decisions)
		return 0;
	row.decisions = *decisions;
	row.decision = decision_name(decisions);
	row.is_mixed = row.decision && strcmp(row.decision, "mixed") == 0;
	return rows_add(report->rows, &row);
}

int sharing_report_end_extents(struct sharing_report *report)
{
	return rows_end(&report->rows);
}

/* -- what is known of them -- */

void sharing_report_calls(struct sharing_report *report, uint64_t calls,
			  const struct counter_delta *delta)
{
	static const struct field call_fields[] = {
		{ 0, FIELD_NUMBER, .key = "fiemap_calls",
		  .help = "Only with an option that reports on a file: the number of FIEMAP calls that it took to list the extents once." },
		{ 0 },
	};
	struct output *out = &report->files->out;

	record_members(out, call_fields, &calls);
	if (report->arguments->global->verbosity > 0)
		record_say(out, "FIEMAP calls: %" PRIu64 "\n", calls);
	counter_delta_report(delta, out);
}

void sharing_report_decisions(struct sharing_report *report, const struct decisions *decisions)
{
	struct output *out = &report->files->out;

	record_object(out, "decisions", decision_fields, decisions);
	if (!decisions)
		return;
	record_say(out,
		   "Decisions: %" PRIu64 " by generation, %" PRIu64 " by leaf, %" PRIu64
		   " by walk\n",
		   decisions->counts[SHARE_DECISION_GENERATION],
		   decisions->counts[SHARE_DECISION_LEAF], decisions->counts[SHARE_DECISION_WALK]);
}

#define TIMING(member) offsetof(struct sharing_timing, member)

static const struct field timing_fields[] = {
	{ TIMING(warm.map_ns), FIELD_TIME, .key = "map_ns",
	  .help = "Mapping the extents without the check." },
	{ TIMING(warm.shared_check_ns), FIELD_TIME, .key = "shared_check_ns",
	  .help = "The check whether they are shared." },
	{ TIMING(cold_ns), FIELD_TIME, .key = "cold_ns", .known = TIMING(has_cold),
	  .help = "With --cold the first call, with nothing in memory; else null." },
	{ 0 },
};

static void say_map_timing(const struct output *out, const struct sharing_timing *found,
			   uint64_t extent_count)
{
	const struct fiemap_timing *timing = &found->warm;
	char map[UNITS_TEXT_SIZE], check[UNITS_TEXT_SIZE];

	if (found->has_cold)
		record_say(out, "Cold: %s\n", format_time(map, found->cold_ns));
	record_say(out, "Warm: %s", format_time(map, timing->map_ns + timing->shared_check_ns));
	record_say(out, " (mapping %s, shared check %s", format_time(map, timing->map_ns),
		   format_time(check, timing->shared_check_ns));
	if (extent_count)
		record_say(out, "; per extent %s and %s",
			   format_time(map, timing->map_ns / extent_count),
			   format_time(check, timing->shared_check_ns / extent_count));
	record_say(out, ")\n");
}

void sharing_report_timing(struct sharing_report *report, const struct sharing_timing *timing,
			   uint64_t extent_count)
{
	struct output *out = &report->files->out;

	record_object(out, "timing", timing_fields, timing);
	if (timing)
		say_map_timing(out, timing, extent_count);
}

/* -- with whom: --owners -- */

/* Only the owner's first row has the figures, so that the columns can be added up. */
struct owner_row {
	struct extent_owner owner;
	/* the path of the subvolume, and in a table why there is none */
	const char *subvolume;
	const char *subvolume_text;
	const char *path;
	const char *const *paths;
	bool paths_complete;
	const char *mounted_at;
	bool is_first;
	/* one of the owner's paths, or why there is none */
	const char *place;
};

#define OWNER(member) offsetof(struct owner_row, member)

static const struct field owner_fields[] = {
	{ OWNER(subvolume_text), FIELD_PATH, .title = "Subvolume", .width = 16 },
	{ OWNER(subvolume), FIELD_PATH, .key = "subvolume",
	  .help = "The path of its subvolume; null if it is not known." },
	{ OWNER(owner.subvolid), FIELD_NUMBER, .key = "subvolid", .title = "Id", .width = 6,
	  .help = "The id of its subvolume." },
	{ OWNER(owner.inode), FIELD_NUMBER, .key = "inode", .title = "Inode",
	  .help = "The number of its inode." },
	{ OWNER(path), FIELD_PATH, .key = "path",
	  .help = "The first of its names; null if none was found." },
	{ OWNER(paths), FIELD_NAMES, .key = "paths",
	  .help = "All names that were found, relative to the subvolume." },
	{ OWNER(paths_complete), FIELD_BOOL, .key = "paths_complete",
	  .help = "False if the file may have more names." },
	{ OWNER(mounted_at), FIELD_PATH, .key = "mounted_at",
	  .help = "The directory where the subvolume is mounted, or null." },
	{ OWNER(owner.extent_count), FIELD_NUMBER, .key = "extent_count", .title = "Extents",
	  .known = OWNER(is_first), .unknown = "",
	  .help = "The number of extents to which it refers, too." },
	{ OWNER(owner.bytes), FIELD_SIZE, .key = "bytes", .title = "Bytes",
	  .known = OWNER(is_first), .unknown = "", .help = "The bytes of these." },
	{ OWNER(place), FIELD_PATH, .title = "Path" },
	{ 0 },
};

void sharing_report_no_owners(struct sharing_report *report, enum no_owners why)
{
	struct output *out = &report->files->out;

	if (why == OWNERS_INLINE)
		record_say(out, "Owners: unknown, because inline data has no extent\n");
	if (why != OWNERS_NOT_ASKED)
		json_add_null(&out->json, "owner_disagreements");
	json_add_null(&out->json, "owners");
}

#define DISAGREEMENT(member) offsetof(struct owner_disagreement, member)

static const struct field disagreement_fields[] = {
	{ DISAGREEMENT(bytenr), FIELD_NUMBER, .key = "bytenr", .help = "Its logical address." },
	{ DISAGREEMENT(flagged_shared), FIELD_BOOL, .key = "flagged_shared",
	  .help = "Whether FIEMAP says that it is shared." },
	{ DISAGREEMENT(other_owner_count), FIELD_NUMBER, .key = "other_owner_count",
	  .help = "The number of other files that refer to it." },
	{ 0 },
};

void sharing_report_disagreement(struct sharing_report *report,
				 const struct owner_disagreement *disagreement)
{
	struct output *out = &report->files->out;

	record_say(out,
		   "%sDisagreement%s: data extent %" PRIu64 " is flagged %s, and has %" PRIu64
		   " other owners\n",
		   terminal_alarm_begin(), terminal_alarm_end(), disagreement->bytenr,
		   disagreement->flagged_shared ? "shared" : "not shared",
		   disagreement->other_owner_count);
	record_object(out, NULL, disagreement_fields, disagreement);
}

static const char *subvolume_text(const struct owner_name *name)
{
	if (name->subvolume)
		return name->subvolume;
	return name->subvolume_error == -ENOENT ? "(deleted)" : "(unknown)";
}

/* PATH below the directory that its subvolume is mounted at, if it is; the caller frees it. */
static char *mounted_path(const struct owner_name *name, const char *path)
{
	const char *directory = name->directory ? name->directory : "";
	const char *separator = name->directory && strcmp(directory, "/") != 0 ? "/" : "";
	char *joined;

	return asprintf(&joined, "%s%s%s", directory, separator, path) < 0 ? NULL : joined;
}

static int add_place(struct rows *rows, struct owner_row *row, const char *place)
{
	int ret;

	row->place = place;
	ret = rows_add(rows, row);
	row->is_first = false;
	return ret;
}

static int report_places(struct rows *rows, struct owner_row *row, const struct owner_name *name)
{
	int ret = 0;

	if (!row->path)
		return add_place(rows, row, "(no name)");
	for (char **path = name->names; ret == 0 && *path; path++) {
		CLEANUP_FREE char *place = mounted_path(name, *path);

		ret = place ? add_place(rows, row, place) : -ENOMEM;
	}
	if (ret == 0 && !name->complete)
		ret = add_place(rows, row, "(and maybe more)");
	return ret;
}

/* The table of owners, and its heading, when there is one. */
static int begin_owner_rows(struct sharing_report *report, const struct field *fields)
{
	if (report->owners)
		return 0;
	record_say(&report->files->out, "Owners:\n");
	return rows_new(&report->owners, &report->files->out, NULL, fields, 0);
}

int sharing_report_owner(struct sharing_report *report, const struct extent_owner *owner,
			 const struct owner_name *name)
{
	struct owner_row row = {
		.owner = *owner,
		.subvolume = name->subvolume,
		.subvolume_text = subvolume_text(name),
		.path = name->names ? name->names[0] : NULL,
		.paths = (const char *const *)name->names,
		.paths_complete = name->complete,
		.mounted_at = name->directory,
		.is_first = true,
	};
	int ret = begin_owner_rows(report, owner_fields);

	if (ret < 0)
		return ret;
	record_object(&report->files->out, NULL, owner_fields, &row);
	return report_places(report->owners, &row, name);
}

int sharing_report_end_owners(struct sharing_report *report, bool complete)
{
	struct output *out = &report->files->out;

	json_end_array(&out->json);
	if (complete && !report->owners)
		record_say(out, "Owners: none but this file\n");
	return rows_end(&report->owners);
}

/* -- the end of a file, and of all -- */

int sharing_report_sums(struct sharing_report *report, const struct sharing *sharing,
			const struct file_space *space)
{
	const struct sharing_row row = sharing_row_of(report->path, sharing, space);

	add_sharing_sums(&report->files->out, &row);
	return report_sharing_row(report, &row);
}

void sharing_report_end_file(struct sharing_report *report, int error)
{
	rows_end(&report->rows);
	file_maps_end_file(&report->maps);
	report->path = NULL;
	files_end_result(report->files, error);
}

#define FREED(member) offsetof(struct freed_space, member)

static const struct field freed_fields[] = {
	{ FREED(freed_bytes), FIELD_SIZE, .key = "freed_bytes", .metric = &freed_metric,
	  .help = "The bytes of data extents that become free." },
	{ FREED(freed_raw_bytes), FIELD_SIZE, .key = "freed_raw_bytes",
	  .known = FREED(has_raw_bytes),
	  .help = "The same on the devices, copies included; null if it is not known." },
	{ FREED(kept_bytes), FIELD_SIZE, .key = "kept_bytes",
	  .help = "The bytes of data extents that something else refers to." },
	{ FREED(read_only_bytes), FIELD_SIZE, .key = "read_only_bytes",
	  .help = "The bytes of data extents on devices that are not writable: deleting them frees nothing." },
	{ FREED(incomplete_count), FIELD_NUMBER, .key = "incomplete_extent_count",
	  .help = "The number of data extents that are neither freed nor kept for sure, because they have more references than the kernel lists." },
	{ FREED(uncertain_bytes), FIELD_SIZE, .key = "uncertain_bytes",
	  .help = "The bytes of these: at most so much more is freed, or kept." },
	{ 0 },
};

static void add_freed(struct output *out, const struct freed_space *space)
{
	struct json_writer *json = &out->json;

	if (!space || !space->has_freed) {
		json_add_null(json, "freed");
		return;
	}
	json_begin_object(json, "freed");
	record_members(out, freed_fields, space);
	/* Which tree blocks other trees share can only be found out by reading all of them. */
	json_add_null(json, "freed_metadata_bytes");
	json_end_object(json);
	record_samples(out, freed_fields, space);
}

static void say_freed(const struct output *out, const struct sharing *total,
		      const struct freed_space *space)
{
	char data[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];

	if (!space || !space->has_freed)
		return;
	format_size(data, space->freed_bytes, out->sizes);
	format_size(most, saturating_add(space->freed_bytes, space->uncertain_bytes), out->sizes);
	if (space->uncertain_bytes)
		record_say(out, "Freed: %s to %s of data\n", data, most);
	else
		record_say(out, "Freed: %s of data\n", data);
	if (space->has_raw_bytes && space->freed_raw_bytes != space->freed_bytes)
		record_say(out, "On the devices: %s of data, with all copies\n",
			   format_size(data, space->freed_raw_bytes, out->sizes));
	record_say(out, "Kept: %s of data, still referenced elsewhere\n",
		   format_size(data, space->kept_bytes, out->sizes));
	if (space->read_only_bytes)
		record_say(out, "Read-only: %s of data, on devices that are not writable\n",
			   format_size(data, space->read_only_bytes, out->sizes));
	if (total->delalloc_bytes)
		record_say(out, "Not on disk yet: %s of data\n",
			   format_size(data, total->delalloc_bytes, out->sizes));
}

static struct sharing_row argument_row(const struct sharing_report *report,
				       const struct argument_rows *rows, uint32_t index)
{
	struct sharing_row row = sharing_row_of(rows->paths[index], &rows->sharing[index], NULL);

	row.has_sums = report->arguments->mode != MODE_SUBVOLUMES;
	row.has_freed = rows->freed;
	row.has_written = rows->freed && report->arguments->subvolumes;
	if (rows->freed)
		row.freed = rows->freed[index];
	return row;
}

static void add_arguments(struct sharing_report *report, const struct argument_rows *rows)
{
	struct output *out = &report->files->out;
	struct json_writer *json = &out->json;

	if (!rows->count) {
		json_add_null(json, "arguments");
		return;
	}
	json_begin_array(json, "arguments");
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct sharing_row row = argument_row(report, rows, i);

		json_begin_object(json, NULL);
		record_members(out, argument_fields, &row);
		record_members(out, sharing_report_fields, &row);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_total(struct sharing_report *report, const struct sharing_row *row,
		      const struct argument_rows *rows, const struct freed_space *space)
{
	struct output *out = &report->files->out;

	/* A sample for each of a million files would be of no use. */
	record_samples(out, total_fields, row);
	record_samples(out, sharing_report_fields, row);
	files_begin_json_total(report->files);
	record_members(out, sharing_report_fields, row);
	record_members(out, total_fields, row);
	record_members(out, disk_fields, row);
	add_freed(out, space);
	fiemap_shared_rewrite_json(out, report->arguments, &row->sharing, space);
	add_arguments(report, rows);
	files_end_json_total(report->files);
}

static int report_total_row(struct sharing_report *report, const struct sharing_row *row,
			    const struct argument_rows *rows)
{
	const struct sharing_options *arguments = report->arguments;
	bool is_one = report->files->file_count == 1 ||
		      !file_options_ask_for_several(&arguments->files);

	if (!arguments->summarize && is_one)
		return 0;
	if (arguments->mode == MODE_DETAILS)
		record_say(&report->files->out, "\n");
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct sharing_row of_argument = argument_row(report, rows, i);
		int ret = report_sharing_row(report, &of_argument);

		if (ret < 0)
			return ret;
	}
	/* The last path's figure with those above is that of all. */
	return arguments->mode == MODE_SUBVOLUMES ? 0 : report_sharing_row(report, row);
}

int sharing_report_total(struct sharing_report *report, const struct sharing *total,
			 const struct argument_rows *rows, const uint64_t *set_shared_bytes,
			 const struct freed_space *space)
{
	struct sharing_row row = sharing_row_of(NULL, total, NULL);
	int ret, ended;

	row.file_count = report->files->file_count;
	row.has_sums = report->arguments->mode != MODE_SUBVOLUMES;
	row.has_set_shared = set_shared_bytes && row.has_sums;
	row.set_shared_bytes = set_shared_bytes ? *set_shared_bytes : 0;
	row.has_disk = space && report->arguments->disk;
	row.disk_bytes = space ? space->disk_bytes : 0;
	report->has_inline = total->inline_bytes > 0;
	add_total(report, &row, rows, space);
	ret = report_total_row(report, &row, rows);
	ended = rows_end(&report->summary);
	if (ret == 0)
		ret = ended;
	if (ret == 0)
		say_freed(&report->files->out, total, space);
	if (ret == 0)
		fiemap_shared_rewrite_say(&report->files->out, report->arguments, total, space,
					  report->can_be_copied);
	return ret;
}

void sharing_report_close(struct sharing_report *report)
{
	file_maps_free(&report->maps);
	rows_end(&report->summary);
}

/* -- the owners by subvolume -- */

struct subvolume_row {
	const char *path;
	const char *directory;
	const char *name;
	struct subvolume_owners owners;
};

#define SUBVOLUME(member) offsetof(struct subvolume_row, member)

static const struct field subvolume_fields[] = {
	{ SUBVOLUME(name), FIELD_PATH, .title = "Subvolume", .width = 16 },
	{ SUBVOLUME(path), FIELD_PATH, .key = "subvolume",
	  .help = "Its path; null if it is not known." },
	{ SUBVOLUME(owners.subvolid), FIELD_NUMBER, .key = "subvolid", .title = "Id", .width = 6,
	  .help = "Its id." },
	{ SUBVOLUME(directory), FIELD_PATH, .key = "mounted_at",
	  .help = "The directory where it is mounted, or null." },
	{ SUBVOLUME(owners.file_count), FIELD_NUMBER, .key = "file_count", .title = "Files",
	  .help = "The number of these files." },
	{ SUBVOLUME(owners.extent_count), FIELD_NUMBER, .key = "extent_count", .title = "Extents",
	  .help = "The number of extents to which they refer, too." },
	{ SUBVOLUME(owners.bytes), FIELD_SIZE, .key = "bytes", .title = "Bytes",
	  .help = "The bytes of these." },
	{ 0 },
};

int sharing_report_subvolume(struct sharing_report *report, const struct subvolume_owners *owners,
			     const struct owner_name *name)
{
	const struct subvolume_row row = {
		.path = name->subvolume,
		.directory = name->directory,
		.name = subvolume_text(name),
		.owners = *owners,
	};
	int ret = begin_owner_rows(report, subvolume_fields);

	if (ret < 0)
		return ret;
	record_object(&report->files->out, NULL, subvolume_fields, &row);
	return rows_add(report->owners, &row);
}

int sharing_report_end_subvolumes(struct sharing_report *report)
{
	struct output *out = &report->files->out;

	json_end_array(&out->json);
	if (!report->owners)
		record_say(out, "Owners: none but these files%s\n",
			   report->has_inline ? "; those of inline data are unknown" : "");
	return rows_end(&report->owners);
}
