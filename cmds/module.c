// SPDX-License-Identifier: GPL-2.0-only
/* The patched module for the kernels of the distribution, of which another package has the manager. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child-process.h"
#include "base/cleanup.h"
#include "base/interrupts.h"
#include "base/name-escape.h"
#include "base/trusted-program.h"
#include "commands.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/module-report.h"
#include "ui/table.h"

/* -- options -- */

#define ACTIONS "status, enable or disable"

struct arguments {
	struct global_options *global;
	const char *action;
	int action_count;
	/* NULL: all kernels */
	const char *kernel;
};

enum { OPTION_KERNEL = 0x2000 };

static const struct argp_option option_list[] = {
	{ "kernel", OPTION_KERNEL, "RELEASE", 0, "Enable or disable it for this kernel alone", 1 },
	{ 0 },
};

/* It becomes an argument of the manager, and perhaps a part of a path. */
static error_t parse_release(const char *text, const char **ret_release)
{
	bool is_name = *text && strlen(text) <= NAME_MAX && name_is_plain(text);

	if (!is_name || *text == '-' || strchr(text, '/') || strcmp(text, ".") == 0 ||
	    strcmp(text, "..") == 0) {
		error_value("invalid value for --kernel:", text, " (expected a name in %s)",
			    "/lib/modules");
		return EINVAL;
	}
	*ret_release = text;
	return 0;
}

static bool is_status(const struct arguments *arguments)
{
	return strcmp(arguments->action, "status") == 0;
}

static error_t check_arguments(const struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (!arguments->action) {
		fprintf(stderr, "%s: " ACTIONS " expected\n", state->name);
		return EINVAL;
	}
	if (expect_one_argument(state, arguments->action_count))
		return EINVAL;
	if (is_status(arguments) && arguments->kernel) {
		error("--kernel needs enable or disable");
		return EINVAL;
	}
	if (!is_status(arguments) && strcmp(arguments->action, "enable") != 0 &&
	    strcmp(arguments->action, "disable") != 0) {
		error_value("unknown action", arguments->action, " (expected " ACTIONS ")");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_KERNEL:
		return parse_release(text, &arguments->kernel);
	case ARGP_KEY_ARG:
		arguments->action = text;
		arguments->action_count++;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments, state);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "status|enable|disable",
	.doc = "Show for which kernels the patched btrfs module of the package "
	       "btrfs-fastpath-dkms is built and loaded; have it loaded from the next boot on, or "
	       "the stock module. enable and disable need root.",
};

/* -- how it is told -- */

static const struct table_column columns[] = {
	{ "Kernel", 16, true },
	{ "Running", 7, true },
	{ "State", 8, true },
	{ "Version", 21, true },
};

static int print_kernels(const struct module_report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, columns);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < report->kernels.count; i++) {
		const struct module_kernel *kernel = &report->kernels.list[i];

		table_begin_row(table);
		table_cell(table, kernel->release);
		table_cell(table, kernel == report->running ? "yes" : "no");
		table_cell(table, module_state_name(kernel->state));
		table_cell(table, kernel->version ? kernel->version : "-");
	}
	return table_finish(table);
}

/* Sentences are too long for a column. */
static int print_reasons(const struct module_kernels *kernels)
{
	for (size_t i = 0; i < kernels->count; i++) {
		CLEANUP_FREE char *release = escape_name(kernels->list[i].release);
		CLEANUP_FREE char *reason = NULL;

		if (!kernels->list[i].reason)
			continue;
		reason = escape_name(kernels->list[i].reason);
		if (!release || !reason)
			return -ENOMEM;
		printf("%s: %s\n", release, reason);
	}
	return 0;
}

static int print_loaded(const struct loaded_module *loaded)
{
	CLEANUP_FREE char *version = escape_name(loaded->version);

	if (!version)
		return -ENOMEM;
	if (!loaded->is_loaded)
		puts("Loaded: none");
	else
		printf("Loaded: %s\n", *version ? version : "the stock module");
	return 0;
}

static const char *enabled_name(const struct module_kernels *kernels)
{
	if (!kernels->is_enabled)
		return "not enabled";
	return kernels->is_enabled_for_all ? "enabled" : "enabled for some kernels";
}

static int print_report(const struct module_report *report)
{
	int ret;

	printf("Module: %s\n", enabled_name(&report->kernels));
	ret = print_kernels(report);
	if (ret == 0)
		ret = print_reasons(&report->kernels);
	if (ret == 0)
		ret = print_loaded(&report->loaded);
	if (ret == 0 && report->needs_reboot)
		printf("A reboot is needed to load %s\n", report->running->state == MODULE_ACTIVE ?
								  "the patched module" :
								  "the stock module");
	return ret;
}

static void json_report(const struct module_report *report, enum json_style style)
{
	struct json_writer json;

	json_begin(&json, stdout, style);
	json_begin_object(&json, "module");
	module_report_json(&json, report);
	json_begin_array(&json, "kernels");
	for (size_t i = 0; i < report->kernels.count; i++) {
		const struct module_kernel *kernel = &report->kernels.list[i];

		json_begin_object(&json, NULL);
		json_add_name(&json, "kernel", kernel->release);
		json_add_bool(&json, "running", kernel == report->running);
		module_report_json_kernel(&json, kernel);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_end(&json);
}

/* Returns the exit status. */
static int show(const struct global_options *global)
{
	CLEANUP(module_report_free) struct module_report report = { 0 };
	int ret;

	ret = module_report_read(&report);
	if (ret < 0) {
		module_report_complain(error_path, ret);
		return STATUS_ERROR;
	}
	if (global->json) {
		json_report(&report, global->json_style);
	} else if (print_report(&report) < 0) {
		error("out of memory");
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

/* -- enable and disable -- */

/* Where the manager's standard output goes: JSON is this program's own. Returns a descriptor. */
static int open_output(const struct global_options *global)
{
	if (global->verbosity < 0)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	return global->json ? STDERR_FILENO : STDOUT_FILENO;
}

/* The program ends by a signal that came meanwhile, after the manager. */
static int run_to_its_end(const struct arguments *arguments, int output, int *ret_wait_status)
{
	char *const argv[] = {
		(char *)module_manager_path,
		(char *)arguments->action,
		(char *)arguments->kernel,
		NULL,
	};
	struct interrupts interrupts;
	int ret;

	signal(SIGCHLD, SIG_DFL);
	interrupts_hold(&interrupts);
	ret = child_run_held(module_manager_path, argv, output, &interrupts, ret_wait_status);
	interrupts_release(&interrupts);
	return ret;
}

/* Returns the exit status. The manager says itself what it could not do. */
static int run_manager(const struct arguments *arguments)
{
	int output = open_output(arguments->global);
	int wait_status, ret;

	ret = output < 0 ? -errno : run_to_its_end(arguments, output, &wait_status);
	if (output > STDERR_FILENO)
		close(output);
	if (ret == 0 && !WIFEXITED(wait_status))
		ret = -EIO;
	if (ret < 0) {
		module_report_complain(error_path, ret);
		return STATUS_ERROR;
	}
	return WEXITSTATUS(wait_status) == 0 ? STATUS_OK : STATUS_ERROR;
}

static int change(const struct arguments *arguments)
{
	int status, ret;

	ret = trusted_program_check(module_manager_path);
	if (ret < 0) {
		module_report_complain(error_path, ret);
		return STATUS_ERROR;
	}
	if (geteuid() != 0) {
		error("module %s needs root", arguments->action);
		return STATUS_ERROR;
	}
	status = run_manager(arguments);
	if (arguments->global->json && show(arguments->global) != STATUS_OK)
		return STATUS_ERROR;
	return status;
}

int module_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	return is_status(&arguments) ? show(global) : change(&arguments);
}
