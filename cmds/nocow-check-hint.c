// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "fs/inode-flags.h"
#include "nocow-check-hint.h"

/*
 * After a copy that failed, on a full disk for example, FILE must stay. In a compressed directory NEW
 * is compressed, and cannot become NOCOW before it is not.
 */
#define NEW_COPY \
	"touch NEW && chattr -c NEW && chattr +C NEW && cp --preserve=all --reflink=never FILE NEW"
#define COPY "While no program uses FILE: " NEW_COPY " && mv NEW FILE"
/* To move the copy would leave all other names with the old file. */
#define COPY_OF_LINKS                                                                           \
	"FILE has several names, and the copy must get all of them. "                           \
	"List them: find SUBVOLUME -xdev -samefile FILE. While no program uses FILE: " NEW_COPY \
	"; if that succeeds, for each NAME: ln -f NEW NAME; at last: rm NEW"
#define COPY_ELSEWHERE \
	"btrfs subvolume create DIR && chattr -c DIR && chattr +C DIR && cp --preserve=all --reflink=never FILE DIR; and take no snapshots of DIR"

#define NEW_FILE \
	"without NOCOW: only a new file can become NOCOW, without checksums and compression. "
#define OWNERS                                                                                    \
	"shared: see which files share the extents: btrfs-fastpath fiemap-shared --owners FILE. " \
	"Delete them, or make a real copy. "
#define ONLY_COPY "compressed or checksums: only a real copy has neither. "

static const char *const texts[HINT_COUNT] = {
	[HINT_NEW_FILE] = NEW_FILE COPY,
	[HINT_NEW_FILE_OF_LINKS] = NEW_FILE COPY_OF_LINKS,
	[HINT_OTHER_SUBVOLUME] =
		"generation: the next write to each range is copied once after each snapshot. Deleting the snapshot "
		"does not change this. A subvolume without snapshots does: " COPY_ELSEWHERE,
	[HINT_OTHER_SUBVOLUME_AND_COPY] =
		"generation and others: deleting the snapshot does not help, nor does deleting a clone alone. "
		"A real copy in a subvolume without snapshots has none of them: " COPY_ELSEWHERE,
	[HINT_OWNERS] = OWNERS COPY,
	[HINT_OWNERS_OF_LINKS] = OWNERS COPY_OF_LINKS,
	[HINT_COPY] = ONLY_COPY COPY,
	[HINT_COPY_OF_LINKS] = ONLY_COPY COPY_OF_LINKS,
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

static enum nocow_hint hint_of_links(enum nocow_hint hint)
{
	switch (hint) {
	case HINT_NEW_FILE:
		return HINT_NEW_FILE_OF_LINKS;
	case HINT_OWNERS:
		return HINT_OWNERS_OF_LINKS;
	case HINT_COPY:
		return HINT_COPY_OF_LINKS;
	default:
		return hint;
	}
}

/* Of a file that has one name. */
static enum nocow_hint hint_of_file(const struct nocow_file *file, const struct nocow_sums *sums)
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

enum nocow_hint nocow_hint_of(const struct nocow_file *file, const struct nocow_sums *sums)
{
	enum nocow_hint hint = hint_of_file(file, sums);

	return file->link_count > 1 ? hint_of_links(hint) : hint;
}
