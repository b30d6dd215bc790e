// SPDX-License-Identifier: GPL-2.0-only
/* The patched module for the kernels of the distribution. Another package has its manager. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "path/open-beneath.h"
#include "path/trusted-file.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"
#include "sys/interrupts.h"
#include "text/name-escape.h"
#include "ui/message.h"
#include "ui/module-report.h"
#include "ui/record.h"

/* -- options -- */

#define ACTIONS "status, enable or disable"

struct module_arguments {
	struct global_options *global;
	const char *action;
	int action_count;
	/* NULL: all kernels */
	const char *kernel;
};

enum { OPTION_KERNEL = 0x2000 };

static const struct argp_option option_list[] = {
	{ "kernel", OPTION_KERNEL, "RELEASE", 0, "Enable or disable only for this kernel", 1 },
	{ 0 },
};

/* It becomes an argument of the manager, and perhaps a part of a path. */
static error_t parse_release(const char *text, const char **ret_release)
{
	bool is_name = *text && strlen(text) <= NAME_MAX && name_is_plain(text);

	if (!is_name || *text == '-' || strchr(text, '/') || is_dot_dotdot(text)) {
		error_value("invalid value for --kernel:", text, " (expected a name in %s)",
			    "/lib/modules");
		return EINVAL;
	}
	*ret_release = text;
	return 0;
}

static bool is_status(const struct module_arguments *arguments)
{
	return strcmp(arguments->action, "status") == 0;
}

static error_t check_module_arguments(const struct module_arguments *arguments,
				      const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (!arguments->action) {
		error_of(state->name, ACTIONS " expected");
		return EINVAL;
	}
	if (expect_one_argument(state, arguments->action_count))
		return EINVAL;
	if (is_status(arguments) && arguments->kernel) {
		error("--kernel requires enable or disable");
		return EINVAL;
	}
	if (!is_status(arguments) && strcmp(arguments->action, "enable") != 0 &&
	    strcmp(arguments->action, "disable") != 0) {
		error_value("unknown action", arguments->action, " (expected " ACTIONS ")");
		return EINVAL;
	}
	return 0;
}

static error_t parse_module_option(int key, char *text, struct argp_state *state)
{
	struct module_arguments *arguments = state->input;

	switch (key) {
	case OPTION_KERNEL:
		return parse_release(text, &arguments->kernel);
	case ARGP_KEY_ARG:
		arguments->action = text;
		arguments->action_count++;
		return 0;
	case ARGP_KEY_END:
		return check_module_arguments(arguments, state);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_module_option,
	.children = global_argp_children,
	.args_doc = "status|enable|disable",
	.doc = "Show for which kernels the patched btrfs module of the package "
	       "btrfs-fastpath-dkms is built and loaded; or load it, or the stock module, from the "
	       "next boot on. enable and disable require root.",
};

/* -- output -- */

struct kernel_row {
	const char *release;
	enum answer running;
	const char *state;
	const char *version;
	const char *reason;
};

#define KERNEL(member) offsetof(struct kernel_row, member)

/* Reasons are too long for a column. */
static const struct field kernel_fields[] = {
	{ KERNEL(release), FIELD_PATH, .key = "kernel", .title = "Kernel", .width = 16,
	  .help = "Its release." },
	{ KERNEL(running), FIELD_ANSWER, .key = "running", .title = "Running", .width = 7,
	  .help = "Whether it is running." },
	{ KERNEL(state), FIELD_TEXT, .key = "state", .title = "State", .width = 8,
	  .help = "The state of the module for it." },
	{ KERNEL(version), FIELD_TEXT, .key = "version", .title = "Version", .width = 21,
	  .help = "The version of the module that was built for it, or null." },
	{ KERNEL(reason), FIELD_TEXT, .key = "reason",
	  .help = "The reason for the state, or null." },
	{ 0 },
};

static int report_kernels(const struct module_report *report, struct output *out)
{
	struct rows *rows;
	int ret = rows_new(&rows, out, "kernels", kernel_fields, 0);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < report->kernels.count; i++) {
		const struct module_kernel *kernel = &report->kernels.list[i];
		const struct kernel_row row = {
			.release = kernel->release,
			.running = answer_of(true, kernel == report->running),
			.state = module_state_name(kernel->state),
			.version = kernel->version,
			.reason = kernel->reason,
		};

		rows_add(rows, &row);
	}
	return rows_end(&rows);
}

static int say_reasons(const struct module_kernels *kernels, const struct output *out)
{
	for (size_t i = 0; i < kernels->count; i++) {
		CLEANUP_FREE char *release = escape_for_terminal(kernels->list[i].release);
		CLEANUP_FREE char *reason = NULL;

		if (!kernels->list[i].reason)
			continue;
		reason = escape_for_terminal(kernels->list[i].reason);
		if (!release || !reason)
			return -ENOMEM;
		record_say(out, "%s: %s\n", release, reason);
	}
	return 0;
}

static int say_loaded(const struct loaded_module *loaded, const struct output *out)
{
	CLEANUP_FREE char *version = escape_for_terminal(loaded->version);

	if (!version)
		return -ENOMEM;
	if (!loaded->is_loaded)
		record_say(out, "Loaded: none\n");
	else
		record_say(out, "Loaded: %s\n", *version ? version : "the stock module");
	return 0;
}

static const char *enabled_name(const struct module_kernels *kernels)
{
	if (!kernels->is_enabled)
		return "not enabled";
	return kernels->is_enabled_for_all ? "enabled" : "enabled for some kernels";
}

static int print_module(const struct module_report *report, struct output *out)
{
	int ret;

	record_say(out, "Module: %s\n", enabled_name(&report->kernels));
	module_report_members(out, report);
	ret = report_kernels(report, out);
	if (ret == 0)
		ret = say_reasons(&report->kernels, out);
	if (ret == 0)
		ret = say_loaded(&report->loaded, out);
	if (ret == 0 && report->needs_reboot)
		record_say(out, "A reboot is needed to load %s\n",
			   report->running->state == MODULE_ACTIVE ? "the patched module" :
								     "the stock module");
	return ret;
}

/* Returns the exit status. */
static int show(const struct global_options *global)
{
	CLEANUP(module_report_free) struct module_report report = { 0 };
	struct output out;
	int ret;

	ret = module_report_read(&report);
	if (ret < 0) {
		module_report_complain(error_path, ret);
		return STATUS_ERROR;
	}
	out = output_begin(global);
	json_begin_object(&out.json, "module");
	ret = print_module(&report, &out);
	json_end_object(&out.json);
	json_end(&out.json);
	if (ret < 0)
		error("out of memory");
	return ret < 0 ? STATUS_ERROR : STATUS_OK;
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
static int run_to_its_end(const struct module_arguments *arguments, int output,
			  int *ret_wait_status)
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
static int run_manager(const struct module_arguments *arguments)
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

static int change(const struct module_arguments *arguments)
{
	int status, ret;

	ret = trusted_program_check(module_manager_path);
	if (ret < 0) {
		module_report_complain(error_path, ret);
		return STATUS_ERROR;
	}
	if (geteuid() != 0) {
		error("module %s requires root", arguments->action);
		return STATUS_ERROR;
	}
	status = run_manager(arguments);
	if (arguments->global->json && show(arguments->global) != STATUS_OK)
		return STATUS_ERROR;
	return status;
}

int module_run(int argc, char **argv, struct global_options *global)
{
	struct module_arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	return is_status(&arguments) ? show(global) : change(&arguments);
}
