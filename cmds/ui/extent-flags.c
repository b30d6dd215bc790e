// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/fiemap.h>

#include "ui/extent-flags.h"

static const struct {
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{ FIEMAP_EXTENT_SHARED, "shared" },
	{ FIEMAP_EXTENT_ENCODED, "encoded" },
	{ FIEMAP_EXTENT_UNWRITTEN, "unwritten" },
	{ FIEMAP_EXTENT_DATA_INLINE, "inline" },
	{ FIEMAP_EXTENT_DELALLOC, "delalloc" },
	{ FIEMAP_EXTENT_UNKNOWN, "unknown" },
	{ FIEMAP_EXTENT_NOT_ALIGNED, "not_aligned" },
	{ FIEMAP_EXTENT_DATA_ENCRYPTED, "encrypted" },
	{ FIEMAP_EXTENT_DATA_TAIL, "tail" },
	{ FIEMAP_EXTENT_MERGED, "merged" },
	{ FIEMAP_EXTENT_LAST, "last" },
};

#define FLAG_COUNT (sizeof(flag_names) / sizeof(flag_names[0]))

const char *format_extent_flags(char text[EXTENT_FLAGS_TEXT_SIZE], uint32_t flags)
{
	const char *separator = "";
	char *out = text;

	if (!flags)
		return "-";
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		out = stpcpy(stpcpy(out, separator), flag_names[i].name);
		separator = ",";
		flags &= ~flag_names[i].flag;
	}
	if (flags)
		sprintf(out, "%s0x%" PRIx32, separator, flags);
	return text;
}

void json_add_extent_flags(struct json_writer *json, const char *key, uint32_t flags)
{
	char text[16];

	json_begin_array(json, key);
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (flags & flag_names[i].flag)
			json_add_string(json, NULL, flag_names[i].name);
		flags &= ~flag_names[i].flag;
	}
	if (flags) {
		snprintf(text, sizeof(text), "0x%" PRIx32, flags);
		json_add_string(json, NULL, text);
	}
	json_end_array(json);
}
