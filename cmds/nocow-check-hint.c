// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>

#include "fs/inode-flags.h"
#include "nocow-check-hint.h"

#define PAGE "btrfs-inspect-nocow-check(8)"

/* The commands are in the page; the tests run them from there. */
static const char *const texts[HINT_COUNT] = {
	[HINT_COPY] = "copied: see \"Make a NOCOW copy\" in " PAGE,
	[HINT_COPY_OF_LINKS] = "copied: see \"Copy a file with hard links\" in " PAGE,
	[HINT_SUBVOLUME] = "generation: see \"Copy to a new subvolume\" in " PAGE,
	[HINT_ROOT] = "not all reasons are known: run nocow-check as root",
	[HINT_SYNC] = "delalloc: run nocow-check --sync, which writes the data back first",
	[HINT_MOUNT] = "mounted read-only: only a writable mount allows what helps",
};

const char *nocow_hint_text(enum nocow_hint hint)
{
	return texts[hint];
}

static enum nocow_hint hint_if_writable(const struct nocow_file *file,
					const struct nocow_sums *sums)
{
	enum nocow_hint copy = file->link_count > 1 ? HINT_COPY_OF_LINKS : HINT_COPY;
	bool is_copied = nocow_sums_bytes_of(sums, NOCOW_COPIED);

	if (is_copied && !(file->inode_flags & INODE_NODATACOW))
		return copy;
	if (!file->searchable && (is_copied || sums->bytes[NOCOW_REASON_UNKNOWN]))
		return HINT_ROOT;
	if (is_copied)
		return sums->reasons & NOCOW_REASON_BIT(NOCOW_REASON_GENERATION) ? HINT_SUBVOLUME :
										   copy;
	return sums->bytes[NOCOW_REASON_DELALLOC] ? HINT_SYNC : HINT_NONE;
}

enum nocow_hint nocow_hint_of(const struct nocow_file *file, const struct nocow_sums *sums,
			      bool read_only)
{
	enum nocow_hint hint = hint_if_writable(file, sums);

	return read_only && hint != HINT_NONE && hint != HINT_ROOT ? HINT_MOUNT : hint;
}
