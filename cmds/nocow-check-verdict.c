// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/inode-flags.h"
#include "nocow-check-verdict.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "ui/message.h"
#include "ui/options.h"

bool findings_are_complete(const struct findings *findings)
{
	return findings->file.searchable && !findings->sums.counts[NOCOW_REASON_UNKNOWN];
}

enum nocow_hint findings_hint(const struct findings *findings)
{
	return findings->block ?
		       HINT_NONE :
		       nocow_hint_of(&findings->file, &findings->sums, findings->read_only);
}

#define REASON_NAMES_SIZE 128

/* -- options -- */

error_t check_parse_expect(struct check_options *options, const char *text)
{
	static const char *const words[] = { "always", "directory", NULL };
	int word = text ? parse_word("--expect-nocow", text, words) : 0;

	options->is_refined = true;
	options->expect = EXPECT_ALWAYS + word;
	return word < 0 ? EINVAL : 0;
}

/* Returns whether TEXT is a number up to 100 and a percent sign. */
static bool parse_percent(const char *text, uint64_t *ret_percent)
{
	unsigned long percent;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	percent = strtoul(text, &end, 10);
	if (errno || strcmp(end, "%") != 0 || percent > 100)
		return false;
	*ret_percent = percent;
	return true;
}

error_t check_parse_max_copied(struct check_options *options, const char *text)
{
	size_t length = strlen(text);

	options->is_refined = true;
	options->max_is_percent = parse_percent(text, &options->max_copied);
	if (options->max_is_percent)
		return 0;
	/* Of a bare number nobody knows whether it is percent or bytes. */
	if (length && !isdigit((unsigned char)text[length - 1]) &&
	    parse_size(text, &options->max_copied) == 0)
		return 0;
	error_value("invalid value for --max-copied:", text,
		    " (expected a percentage such as 20%% or a size such as 64M)");
	return EINVAL;
}

/* A file that is NOCOW has one of these if a part of it is copied. */
static bool can_be_ignored(enum nocow_reason reason)
{
	return nocow_reason_fate(reason) == NOCOW_COPIED && reason != NOCOW_REASON_NO_FLAG;
}

static error_t refuse_reason(const char *name)
{
	char known[REASON_NAMES_SIZE] = "";

	for (int i = 0; i < NOCOW_REASON_COUNT; i++) {
		size_t length = strlen(known);

		if (can_be_ignored(i))
			snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "",
				 nocow_reason_name(i));
	}
	error_value("unknown reason", name, " (expected some of: %s)", known);
	return EINVAL;
}

static error_t ignore_reason(struct check_options *options, const char *name)
{
	for (int i = 0; i < NOCOW_REASON_COUNT; i++) {
		if (!can_be_ignored(i) || strcmp(name, nocow_reason_name(i)) != 0)
			continue;
		options->ignored_reasons |= NOCOW_REASON_BIT(i);
		return 0;
	}
	return refuse_reason(name);
}

error_t check_parse_ignored(struct check_options *options, const char *text)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *rest = copy, *name;

	if (!copy) {
		error("out of memory");
		return ENOMEM;
	}
	options->is_refined = true;
	while ((name = strsep(&rest, ","))) {
		error_t ret = ignore_reason(options, name);

		if (ret)
			return ret;
	}
	return 0;
}

/* -- the verdict -- */

bool verdict_alarms(enum check_verdict verdict)
{
	return verdict == VERDICT_COPIED || verdict == VERDICT_NO_FLAG;
}

void verdict_add_range(const struct check_options *options, struct findings *findings,
		       const struct nocow_range *range)
{
	if (nocow_reason_fate(range->reason) != NOCOW_COPIED ||
	    !(range->reasons & ~options->ignored_reasons))
		return;
	findings->counted_bytes = saturating_add(findings->counted_bytes, range->length);
}

/* Whether FINDINGS has more bytes that count than may be copied. What has no blocks is no part of it. */
static bool is_too_much(const struct check_options *options, const struct findings *findings)
{
	const struct nocow_sums *sums = &findings->sums;
	uint64_t most = options->max_copied;
	uint64_t bytes;

	if (options->max_is_percent) {
		bytes = saturating_add(nocow_sums_bytes_of(sums, NOCOW_IN_PLACE),
				       nocow_sums_bytes_of(sums, NOCOW_COPIED));
		bytes = saturating_add(bytes, nocow_sums_bytes_of(sums, NOCOW_UNKNOWN));
		most = mul_div(bytes, options->max_copied, 100);
	}
	return findings->counted_bytes > most;
}

static enum check_verdict judge_nocow_file(const struct check_options *options,
					   const struct findings *findings)
{
	/* FIEMAP does not distinguish reflinks from snapshots. */
	if (options->ignored_reasons && !findings->file.searchable)
		return VERDICT_UNKNOWN;
	if (is_too_much(options, findings))
		return VERDICT_COPIED;
	return findings_are_complete(findings) ? VERDICT_GOOD : VERDICT_UNKNOWN;
}

/* A file that is not NOCOW. Returns 0 or a negative errno. */
static int judge_cow_file(const struct check_options *options, struct findings *findings)
{
	const struct nocow_file *file = &findings->file;
	uint32_t flags;
	int ret;

	if (options->expect == EXPECT_ALWAYS)
		findings->verdict = VERDICT_NO_FLAG;
	if (options->expect != EXPECT_DIRECTORY)
		return 0;
	if (!file->searchable) {
		findings->verdict = VERDICT_UNKNOWN;
		return 0;
	}
	ret = inode_flags_of_parents(file->fd, file->inode, &flags);
	if (ret == 0 && flags & INODE_NODATACOW)
		findings->verdict = VERDICT_NO_FLAG;
	return ret;
}

int verdict_reach(const struct check_options *options, struct findings *findings)
{
	if (!options->check)
		return 0;
	findings->verdict = VERDICT_GOOD;
	if (findings->block)
		return 0;
	if (!(findings->file.inode_flags & INODE_NODATACOW))
		return judge_cow_file(options, findings);
	findings->verdict = judge_nocow_file(options, findings);
	return 0;
}

/* -- telling of it -- */

/* Only what is known. */
static void complain_of_copies(const struct findings *findings, struct size_format format)
{
	const struct nocow_sums *sums = &findings->sums;
	uint64_t unknown_bytes = nocow_sums_bytes_of(sums, NOCOW_UNKNOWN);
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(findings->path);
	char checksums[UNITS_TEXT_SIZE + sizeof(", and  have checksums")] = "";
	char unknown[UNITS_TEXT_SIZE + sizeof(" ( unknown)")] = "";
	char size[UNITS_TEXT_SIZE];

	if (sums->csum_asked_bytes)
		snprintf(checksums, sizeof(checksums), ", and %s have checksums",
			 format_size(size, sums->csum_bytes, format));
	if (unknown_bytes)
		snprintf(unknown, sizeof(unknown), " (%s unknown)",
			 format_size(size, unknown_bytes, format));
	warning("NOCOW file: %s of it would be copied%s%s: %s",
		format_size(size, nocow_sums_bytes_of(sums, NOCOW_COPIED), format), checksums,
		unknown, quoted);
}

static const char *action_of_unknown(const struct findings *findings)
{
	if (findings->tree_error)
		return "cannot check without all trees:";
	return findings->file.searchable || findings->file.is_moving ?
		       "changed while it was checked:" :
		       "cannot check without CAP_SYS_ADMIN (root):";
}

void verdict_complain(const struct check_options *options, const struct findings *findings,
		      struct size_format sizes)
{
	switch (findings->verdict) {
	case VERDICT_COPIED:
		complain_of_copies(findings, sizes);
		return;
	case VERDICT_NO_FLAG:
		warning_path(options->expect == EXPECT_DIRECTORY ?
				     "not a NOCOW file, in a NOCOW directory:" :
				     "not a NOCOW file:",
			     findings->path, 0);
		return;
	case VERDICT_UNKNOWN:
		error_path(action_of_unknown(findings), findings->path, 0);
		return;
	default:
		return;
	}
}
