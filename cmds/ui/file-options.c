// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ui/exit-status.h"
#include "ui/file-options.h"
#include "ui/message.h"

enum {
	OPTION_RANGE = 0x3000,
	OPTION_FILES0_FROM,
};

/* Behind the commands' own groups, before the global ones. */
#define GROUP 5

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to look at:", GROUP },
	{ "range", OPTION_RANGE, "OFFSET[:LENGTH]", 0,
	  "Look at this part of each file, without LENGTH to its end; suffixes K, M, G and so on",
	  GROUP },
	{ "recursive", 'r', NULL, 0, "Look at all regular files in directories, within the mount",
	  GROUP },
	{ "one-file-system", 'x', NULL, 0, "With -r, stay within the subvolume", GROUP },
	{ "files0-from", OPTION_FILES0_FROM, "FILE", 0,
	  "Read the paths, each ended by a NUL byte, from FILE (-: standard input)", GROUP },
	{ 0 },
};

static error_t parse_range_option(struct file_options *options, const char *text)
{
	int ret = parse_range(text, &options->range);

	if (ret == 0)
		return 0;
	error_value("invalid range", text, " (expected OFFSET[:LENGTH]%s)",
		    ret == -ERANGE ? " that fits into 64 bits" :
				     ", for example 0:1M, with LENGTH above 0");
	return EINVAL;
}

static error_t check_paths(const struct file_options *options, const struct argp_state *state)
{
	if (options->global->done)
		return 0;
	if (options->files0_from && options->path_count) {
		error("--files0-from cannot be combined with paths");
		return EINVAL;
	}
	if (!options->files0_from && !options->path_count && !options->paths_optional) {
		fprintf(stderr, "%s: at least 1 argument expected, 0 given\n", state->name);
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct file_options *options = state->input;

	switch (key) {
	case OPTION_RANGE:
		return parse_range_option(options, text);
	case 'r':
		options->recursive = true;
		return 0;
	case 'x':
		options->one_file_system = true;
		return 0;
	case OPTION_FILES0_FROM:
		options->files0_from = text;
		return 0;
	case ARGP_KEY_INIT:
		options->range = WHOLE_FILE;
		return 0;
	case ARGP_KEY_ARGS:
		options->paths = state->argv + state->next;
		options->path_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		return check_paths(options, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp file_argp = { .options = option_list, .parser = parse };

const struct argp_child file_argp_children[] = {
	{ &file_argp, 0, NULL, 0 },
	{ &global_argp, 0, NULL, 0 },
	{ 0 },
};

bool file_options_ask_for_any(const struct file_options *options)
{
	return options->files0_from || options->path_count;
}

bool file_options_ask_for_several(const struct file_options *options)
{
	return options->recursive || file_options_can_overlap(options);
}

bool file_options_can_overlap(const struct file_options *options)
{
	return options->files0_from || options->path_count > 1;
}

int file_command_run(const struct argp *argp, int argc, char **argv, file_command *command,
		     void *arguments, const struct file_options *files)
{
	if (options_parse(argp, argc, argv, 0, arguments))
		return STATUS_ERROR;
	if (files->global->done)
		return STATUS_OK;
	return command(arguments);
}

void file_options_complain(const struct file_options *options, int ret)
{
	if (ret < 0 && options->files0_from)
		error_path("cannot read the paths from", options->files0_from, ret);
	else if (ret < 0)
		error("cannot continue: %s", strerror(-ret));
}

static FILE *open_stream(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

/* Without --files0-from the list is NULL. */
static int open_list(const struct file_options *options, FILE **ret_list)
{
	FILE *list = NULL;

	if (options->files0_from) {
		bool is_stdin = strcmp(options->files0_from, "-") == 0;

		list = is_stdin ? stdin : open_stream(options->files0_from);
		if (!list)
			return -errno;
	}

	*ret_list = list;
	return 0;
}

int file_options_walk(const struct file_options *options,
		      int (*entered)(void *data, int fd, const struct stat *status), void *data,
		      struct file_walk **ret_walk)
{
	struct file_walk_options walk_options = {
		.paths = options->paths,
		.recursive = options->recursive,
		.one_subvolume = options->one_file_system,
		.entered = entered,
		.data = data,
	};
	int ret;

	ret = open_list(options, &walk_options.list);
	return ret < 0 ? ret : file_walk_new(ret_walk, &walk_options);
}
