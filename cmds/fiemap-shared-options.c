// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "fiemap-shared-options.h"
#include "text/decimal.h"
#include "ui/block-map.h"
#include "ui/message.h"

uint32_t fiemap_shared_argument_count(const struct sharing_options *arguments)
{
	const struct file_options *files = &arguments->files;

	/* The number of paths in a list is not known. */
	return arguments->subvolumes || (arguments->summarize && !files->files0_from &&
					 files->path_count > 1) ?
		       files->path_count :
		       0;
}

bool fiemap_shared_sorts_by(const struct sharing_options *arguments, const char *name)
{
	return arguments->sort.key && strcmp(arguments->sort.key->sort, name) == 0;
}

enum {
	OPTION_COLD = 0x2000,
	OPTION_MAP,
	OPTION_ONLY,
	OPTION_SYNC,
	OPTION_SUBVOLUMES,
	OPTION_DEPTH,
	OPTION_REWRITE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0, "Print a row for each extent", 1 },
	{ "owners", 'o', NULL, 0, "Print the other files with the same data (root)", 1 },
	{ "why", FLAG(struct sharing_options, why), NULL, 0,
	  "Print how the shared check can decide (root)", 1 },
	{ "only", OPTION_ONLY, "shared|exclusive", 0, "Restrict -e, -o and --why to these extents",
	  1 },
	{ "timing", FLAG(struct sharing_options, timing), NULL, 0,
	  "Print the time for mapping and the shared check", 1 },
	{ "cold", OPTION_COLD, NULL, 0, "Like --timing, and first drop all caches (root)", 1 },
	{ "map", OPTION_MAP, "HEIGHT", OPTION_ARG_OPTIONAL,
	  "Draw the file as HEIGHT lines of blocks (1)", 1 },
	{ "disk", FLAG(struct sharing_options, disk), NULL, 0,
	  "Add a column with the size on disk (root)", 1 },
	{ "fragments", FLAG(struct sharing_options, fragments), NULL, 0,
	  "Add columns: pieces on disk, and wasted bytes (root)", 1 },
	{ "rewrite", OPTION_REWRITE, NULL, 0,
	  "Print what copies that replace all files would gain (root)", 1 },
	{ "freed", FLAG(struct sharing_options, freed), NULL, 0,
	  "Print what deleting all files would free (root)", 1 },
	{ "subvolumes", OPTION_SUBVOLUMES, NULL, 0,
	  "Print what was written to each subvolume, and what deleting it frees (root)", 1 },
	{ "groups", FLAG(struct sharing_options, groups), NULL, 0,
	  "Print the sets of files that share data with each other (root)", 1 },
	{ "ignore-snapshots", FLAG(struct sharing_options, ignore_snapshots), NULL, 0,
	  "As if read-only snapshots of the files' subvolumes did not exist (root)", 1 },
	{ "summarize", 's', NULL, 0, "Print only the total, with -o by subvolume", 1 },
	{ "summary", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "depth", OPTION_DEPTH, "N", 0, "With -r: rows for directories, down to level N", 1 },
	{ "sync", OPTION_SYNC, NULL, 0, "Write back the data of each file first", 1 },
	{ 0 },
};

static error_t parse_only(struct sharing_options *arguments, const char *text)
{
	static const char *const words[] = { "shared", "exclusive", NULL };
	int word = parse_word("--only", text, words);

	arguments->only = EXTENTS_SHARED + word;
	return word < 0 ? EINVAL : 0;
}

static bool has_range(const struct sharing_options *arguments)
{
	const struct byte_range range = arguments->files.range;

	return range.offset || range.length != WHOLE_FILE.length;
}

#define DEPTH_MAX 65535

static error_t parse_depth(struct sharing_options *arguments, const char *text)
{
	const char *rest = text;

	arguments->has_depth = true;
	if (decimal_read(&rest, text + strlen(text), &arguments->depth) && !*rest &&
	    arguments->depth <= DEPTH_MAX)
		return 0;
	error_value("invalid value for --depth:", text, " (expected 0 to %d)", DEPTH_MAX);
	return EINVAL;
}

static enum sharing_mode mode_of(const struct sharing_options *arguments)
{
	if (arguments->subvolumes)
		return MODE_SUBVOLUMES;
	if (arguments->summarize && arguments->owners)
		return MODE_OWNERS;
	if (arguments->extents || arguments->owners || arguments->why || arguments->timing ||
	    arguments->map)
		return MODE_DETAILS;
	return MODE_ROWS;
}

/* What asks for files. */
static bool asks_for_files(const struct sharing_options *a)
{
	return a->extents || a->owners || a->why || a->timing || a->map || a->only || a->disk ||
	       a->fragments || a->groups || a->ignore_snapshots || a->fiemap_flags ||
	       a->has_depth || a->files.recursive || a->files.one_file_system ||
	       a->files.files0_from || has_range(a);
}

static error_t check_sharing_options(struct sharing_options *arguments)
{
	const struct sharing_options *a = arguments;
	bool sorts = a->sort.key, summarize = a->summarize;
	bool by_age = fiemap_shared_sorts_by(a, SORT_AGE),
	     by_freed = fiemap_shared_sorts_by(a, SORT_FREED),
	     sorts_files = sorts && !by_age && !by_freed && !fiemap_shared_sorts_by(a, SORT_PATH);
	enum sharing_mode mode = mode_of(a);
	const struct option_rule rules[] = {
		{ a->subvolumes && (asks_for_files(a) || a->sort.top),
		  "--subvolumes can only be combined with --freed, --summarize and --sort" },
		{ a->subvolumes && sorts_files, "--subvolumes sorts only by age, freed or path" },
		{ a->only && !a->extents && !a->owners && !a->why,
		  "--only requires --extents, --owners or --why" },
		{ a->global->metrics && mode != MODE_ROWS && mode != MODE_SUBVOLUMES,
		  "metrics are the sums of all files, without a report on each" },
		{ summarize && (a->extents || a->why || a->timing || a->map),
		  "--summarize cannot be combined with a report on each file" },
		{ sorts && summarize && a->sort.top, "--top cannot be combined with --summarize" },
		{ summarize && sorts_files, "--summarize sorts only by age, freed or path" },
		{ sorts && summarize && a->files.files0_from,
		  "--sort and --summarize require paths as arguments" },
		{ a->ignore_snapshots && mode != MODE_ROWS,
		  "--ignore-snapshots cannot be combined with --owners or a report on each file" },
		{ a->ignore_snapshots && a->rewrite,
		  "--ignore-snapshots cannot be combined with --rewrite" },
		{ a->groups && mode != MODE_ROWS,
		  "--groups cannot be combined with --owners or a report on each file" },
		{ a->groups && has_range(a), "--groups cannot be combined with --range" },
		{ a->groups && !file_options_ask_for_several(&a->files),
		  "--groups requires several files, or --recursive" },
		{ a->rewrite && mode != MODE_ROWS,
		  "--rewrite cannot be combined with --owners or a report on each file" },
		{ a->rewrite && has_range(a), "--rewrite cannot be combined with --range" },
		{ a->fragments && mode != MODE_ROWS,
		  "--fragments cannot be combined with --owners or a report on each file" },
		{ a->fragments && has_range(a), "--fragments cannot be combined with --range" },
		{ !a->fragments && (fiemap_shared_sorts_by(a, SORT_PIECES) ||
				    fiemap_shared_sorts_by(a, SORT_WASTE)),
		  "--sort pieces and --sort waste require --fragments" },
		{ a->has_depth && !a->files.recursive, "--depth requires --recursive" },
		{ a->has_depth && (summarize || mode != MODE_ROWS),
		  "--depth cannot be combined with --summarize or a report on each file" },
		{ sorts && mode == MODE_DETAILS,
		  "--sort and --top cannot be combined with a report on each file" },
		{ by_age && !summarize, "--sort age requires --summarize" },
		{ by_freed && !summarize, "--sort freed requires --summarize" },
		{ by_freed && !a->freed, "--sort freed requires --freed" },
		{ fiemap_shared_sorts_by(a, SORT_DISK) && !a->disk, "--sort disk requires --disk" },
		{ a->freed && has_range(a),
		  "--freed cannot be combined with --range, because files are deleted as a whole" },
		{ 0 },
	};

	arguments->mode = mode;
	if (a->has_depth)
		sort_options_default(&arguments->sort, SORT_PATH);
	arguments->files.is_timed = a->timing;
	return a->global->done ? 0 : check_option_rules(rules);
}

static error_t parse_sharing_option(int key, char *text, struct argp_state *state)
{
	struct sharing_options *arguments = state->input;

	switch (key) {
	case 'e':
		arguments->extents = true;
		return 0;
	case 'o':
		arguments->owners = true;
		return 0;
	case OPTION_COLD:
		arguments->cold = true;
		arguments->timing = true;
		return 0;
	case OPTION_MAP:
		arguments->map = 1;
		return text ? parse_count("--map", text, BLOCK_MAP_HEIGHT_MAX, &arguments->map) : 0;
	case 's':
		arguments->summarize = true;
		return 0;
	case OPTION_SUBVOLUMES:
		arguments->subvolumes = true;
		arguments->freed = true;
		arguments->summarize = true;
		return 0;
	case OPTION_DEPTH:
		return parse_depth(arguments, text);
	case OPTION_REWRITE:
		arguments->rewrite = true;
		arguments->fragments = true;
		arguments->freed = true;
		arguments->fiemap_flags = FIEMAP_FLAG_SYNC;
		return 0;
	case OPTION_ONLY:
		return parse_only(arguments, text);
	case OPTION_SYNC:
		arguments->fiemap_flags = FIEMAP_FLAG_SYNC;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->sort;
		state->child_inputs[1] = &arguments->files;
		state->child_inputs[2] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_sharing_options(arguments);
	default:
		return options_set_flag(key, arguments);
	}
}

const struct argp fiemap_shared_argp = {
	.options = option_list,
	.parser = parse_sharing_option,
	.children = sorted_file_argp_children,
	.args_doc = "PATH...",
	.doc = "Show which data files share, with whom, and what deleting them frees."
	       "Without options, print a row of sums for each file, as btrfs filesystem du "
	       "does, and a total.",
};
