// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fs/inode-flags.h"
#include "nocow-check-report.h"
#include "ui/exit-status.h"

static const char *const fate_names[] = {
	[NOCOW_IN_PLACE] = "in place",
	[NOCOW_COPIED] = "copied",
	[NOCOW_NEW] = "new",
	[NOCOW_UNKNOWN] = "unknown",
};

static void name_reasons(const char *names[NOCOW_REASON_COUNT + 1], uint32_t reasons)
{
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (reasons & NOCOW_REASON_BIT(i))
			*names++ = nocow_reason_name(i);
	*names = NULL;
}

static const struct metric files_metric = { "btrfs_fastpath_nocow_files", METRIC_GAUGE, NULL,
					    "Files whose next writes were examined." };
static const struct metric bytes_metric = {
	"btrfs_fastpath_nocow_bytes", METRIC_GAUGE, "bytes",
	"Bytes of these files by where the next write to them goes, and why."
};
static const struct metric checksums_metric = {
	"btrfs_fastpath_nocow_checksum_bytes", METRIC_GAUGE, "bytes",
	"Bytes of these files that have checksums, as far as this was asked."
};
static const struct metric alarms_metric = { "btrfs_fastpath_nocow_alarms", METRIC_GAUGE, NULL,
					     "Files that the check found." };

/* -- a range -- */

struct range_row {
	struct nocow_range range;
	enum answer nocow;
	const char *fate;
	const char *reason;
	const char *const *reasons;
};

#define RANGE(member) offsetof(struct range_row, member)

/* Numbers for the addresses: a rounded one would be of no use. */
static const struct field range_fields[] = {
	{ RANGE(range.offset), FIELD_NUMBER, .key = "offset", .title = "Offset", .width = 12,
	  .help = "Where it begins in the file." },
	{ RANGE(range.length), FIELD_SIZE, .key = "length", .title = "Length", .place = 1,
	  .help = "Its length in bytes." },
	{ RANGE(range.bytenr), FIELD_NUMBER, .key = "bytenr", .title = "Bytenr", .width = 14,
	  .help = "Its logical address; 0 if it has none." },
	{ RANGE(nocow), FIELD_ANSWER, .key = "nocow",
	  .help = "True if the next write is in place, false if it is copied or new, null if that is unknown." },
	{ RANGE(fate), FIELD_TEXT, .title = "Next write", .place = 1, .alarm = "copied" },
	{ RANGE(reason), FIELD_TEXT, .key = "reason", .help = "The first of the reasons." },
	{ RANGE(reasons), FIELD_NAMES, .key = "reasons", .title = "Why", .place = 1,
	  .help = "All reasons that are known." },
	{ RANGE(range.checksums), FIELD_ANSWER, .key = "has_csums", .title = "Checksums",
	  .place = 1, .help = "Whether it has checksums; null if they were not looked up." },
	{ 0 },
};

_Static_assert((int)NOCOW_CHECKSUMS_NONE == ANSWER_NO && (int)NOCOW_CHECKSUMS_EXIST == ANSWER_YES,
	       "they are printed as an answer");

int nocow_report_range(struct nocow_report *report, const struct nocow_range *range)
{
	enum nocow_fate fate = nocow_reason_fate(range->reason);
	const char *reasons[NOCOW_REASON_COUNT + 1];
	struct range_row row = {
		.range = *range,
		.reasons = reasons,
		.nocow = answer_of(fate != NOCOW_UNKNOWN, fate == NOCOW_IN_PLACE),
		.fate = fate_names[fate],
		.reason = nocow_reason_name(range->reason),
	};

	name_reasons(reasons, range->reasons);
	return rows_add(report->rows, &row);
}

/* -- the sums of a file, or of all files -- */

struct nocow_row {
	/* NULL: all files */
	const char *path;
	bool is_total;
	struct nocow_sums sums;
	uint64_t range_count;
	uint64_t bytes[NOCOW_UNKNOWN + 1];
	bool has_checksums;
	const char *reason_names[NOCOW_REASON_COUNT + 1];
	const char *const *reasons;
	enum answer alarm;
	/* of all files */
	uint64_t file_count;
	bool is_judged;
	uint64_t alarm_count;
	uint64_t unknown_count;
};

/* With --check. */
#define COLUMN_ALARM 1

#define SUMS(member) offsetof(struct nocow_row, member)
#define BYTES(reason) offsetof(struct nocow_row, sums.bytes[NOCOW_REASON_##reason])

const struct field nocow_report_fields[] = {
	{ SUMS(range_count), FIELD_NUMBER, .key = "range_count", .help = "The number of ranges." },
	{ SUMS(sums.extent_count), FIELD_NUMBER, .key = "extent_count", .title = "Extents",
	  .sort = "extents", .short_title = "Ext.", .place = 1,
	  .help = "The number of extents in FIEMAP." },
	{ SUMS(bytes[NOCOW_IN_PLACE]), FIELD_SIZE, .key = "nocow_bytes", .title = "In place",
	  .sort = "in-place", .help = "The bytes that the next write overwrites in place." },
	{ SUMS(bytes[NOCOW_COPIED]), FIELD_SIZE, .key = "cow_bytes", .title = "Copied",
	  .sort = "copied", .alarm = "", .help = "The bytes that the next write copies." },
	{ SUMS(bytes[NOCOW_NEW]), FIELD_SIZE, .title = "New", .sort = "new" },
	{ SUMS(bytes[NOCOW_UNKNOWN]), FIELD_SIZE, .title = "Unknown", .sort = "unknown" },
	{ BYTES(HOLE), FIELD_SIZE, .key = "hole_bytes", .help = "The bytes in holes." },
	{ BYTES(INLINE), FIELD_SIZE, .key = "inline_bytes", .help = "The bytes of inline data." },
	{ BYTES(DIRECT_ONLY), FIELD_SIZE, .key = "direct_only_bytes",
	  .help = "The bytes that only a direct write overwrites in place." },
	{ BYTES(DELALLOC), FIELD_SIZE, .key = "delalloc_bytes",
	  .help = "The bytes that have no place on disk yet." },
	{ BYTES(UNKNOWN), FIELD_SIZE, .key = "unknown_bytes",
	  .help = "The bytes for which this is unknown." },
	{ SUMS(sums.csum_bytes), FIELD_SIZE, .key = "csum_bytes", .title = "Checksums",
	  .sort = "checksums", .short_title = "Csums", .known = SUMS(has_checksums),
	  .metric = &checksums_metric,
	  .help = "The bytes with checksums; null if none were looked up." },
	{ SUMS(alarm), FIELD_ANSWER, .title = "Alarm", .place = 2, .option = COLUMN_ALARM,
	  .unknown = "unknown", .alarm = "yes" },
	/* Those of all files together are wide, and say little. */
	{ SUMS(reasons), FIELD_NAMES, .key = "reasons", .title = "Why", .width = 20, .place = 3,
	  .spare = SUMS(is_total), .help = "All reasons that occur." },
	{ SUMS(path), FIELD_PATH, .title = "Path", .sort = "path", .place = 4, .unknown = "total" },
	{ 0 },
};

static const struct field total_fields[] = {
	{ SUMS(file_count), FIELD_NUMBER, .metric = &files_metric },
	{ SUMS(alarm_count), FIELD_NUMBER, .key = "alarm_count", .known = SUMS(is_judged),
	  .help = "With --check the number of files that were found, else null." },
	{ SUMS(unknown_count), FIELD_NUMBER, .key = "unknown_count", .known = SUMS(is_judged),
	  .help = "With --check the number of files that it could not judge, else null." },
	{ 0 },
};

/* After the others: programs that draw performance data may number it. */
static const struct field alarm_fields[] = {
	{ SUMS(alarm_count), FIELD_NUMBER, .known = SUMS(is_judged), .metric = &alarms_metric },
	{ 0 },
};

static void fill_nocow_row(struct nocow_row *row, const struct nocow_sums *sums, const char *path,
			   enum check_verdict verdict)
{
	bool is_judged = verdict != VERDICT_NONE && verdict != VERDICT_UNKNOWN;

	*row = (struct nocow_row){
		.path = path,
		.is_total = !path,
		.sums = *sums,
		.has_checksums = sums->csum_asked_bytes,
		.alarm = answer_of(is_judged, verdict_alarms(verdict)),
		.reasons = row->reason_names,
	};
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		row->range_count += sums->counts[i];
	for (int fate = NOCOW_IN_PLACE; fate <= NOCOW_UNKNOWN; fate++)
		row->bytes[fate] = nocow_sums_bytes_of(sums, fate);
	name_reasons(row->reason_names, sums->reasons);
}

/* The members of the open object in JSON. */
static void add_nocow_sums(struct output *out, const struct nocow_row *row)
{
	record_members(out, nocow_report_fields, row);
	json_begin_object(&out->json, "reason_bytes");
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (row->sums.counts[i])
			json_add_uint(&out->json, nocow_reason_name(i), row->sums.bytes[i]);
	json_end_object(&out->json);
}

static int report_nocow_row(struct nocow_report *report, const struct nocow_row *row)
{
	int ret = rows_begin_or_add(&report->summary, &report->files->out, nocow_report_fields,
				    report->verdicts ? COLUMN_ALARM : 0, row);

	/* It stands below the ranges of the file. */
	return ret == 0 && report->ranges ? rows_end(&report->summary) : ret;
}

int nocow_report_keep(struct row_sort *rows, struct path_node *path,
		      const struct findings *findings)
{
	struct nocow_row row;

	fill_nocow_row(&row, &findings->sums, NULL, findings->verdict);
	return row_sort_add(rows, path, &row, findings);
}

/* -- a file -- */

static const char *const block_texts[] = {
	[WRITE_BLOCK_SUBVOLUME] = "the subvolume is read-only",
	[WRITE_BLOCK_IMMUTABLE] = "the file is immutable",
	[WRITE_BLOCK_APPEND_ONLY] = "the file is append-only",
	[WRITE_BLOCK_SWAP] = "the file is active swap, whose blocks the kernel writes in place",
};

/* Each flag has a bit. */
struct flag_names {
	const char *names[32 + 1];
	char number[16];
};

static void name_flags(struct flag_names *flags, uint32_t inode_flags)
{
	const char **name = flags->names;

	while ((*name = inode_flags_take_name(&inode_flags)))
		name++;
	if (!inode_flags)
		return;
	snprintf(flags->number, sizeof(flags->number), "0x%" PRIx32, inode_flags);
	*name++ = flags->number;
	*name = NULL;
}

struct file_row {
	const char *const *flags;
	bool is_complete;
	bool read_only;
	const char *block;
	enum answer alarm;
	const char *hint;
};

#define FILE_ROW(member) offsetof(struct file_row, member)

static const struct field flag_fields[] = {
	{ FILE_ROW(flags), FIELD_NAMES, .key = "inode_flags",
	  .help = "The names of the inode's flags, and a number for those without a name." },
	{ 0 },
};

static const struct field state_fields[] = {
	{ FILE_ROW(is_complete), FIELD_BOOL, .key = "complete",
	  .help = "Whether the answer is complete: the trees could be searched without data being moved meanwhile, and nothing is unknown." },
	{ FILE_ROW(read_only), FIELD_BOOL, .key = "read_only",
	  .help = "Whether the mount or the subvolume is read-only." },
	{ FILE_ROW(block), FIELD_TEXT, .key = "writes_blocked_by",
	  .help = "Why no program can overwrite the file, or null." },
	{ FILE_ROW(alarm), FIELD_ANSWER, .key = "alarm",
	  .help = "With --check whether the file was found; null without the option, or if it could not be checked." },
	{ FILE_ROW(hint), FIELD_TEXT, .key = "hint",
	  .help = "What to do about the file, or null." },
	{ 0 },
};

static int begin_ranges(struct nocow_report *report, const struct findings *findings,
			const struct flag_names *flags)
{
	struct output *out = &report->files->out;
	char text[NAMES_TEXT_SIZE];

	files_say_path(report->files, findings->path);
	record_say(out, "Flags: %s\n", names_text(text, flags->names));
	if (findings->block)
		record_say(out, "Not written: %s\n", block_texts[findings->block]);
	else if (findings->read_only)
		record_say(out, "Read-only mount: written only through another one\n");
	return rows_new(&report->rows, out, "ranges", range_fields, 0);
}

int nocow_report_begin_file(struct nocow_report *report, const struct findings *findings)
{
	struct output *out = &report->files->out;
	struct flag_names flags;
	int ret = 0;

	name_flags(&flags, findings->file.inode_flags);
	files_begin_result(report->files, findings->path);
	record_members(out, flag_fields, &(struct file_row){ .flags = flags.names });
	if (report->ranges)
		ret = begin_ranges(report, findings, &flags);
	else
		json_add_null(&out->json, "ranges");
	if (ret < 0)
		files_end_result(report->files, ret);
	return ret;
}

static void end_json_file(struct files *files, const struct findings *findings,
			  const struct nocow_row *sums)
{
	const struct file_row row = {
		.is_complete = !findings->error && findings_are_complete(findings),
		.read_only = findings->read_only,
		.block = write_block_name(findings->block),
		.alarm = sums->alarm,
		.hint = nocow_hint_text(findings_hint(findings)),
	};

	add_nocow_sums(&files->out, sums);
	record_members(&files->out, state_fields, &row);
	files_end_result(files, findings->error);
}

static void say_hint(const struct nocow_report *report, enum nocow_hint hint)
{
	if (hint != HINT_NONE && !report->no_hints)
		record_say(&report->files->out, "Hint: %s\n", nocow_hint_text(hint));
}

int nocow_report_end_file(struct nocow_report *report, const struct findings *findings)
{
	int ret = rows_end(&report->rows);
	struct nocow_row row;

	fill_nocow_row(&row, &findings->sums, findings->path, findings->verdict);
	if (report->swap && !findings->error && ret == 0)
		ret = swap_report(&findings->swap, findings->path, &report->files->out);
	end_json_file(report->files, findings, &row);
	if (findings->error || ret < 0 || report->swap)
		return ret;
	ret = report_nocow_row(report, &row);
	if (report->ranges)
		say_hint(report, findings_hint(findings));
	return ret;
}

/* -- all files -- */

struct reason_row {
	const char *fate;
	/* in metrics */
	const char *fate_label;
	const char *reason;
	uint64_t count;
	uint64_t bytes;
};

#define REASON(member) offsetof(struct reason_row, member)

static const struct field reason_fields[] = {
	{ REASON(fate), FIELD_TEXT, .title = "Next write" },
	{ REASON(fate_label), FIELD_TEXT, .label.name = "next_write" },
	{ REASON(reason), FIELD_TEXT, .title = "Why", .label.name = "reason" },
	{ REASON(count), FIELD_NUMBER, .title = "Ranges" },
	{ REASON(bytes), FIELD_SIZE, .title = "Bytes", .metric = &bytes_metric },
	{ 0 },
};

/* NOTHING: there are no files. */
static int report_reasons(struct output *out, const struct nocow_sums *sums, bool nothing)
{
	static const struct reason_row no_reason;
	struct rows *rows;
	int ret = rows_new(&rows, out, NULL, reason_fields, 0);

	if (ret < 0)
		return ret;
	for (int i = 0; i < NOCOW_REASON_COUNT; i++) {
		enum nocow_fate fate = nocow_reason_fate(i);
		const struct reason_row row = {
			.fate = fate_names[fate],
			.fate_label = fate == NOCOW_IN_PLACE ? "in_place" : fate_names[fate],
			.reason = nocow_reason_name(i),
			.count = sums->counts[i],
			.bytes = sums->bytes[i],
		};

		record_samples(out, reason_fields, &row);
		if (row.count)
			rows_add(rows, &row);
	}
	if (nothing)
		rows_add(rows, &no_reason);
	return rows_end(&rows);
}

/* Whether --check found one of the files. */
static enum check_verdict total_verdict(const struct nocow_report *report)
{
	if (report->alarm_count)
		return VERDICT_COPIED;
	return report->unknown_count ? VERDICT_UNKNOWN : VERDICT_GOOD;
}

static void add_json_total(struct nocow_report *report, const struct nocow_row *row)
{
	struct output *out = &report->files->out;

	files_begin_json_total(report->files);
	add_nocow_sums(out, row);
	record_members(out, total_fields, row);
	files_end_json_total(report->files);
}

/* There can be no file below what was named, which a total shows, unless an error does. */
int nocow_report_total(struct nocow_report *report, const struct nocow_sums *total, bool several)
{
	struct output *out = &report->files->out;
	uint64_t count = report->files->file_count;
	bool nothing = several && !count && report->files->status == STATUS_OK;
	struct nocow_row row;
	int ret = 0, ended;

	several = nothing || (several && count > 1);
	fill_nocow_row(&row, total, NULL, total_verdict(report));
	row.file_count = count;
	row.is_judged = report->verdicts;
	row.alarm_count = report->alarm_count;
	row.unknown_count = report->unknown_count;
	add_json_total(report, &row);
	record_samples(out, total_fields, &row);
	if (several && report->ranges)
		record_say(out, "\n");
	if (report->total_alone)
		ret = report_reasons(out, total, nothing);
	else if (several && !report->swap)
		ret = report_nocow_row(report, &row);
	record_samples(out, nocow_report_fields, &row);
	record_samples(out, alarm_fields, &row);
	ended = rows_end(&report->summary);
	for (int i = 0; !report->ranges && !report->swap && i < HINT_COUNT; i++)
		if (report->hints & 1u << i)
			say_hint(report, i);
	return ret < 0 ? ret : ended;
}
