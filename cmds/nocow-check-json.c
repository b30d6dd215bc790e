// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fs/inode-flags.h"
#include "nocow-check-report.h"

/* The driver has opened all that there is. */
static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

static void close_report(struct report *report)
{
	(void)report;
}

static void json_flags(struct json_writer *json, uint32_t flags)
{
	const char *name;
	char text[16];

	json_begin_array(json, "inode_flags");
	while ((name = inode_flags_take_name(&flags)))
		json_add_string(json, NULL, name);
	if (flags) {
		snprintf(text, sizeof(text), "0x%" PRIx32, flags);
		json_add_string(json, NULL, text);
	}
	json_end_array(json);
}

static void json_reasons(struct json_writer *json, uint32_t reasons)
{
	json_begin_array(json, "reasons");
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (reasons & NOCOW_REASON_BIT(i))
			json_add_string(json, NULL, nocow_reason_name(i));
	json_end_array(json);
}

static void json_sums(struct json_writer *json, const struct nocow_sums *sums)
{
	uint64_t range_count = 0;

	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		range_count += sums->counts[i];
	json_add_uint(json, "range_count", range_count);
	json_add_uint(json, "extent_count", sums->extent_count);
	json_add_uint(json, "nocow_bytes", nocow_sums_bytes_of(sums, NOCOW_IN_PLACE));
	json_add_uint(json, "cow_bytes", nocow_sums_bytes_of(sums, NOCOW_COPIED));
	json_add_uint(json, "hole_bytes", sums->bytes[NOCOW_REASON_HOLE]);
	json_add_uint(json, "inline_bytes", sums->bytes[NOCOW_REASON_INLINE]);
	json_add_uint(json, "direct_only_bytes", sums->bytes[NOCOW_REASON_DIRECT_ONLY]);
	json_add_uint(json, "delalloc_bytes", sums->bytes[NOCOW_REASON_DELALLOC]);
	json_add_uint(json, "unknown_bytes", sums->bytes[NOCOW_REASON_UNKNOWN]);
	json_add_known_uint(json, "csum_bytes", sums->csum_asked_bytes, sums->csum_bytes);

	json_begin_object(json, "reason_bytes");
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (sums->counts[i])
			json_add_uint(json, nocow_reason_name(i), sums->bytes[i]);
	json_end_object(json);
	json_reasons(json, sums->reasons);
}

/* -- one file -- */

static int begin_file(struct report *report, const struct findings *findings)
{
	struct json_writer *json = &report->files->json;

	json_begin_result(json);
	json_add_name(json, "path", findings->path);
	json_flags(json, findings->file.inode_flags);
	if (report->ranges)
		json_begin_array(json, "ranges");
	else
		json_add_null(json, "ranges");
	return 0;
}

static int add_range(struct report *report, const struct nocow_range *range)
{
	struct json_writer *json = &report->files->json;
	enum nocow_fate fate = nocow_reason_fate(range->reason);

	json_begin_object(json, NULL);
	json_add_uint(json, "offset", range->offset);
	json_add_uint(json, "length", range->length);
	json_add_uint(json, "bytenr", range->bytenr);
	if (fate == NOCOW_UNKNOWN)
		json_add_null(json, "nocow");
	else
		json_add_bool(json, "nocow", fate == NOCOW_IN_PLACE);
	json_add_string(json, "reason", nocow_reason_name(range->reason));
	json_reasons(json, range->reasons);
	if (range->checksums == NOCOW_CHECKSUMS_NOT_ASKED)
		json_add_null(json, "has_csums");
	else
		json_add_bool(json, "has_csums", range->checksums == NOCOW_CHECKSUMS_EXIST);
	json_end_object(json);
	return 0;
}

static void json_verdict(struct json_writer *json, const struct findings *findings)
{
	if (findings->verdict == VERDICT_NONE || findings->verdict == VERDICT_UNKNOWN)
		json_add_null(json, "alarm");
	else
		json_add_bool(json, "alarm", verdict_alarms(findings->verdict));
}

static int end_file(struct report *report, const struct findings *findings)
{
	struct json_writer *json = &report->files->json;
	int error = findings->error;

	if (report->ranges)
		json_end_array(json);
	json_add_bool(json, "complete", !error && findings_are_complete(findings));
	json_add_bool(json, "read_only", findings->read_only);
	json_sums(json, &findings->sums);
	json_verdict(json, findings);
	json_add_string(json, "hint",
			nocow_hint_text(nocow_hint_of(&findings->file, &findings->sums)));
	if (error)
		json_add_string(json, "error", strerror(-error));
	json_end_result(json);
	return 0;
}

/* -- the end -- */

static int add_total(struct report *report, const struct nocow_sums *total, bool several)
{
	struct json_writer *json = &report->files->json;

	(void)several;
	file_report_begin_json_total(report->files);
	json_sums(json, total);
	json_add_known_uint(json, "alarm_count", report->verdicts, report->alarm_count);
	json_add_known_uint(json, "unknown_count", report->verdicts, report->unknown_count);
	json_end_object(json);
	return 0;
}

static void add_exercise(struct report *report, const struct exercise *exercise)
{
	exercise_json(exercise, &report->files->json);
}

const struct report_ops nocow_check_json = {
	.open = open_report,
	.close = close_report,
	.begin_file = begin_file,
	.range = add_range,
	.end_file = end_file,
	.total = add_total,
	.exercise = add_exercise,
};
