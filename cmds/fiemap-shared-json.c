// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "fiemap-shared-report.h"
#include "ui/extent-flags.h"
#include "ui/json.h"

static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

/* What JSON has no part for. */
static void nothing(struct report *report)
{
	(void)report;
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

static void json_space(struct json_writer *json, const struct file_space *space)
{
	json_add_known_uint(json, "disk_bytes", space, space ? space->disk_bytes : 0);
}

static int add_summary(struct report *report, const char *path, const struct sharing *sharing,
		       const struct file_space *space)
{
	struct json_writer *json = &report->files->json;

	json_begin_result(json);
	json_add_name(json, "path", path);
	json_sharing(json, sharing);
	json_space(json, space);
	json_add_null(json, "extents");
	json_add_null(json, "decisions");
	json_add_null(json, "timing");
	json_add_null(json, "owners");
	json_end_result(json);
	return 0;
}

/* -- the extents of a file -- */

static int begin_file(struct report *report, const char *path, uint64_t size)
{
	struct json_writer *json = &report->files->json;

	(void)size;
	json_begin_result(json);
	json_add_name(json, "path", path);
	if (report->arguments->extents)
		json_begin_array(json, "extents");
	else
		json_add_null(json, "extents");
	return 0;
}

static void json_decisions(struct json_writer *json, const struct decisions *decisions)
{
	json_begin_object(json, "decisions");
	for (int i = 0; i < SHARE_DECISION_COUNT; i++)
		json_add_uint(json, fiemap_shared_decision_names[i], decisions->counts[i]);
	json_end_object(json);
}

static int add_extent(struct report *report, const struct mapped_extent *extent,
		      const struct decisions *decisions)
{
	struct json_writer *json = &report->files->json;
	const char *decision;

	if (!report->arguments->extents || !decisions)
		return 0;
	decision = fiemap_shared_decision_name(decisions);
	json_begin_object(json, NULL);
	json_add_uint(json, "offset", extent->offset);
	json_add_uint(json, "bytenr", extent->bytenr);
	json_add_uint(json, "length", extent->length);
	json_add_extent_flags(json, "flags", extent->flags);
	json_add_string(json, "decision", decision);
	if (decision && strcmp(decision, "mixed") == 0)
		json_decisions(json, decisions);
	json_end_object(json);
	return 0;
}

static int end_extents(struct report *report)
{
	if (report->arguments->extents)
		json_end_array(&report->files->json);
	return 0;
}

/* -- what is known of them -- */

static void add_calls(struct report *report, uint64_t calls)
{
	json_add_uint(&report->files->json, "fiemap_calls", calls);
}

static void add_counters(struct report *report, const struct counter_delta *delta)
{
	counter_delta_report(delta, &report->files->json);
}

static void add_decisions(struct report *report, const struct decisions *decisions)
{
	if (decisions)
		json_decisions(&report->files->json, decisions);
	else
		json_add_null(&report->files->json, "decisions");
}

static void add_timing(struct report *report, const struct fiemap_timing *timing,
		       const uint64_t *cold_ns, uint64_t extent_count)
{
	struct json_writer *json = &report->files->json;

	(void)extent_count;
	if (!timing) {
		json_add_null(json, "timing");
		return;
	}
	json_begin_object(json, "timing");
	json_add_uint(json, "map_ns", timing->map_ns);
	json_add_uint(json, "shared_check_ns", timing->shared_check_ns);
	json_add_known_uint(json, "cold_ns", cold_ns, cold_ns ? *cold_ns : 0);
	json_end_object(json);
}

/* -- with whom: --owners -- */

static void no_owners(struct report *report, bool asked)
{
	if (asked)
		json_add_null(&report->files->json, "owner_disagreements");
	json_add_null(&report->files->json, "owners");
}

static void begin_disagreements(struct report *report)
{
	json_begin_array(&report->files->json, "owner_disagreements");
}

static void add_disagreement(struct report *report, const struct owner_disagreement *disagreement)
{
	struct json_writer *json = &report->files->json;

	json_begin_object(json, NULL);
	json_add_uint(json, "bytenr", disagreement->bytenr);
	json_add_bool(json, "flagged_shared", disagreement->flagged_shared);
	json_add_uint(json, "other_owner_count", disagreement->other_owner_count);
	json_end_object(json);
}

static void end_disagreements(struct report *report)
{
	json_end_array(&report->files->json);
}

static void begin_owners(struct report *report)
{
	json_begin_array(&report->files->json, "owners");
}

static int add_owner(struct report *report, const struct extent_owner *owner,
		     const struct owner_name *name)
{
	static char *const no_names[] = { NULL };
	struct json_writer *json = &report->files->json;

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
	return 0;
}

static int end_owners(struct report *report, bool complete)
{
	(void)complete;
	json_end_array(&report->files->json);
	return 0;
}

/* -- the end of a file, and of all -- */

static int add_sums(struct report *report, const char *path, const struct sharing *sharing,
		    const struct file_space *space)
{
	(void)path;
	json_sharing(&report->files->json, sharing);
	json_space(&report->files->json, space);
	return 0;
}

static void failed(struct report *report, int ret)
{
	json_add_string(&report->files->json, "error", strerror(-ret));
}

static void end_file(struct report *report)
{
	json_end_result(&report->files->json);
}

static void json_freed(struct json_writer *json, const struct freed_space *space)
{
	if (!space) {
		json_add_null(json, "freed");
		return;
	}
	json_begin_object(json, "freed");
	json_add_uint(json, "freed_bytes", space->freed_bytes);
	json_add_known_uint(json, "freed_raw_bytes", space->has_raw_bytes, space->freed_raw_bytes);
	json_add_uint(json, "kept_bytes", space->kept_bytes);
	json_add_uint(json, "freed_metadata_bytes", space->freed_metadata_bytes);
	json_add_uint(json, "incomplete_extent_count", space->incomplete_count);
	json_end_object(json);
}

static int add_total(struct report *report, const struct sharing *total,
		     const uint64_t *set_shared_bytes, const struct freed_space *space)
{
	const struct arguments *arguments = report->arguments;
	struct json_writer *json = &report->files->json;

	file_report_begin_json_total(report->files);
	json_sharing(json, total);
	json_add_known_uint(json, "set_shared_bytes", set_shared_bytes,
			    set_shared_bytes ? *set_shared_bytes : 0);
	json_add_known_uint(json, "disk_bytes", space && arguments->disk,
			    space ? space->disk_bytes : 0);
	json_freed(json, arguments->freed ? space : NULL);
	json_end_object(json);
	return 0;
}

/* -- the owners by subvolume -- */

static void no_owner_summary(struct report *report)
{
	json_add_null(&report->files->json, "owner_summary");
}

static void begin_owner_summary(struct report *report)
{
	json_begin_array(&report->files->json, "owner_summary");
}

static int add_subvolume(struct report *report, const struct subvolume_owners *owners,
			 const struct owner_name *name)
{
	struct json_writer *json = &report->files->json;

	json_begin_object(json, NULL);
	json_add_name(json, "subvolume", name->subvolume);
	json_add_uint(json, "subvolid", owners->subvolid);
	json_add_name(json, "mounted_at", name->directory);
	json_add_uint(json, "file_count", owners->file_count);
	json_add_uint(json, "extent_count", owners->extent_count);
	json_add_uint(json, "bytes", owners->bytes);
	json_end_object(json);
	return 0;
}

static int end_owner_summary(struct report *report)
{
	json_end_array(&report->files->json);
	return 0;
}

const struct report_ops fiemap_shared_json = {
	.open = open_report,
	.close = nothing,
	.summary = add_summary,
	.begin_file = begin_file,
	.extent = add_extent,
	.end_extents = end_extents,
	.calls = add_calls,
	.counters = add_counters,
	.decisions = add_decisions,
	.timing = add_timing,
	.no_owners = no_owners,
	.begin_disagreements = begin_disagreements,
	.disagreement = add_disagreement,
	.end_disagreements = end_disagreements,
	.begin_owners = begin_owners,
	.owner = add_owner,
	.end_owners = end_owners,
	.map = nothing,
	.sums = add_sums,
	.failed = failed,
	.end_file = end_file,
	.total = add_total,
	.no_owner_summary = no_owner_summary,
	.begin_owner_summary = begin_owner_summary,
	.subvolume = add_subvolume,
	.end_owner_summary = end_owner_summary,
};
