// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "fs/inode-flags.h"
#include "nocow-check-hint.h"

/* After a copy that failed, on a full disk for example, FILE must stay. */
#define COPY \
	"touch NEW && chattr +C NEW && cp --preserve=all --reflink=never FILE NEW && mv NEW FILE"
#define COPY_ELSEWHERE \
	"btrfs subvolume create DIR && chattr +C DIR && cp --preserve=all --reflink=never FILE DIR; and take no snapshots of DIR"

static const char *const texts[HINT_COUNT] = {
	[HINT_NEW_FILE] =
		"without NOCOW: only a new file can become NOCOW, without checksums and compression. "
		"While no program uses FILE: " COPY,
	[HINT_OTHER_SUBVOLUME] =
		"generation: the next write to each range is copied once after each snapshot. Deleting the snapshot "
		"does not change this. A subvolume without snapshots does: " COPY_ELSEWHERE,
	[HINT_OTHER_SUBVOLUME_AND_COPY] =
		"generation and others: deleting the snapshot does not help, nor does deleting a clone alone. "
		"A real copy in a subvolume without snapshots has none of them: " COPY_ELSEWHERE,
	[HINT_OWNERS] =
		"shared: see which files share the extents: btrfs inspect fiemap-shared --owners FILE. "
		"Delete them, or make a real copy while no program uses FILE: " COPY,
	[HINT_COPY] =
		"compressed or checksums: only a real copy has neither. While no program uses FILE: " COPY,
	[HINT_ROOT] = "unknown: run nocow-check as root, which can tell the reasons",
	[HINT_SYNC] = "delalloc: run nocow-check --sync, which writes the data back first",
};

const char *nocow_hint_text(enum nocow_hint hint)
{
	return texts[hint];
}

static bool has(uint32_t reasons, enum nocow_reason reason)
{
	return reasons & NOCOW_REASON_BIT(reason);
}

/* Of the REASONS for copying a file that is NOCOW. */
static enum nocow_hint hint_of_copies(uint32_t reasons)
{
	bool needs_copy = has(reasons, NOCOW_REASON_COMPRESSED) ||
			  has(reasons, NOCOW_REASON_CHECKSUMS);
	bool is_shared = has(reasons, NOCOW_REASON_SHARED);

	if (has(reasons, NOCOW_REASON_GENERATION))
		return needs_copy || is_shared ? HINT_OTHER_SUBVOLUME_AND_COPY :
						 HINT_OTHER_SUBVOLUME;
	if (needs_copy)
		return HINT_COPY;
	return is_shared ? HINT_OWNERS : HINT_NONE;
}

enum nocow_hint nocow_hint_of(const struct nocow_file *file, const struct nocow_sums *sums)
{
	bool is_copied = nocow_sums_bytes_of(sums, NOCOW_COPIED);

	if (is_copied && !(file->inode_flags & INODE_NODATACOW))
		return HINT_NEW_FILE;
	if (!file->searchable && (is_copied || sums->bytes[NOCOW_REASON_UNKNOWN]))
		return HINT_ROOT;
	if (is_copied)
		return hint_of_copies(sums->reasons);
	return sums->bytes[NOCOW_REASON_DELALLOC] ? HINT_SYNC : HINT_NONE;
}
