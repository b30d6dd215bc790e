// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>

#include "nocow-check-report.h"
#include "ui/message.h"

static const char *const obstacle_texts[] = {
	[SWAP_ACTIVE] = "it is active swap already",
	[SWAP_READ_ONLY] = "the mount or the subvolume is read-only",
	[SWAP_NOT_WRITABLE] = "it is immutable or append-only",
	[SWAP_BUSY] = "a balance or another exclusive operation is running",
	[SWAP_COMPRESS] = "it has the flag compress",
	[SWAP_COPY_ON_WRITE] = "it does not have the flag nodatacow",
	[SWAP_CHECKSUMS] = "it has checksums",
	[SWAP_HOLE] = "it has holes",
	[SWAP_INLINE] = "its data is inline",
	[SWAP_COMPRESSED] = "its data is compressed",
	[SWAP_SHARED] = "a snapshot or another file shares its data",
	[SWAP_PROFILE] = "its data has another profile than single",
	[SWAP_DEVICES] = "its data is on several devices",
	[SWAP_READ_ONLY_DEVICE] = "its data is on a device that is not writable",
	[SWAP_SIGNATURE] = "it has no valid swap signature: run mkswap",
	[SWAP_TOO_SHORT] = "it is shorter than mkswap found it",
};

struct obstacle_row {
	const char *name;
	const char *text;
	/* unknown: the whole file */
	uint64_t bytes;
	uint64_t first;
	bool is_part;
};

#define ROW(member) offsetof(struct obstacle_row, member)

static const struct field obstacle_fields[] = {
	{ ROW(bytes), FIELD_SIZE, .key = "bytes", .title = "Bytes", .known = ROW(is_part),
	  .help = "The bytes with this obstacle; null if it concerns the whole file." },
	{ ROW(first), FIELD_NUMBER, .key = "first_offset", .title = "First at", .width = 12,
	  .known = ROW(is_part),
	  .help = "The offset of the first of them; null if it concerns the whole file." },
	{ ROW(name), FIELD_TEXT, .key = "obstacle", .help = "The obstacle." },
	{ ROW(text), FIELD_TEXT, .title = "Why not" },
	{ 0 },
};

enum answer swap_is_usable(const struct swap_findings *findings)
{
	bool has_any = swap_findings_have_any(findings);

	return answer_of(has_any || findings->is_complete, !has_any);
}

static const char *answer_text(enum answer usable)
{
	if (usable == ANSWER_UNKNOWN)
		return "unknown: run nocow-check as root";
	return usable == ANSWER_YES ? "yes" : "no";
}

static const struct field usable_fields[] = {
	{ 0, FIELD_ANSWER, .key = "usable",
	  .help = "Whether swapon takes the file; null if this is not known." },
	{ 0 },
};

int swap_report(const struct swap_findings *findings, const char *path, struct output *out)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);
	enum answer usable = swap_is_usable(findings);
	struct rows *rows = NULL;
	int ret, ended;

	record_say(out, "Usable as swap: %s: %s\n", quoted, answer_text(usable));
	json_begin_object(&out->json, "swap");
	record_members(out, usable_fields, &usable);
	ret = rows_new(&rows, out, "obstacles", obstacle_fields, 0);
	for (int i = 0; ret == 0 && i < SWAP_OBSTACLE_COUNT; i++) {
		const struct obstacle_row row = {
			.name = swap_obstacle_name(i),
			.text = obstacle_texts[i],
			.bytes = findings->bytes[i],
			.first = findings->first[i],
			.is_part = findings->bytes[i],
		};

		if (findings->has[i])
			ret = rows_add(rows, &row);
	}
	ended = rows_end(&rows);
	json_end_object(&out->json);
	return ret < 0 ? ret : ended;
}
