// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fs/inode-flags.h"
#include "nocow-check-report.h"
#include "ui/quoted-name.h"

/* Every reason, or every flag, with commas between. */
#define NAMES_TEXT_SIZE 256

static const char *const fate_names[] = {
	[NOCOW_IN_PLACE] = "in place",
	[NOCOW_COPIED] = "copied",
	[NOCOW_NEW] = "new",
	[NOCOW_UNKNOWN] = "unknown",
};

static const char *const checksums_names[] = {
	[NOCOW_CHECKSUMS_NOT_ASKED] = "-",
	[NOCOW_CHECKSUMS_NONE] = "no",
	[NOCOW_CHECKSUMS_EXIST] = "yes",
};

static const struct table_column range_columns[] = {
	{ "Offset", 12, false },    { "Bytenr", 14, false }, { "Length", 10, false },
	{ "Next write", 10, true }, { "Why", 10, true },     { "Checksums", 0, true },
};

static const struct table_column file_columns[] = {
	{ "In place", 10, false }, { "Copied", 10, false },    { "New", 10, false },
	{ "Unknown", 10, false },  { "Checksums", 10, false }, { "Extents", 8, false },
	{ "Why", 20, true },	   { "Path", 0, true },
};

/* With --check. */
static const struct table_column checked_columns[] = {
	{ "In place", 10, false }, { "Copied", 10, false },    { "New", 10, false },
	{ "Unknown", 10, false },  { "Checksums", 10, false }, { "Extents", 8, false },
	{ "Alarm", 6, true },	   { "Why", 20, true },	       { "Path", 0, true },
};

static const struct table_column reason_columns[] = {
	{ "Next write", 10, true },
	{ "Why", 10, true },
	{ "Ranges", 8, false },
	{ "Bytes", 10, false },
};

static void append_name(char text[NAMES_TEXT_SIZE], const char *name)
{
	size_t length = strlen(text);

	snprintf(text + length, NAMES_TEXT_SIZE - length, "%s%s", length ? "," : "", name);
}

static const char *format_flags(char text[NAMES_TEXT_SIZE], uint32_t flags)
{
	const char *name;
	char number[16];

	text[0] = '\0';
	while ((name = inode_flags_take_name(&flags)))
		append_name(text, name);
	if (flags) {
		snprintf(number, sizeof(number), "0x%" PRIx32, flags);
		append_name(text, number);
	}
	return *text ? text : "-";
}

static const char *format_reasons(char text[NAMES_TEXT_SIZE], uint32_t reasons)
{
	text[0] = '\0';
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (reasons & NOCOW_REASON_BIT(i))
			append_name(text, nocow_reason_name(i));
	return *text ? text : "-";
}

static int new_file_table(const struct report *report, struct table **ret_table)
{
	int ret = report->verdicts ? TABLE_NEW(ret_table, checked_columns) :
				     TABLE_NEW(ret_table, file_columns);

	if (ret < 0)
		return ret;
	table_shorten(*ret_table, "Checksums", "Csums");
	table_shorten(*ret_table, "Extents", "Ext.");
	return 0;
}

static int open_report(struct report *report)
{
	if (report->ranges || report->total_alone)
		return 0;
	return new_file_table(report, &report->summary);
}

static void close_report(struct report *report)
{
	table_free(report->summary);
}

/* -- a row of sums -- */

static const char *alarm_name(enum verdict verdict)
{
	if (verdict == VERDICT_UNKNOWN)
		return "unknown";
	return verdict_alarms(verdict) ? "yes" : "no";
}

/* PATH is NULL for the total. */
static int print_sums(const struct report *report, struct table *table,
		      const struct nocow_sums *sums, const char *path, enum verdict verdict)
{
	struct size_format sizes = report->sizes;
	char why[NAMES_TEXT_SIZE];

	table_begin_row(table);
	for (int fate = NOCOW_IN_PLACE; fate <= NOCOW_UNKNOWN; fate++) {
		if (fate == NOCOW_COPIED)
			table_alarm(table);
		table_size_cell(table, nocow_sums_bytes_of(sums, fate), sizes);
	}
	if (sums->csum_asked_bytes)
		table_size_cell(table, sums->csum_bytes, sizes);
	else
		table_cell(table, "-");
	table_number_cell(table, sums->extent_count);
	if (report->verdicts && verdict_alarms(verdict))
		table_alarm(table);
	if (report->verdicts)
		table_cell(table, alarm_name(verdict));
	/* Those of all files together are wide, and say little. */
	if (!path)
		table_spare(table);
	table_cell(table, format_reasons(why, sums->reasons));
	table_cell(table, path ? path : "total");
	return table_error(table);
}

/* The row in a table of its own. */
static int print_sums_alone(const struct report *report, const struct nocow_sums *sums,
			    const char *path, enum verdict verdict)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = new_file_table(report, &table);
	if (ret < 0)
		return ret;
	print_sums(report, table, sums, path, verdict);
	return table_end(&table);
}

/* -- one file -- */

static int begin_file(struct report *report, const struct findings *findings)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(findings->path);
	char flags[NAMES_TEXT_SIZE];

	if (!report->ranges)
		return 0;
	printf("%sFile: %s\n", report->files->file_count ? "\n" : "", quoted);
	printf("Flags: %s\n", format_flags(flags, findings->file.inode_flags));
	if (findings->read_only)
		printf("Read-only: no write gets here before that is changed\n");
	return TABLE_NEW(&report->rows, range_columns);
}

static int print_range(struct report *report, const struct nocow_range *range)
{
	enum nocow_fate fate = nocow_reason_fate(range->reason);
	struct table *table = report->rows;
	char why[NAMES_TEXT_SIZE];

	table_begin_row(table);
	/* A rounded address would be of no use. */
	table_number_cell(table, range->offset);
	table_number_cell(table, range->bytenr);
	table_size_cell(table, range->length, report->sizes);
	if (fate == NOCOW_COPIED)
		table_alarm(table);
	table_cell(table, fate_names[fate]);
	table_cell(table, format_reasons(why, range->reasons));
	table_cell(table, checksums_names[range->checksums]);
	return table_error(table);
}

static void print_hint(const struct report *report, enum nocow_hint hint)
{
	if (hint != HINT_NONE && !report->no_hints)
		printf("Hint: %s\n", nocow_hint_text(hint));
}

/* The report on a file with its ranges. */
static int end_ranges(const struct report *report, const struct findings *findings)
{
	int ret = print_sums_alone(report, &findings->sums, findings->path, findings->verdict);

	print_hint(report, nocow_hint_of(&findings->file, &findings->sums));
	return ret;
}

static int end_file(struct report *report, const struct findings *findings)
{
	int ret = table_end(&report->rows);

	if (findings->error || ret < 0)
		return ret;
	if (report->ranges)
		return end_ranges(report, findings);
	return print_sums(report, report->summary, &findings->sums, findings->path,
			  findings->verdict);
}

/* -- the end -- */

static void print_reason(struct table *table, const struct nocow_sums *sums,
			 enum nocow_reason reason, struct size_format sizes)
{
	table_begin_row(table);
	table_cell(table, fate_names[nocow_reason_fate(reason)]);
	table_cell(table, nocow_reason_name(reason));
	table_number_cell(table, sums->counts[reason]);
	table_size_cell(table, sums->bytes[reason], sizes);
}

static int print_reasons(const struct nocow_sums *sums, struct size_format sizes)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, reason_columns);
	if (ret < 0)
		return ret;
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (sums->counts[i])
			print_reason(table, sums, i, sizes);
	return table_finish(table);
}

/* Those of all files. */
static void print_hints(const struct report *report)
{
	for (int i = 0; i < HINT_COUNT; i++)
		if (report->hints & 1u << i)
			print_hint(report, i);
}

/* Whether --check found one of the files. */
static enum verdict total_verdict(const struct report *report)
{
	if (report->alarm_count)
		return VERDICT_COPIED;
	return report->unknown_count ? VERDICT_UNKNOWN : VERDICT_GOOD;
}

/* TOTAL is NULL where there is none. The rows are printed, so that what comes after them does. */
static int end_summary(const struct report *report, const struct nocow_sums *total)
{
	int ret;

	if (total)
		print_sums(report, report->summary, total, NULL, total_verdict(report));
	ret = table_finish(report->summary);
	print_hints(report);
	return ret;
}

static int end_reasons(const struct report *report, const struct nocow_sums *total)
{
	int ret = print_reasons(total, report->sizes);

	print_hints(report);
	return ret;
}

static int print_total(struct report *report, const struct nocow_sums *total, bool several)
{
	several = several && report->files->file_count > 1;
	if (report->total_alone)
		return end_reasons(report, total);
	if (!report->ranges)
		return end_summary(report, several ? total : NULL);
	if (!several)
		return 0;
	putchar('\n');
	return print_sums_alone(report, total, NULL, total_verdict(report));
}

static void print_exercise(struct report *report, const struct exercise *exercise)
{
	if (report->files->file_count)
		putchar('\n');
	exercise_print(exercise, report->sizes);
}

const struct report_ops nocow_check_text = {
	.open = open_report,
	.close = close_report,
	.begin_file = begin_file,
	.range = print_range,
	.end_file = end_file,
	.total = print_total,
	.exercise = print_exercise,
};
