// SPDX-License-Identifier: GPL-2.0-only
/*
 * A distribution's package installs the front end where no call of btrfs reaches it.
 * These commands make and remove the links by which they do.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "path/own-link.h"
#include "sys/interrupts.h"
#include "ui/front-end.h"
#include "ui/message.h"
#include "ui/record.h"

static error_t parse_enable_option(int key, char *text, struct argp_state *state)
{
	(void)text;
	switch (key) {
	case ARGP_KEY_ARGS:
		return expect_no_arguments(state, state->argc - state->next);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp enable_argp = {
	.parser = parse_enable_option,
	.children = global_argp_children,
	.doc = "Add the commands of btrfs-fastpath to btrfs inspect, with a front end for btrfs. "
	       "Requires root.",
};

static const struct argp disable_argp = {
	.parser = parse_enable_option,
	.children = global_argp_children,
	.doc = "Remove these commands from btrfs inspect. Requires root.",
};

static void report_front_end(const char *command, const struct global_options *global)
{
	static const struct field front_end_fields[] = {
		{ 0, FIELD_TEXT, .key = "front_end",
		  .help = "The front end that calls of btrfs reach, or null." },
		{ 0 },
	};
	const char *front_end = front_end_is_enabled() ? front_end_path : NULL;
	struct output out = output_begin(global);

	record_object(&out, command, front_end_fields, &front_end);
	json_end(&out.json);
}

/* -- enable -- */

/* What an installation has left out. Returns whether all is there. */
static bool check_targets(void)
{
	if (front_end_is_fixed && !front_end_is_enabled()) {
		error_path("is not installed:", front_end_path, 0);
		return false;
	}
	for (size_t i = 0; i < front_end_link_count; i++) {
		const char *target = front_end_links[i].target;
		struct stat status;

		if (stat(target, &status) == 0 && S_ISREG(status.st_mode))
			continue;
		error_path("is not installed:", target, 0);
		return false;
	}
	return true;
}

/* Removes those that were MADE by this call. */
static void remove_links(const bool made[])
{
	for (size_t i = 0; i < front_end_link_count; i++) {
		if (made[i])
			own_link_remove(front_end_links[i].path, front_end_links[i].target,
					front_end_links[i].own_directories);
	}
}

static void complain_of_link(const char *path, int err)
{
	error_path("cannot create the link", path, err);
	if (err == -EEXIST)
		error("not a link of this package: if another btrfs-fastpath made it, uninstall "
		      "that one first");
	else if ((err == -EACCES || err == -EPERM) && geteuid() != 0)
		error("enable requires root");
}

/* The program's link comes last. Returns 0 or a negative errno, and complains. */
static int make_links(void)
{
	bool made[FRONT_END_LINKS_MAX] = { false };

	for (size_t i = front_end_link_count; i-- > 0;) {
		int ret = own_link_make(front_end_links[i].path, front_end_links[i].target);

		if (ret < 0) {
			complain_of_link(front_end_links[i].path, ret);
			remove_links(made);
			return ret;
		}
		made[i] = ret > 0;
	}
	return 0;
}

/* A signal that comes meanwhile ends the program after it. */
static int make_links_undisturbed(void)
{
	struct interrupts interrupts;
	int ret;

	/* Everybody can read what is made. */
	umask(022);
	interrupts_hold(&interrupts);
	ret = make_links();
	interrupts_release(&interrupts);
	return ret;
}

static void print_enabled(const struct global_options *global)
{
	if (global->json) {
		report_front_end("enable", global);
		return;
	}
	if (global->verbosity < 0)
		return;
	if (front_end_is_fixed) {
		printf("The front end was installed as '%s', and is always enabled.\n",
		       front_end_path);
		return;
	}
	printf("'%s' leads to the front end, '%s'.\n", front_end_path, front_end_links[0].target);
	printf("Open shells find it after 'hash -r'. Calls of '%s' still reach btrfs-progs.\n",
	       BTRFS_PROGRAM);
}

int enable_run(int argc, char **argv, struct global_options *global)
{
	if (options_parse(&enable_argp, argc, argv, 0, global))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (!check_targets() || make_links_undisturbed() < 0)
		return STATUS_ERROR;
	print_enabled(global);
	return STATUS_OK;
}

/* -- disable -- */

/* What others put there is left alone. Returns whether it is ours no longer. */
static bool remove_link(const struct front_end_link *link)
{
	int ret = own_link_remove(link->path, link->target, link->own_directories);

	if (ret == -EEXIST) {
		warning("'%s' is not from this package and was not changed", link->path);
		return true;
	}
	if (ret < 0)
		error_path("cannot remove the link", link->path, ret);
	return ret == 0;
}

int disable_run(int argc, char **argv, struct global_options *global)
{
	bool is_removed = true;

	if (options_parse(&disable_argp, argc, argv, 0, global))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (front_end_is_fixed) {
		error("the front end was installed as '%s': uninstall it to have only btrfs-progs",
		      front_end_path);
		return STATUS_ERROR;
	}
	for (size_t i = 0; i < front_end_link_count; i++)
		is_removed &= remove_link(&front_end_links[i]);
	if (!is_removed)
		return STATUS_ERROR;
	if (global->json)
		report_front_end("disable", global);
	else if (global->verbosity >= 0)
		puts("The front end is disabled. Open shells notice it after 'hash -r'.");
	return STATUS_OK;
}
