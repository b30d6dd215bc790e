// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/utsname.h>

#include "ui/module-report.h"

const char module_manager_path[] = MODULE_MANAGER;

int module_report_read(struct module_report *ret_report)
{
	struct utsname kernel;
	int ret;

	/* Were it ignored, as a parent may have left it, the exit status would be lost. */
	signal(SIGCHLD, SIG_DFL);
	ret = module_kernels_read(module_manager_path, &ret_report->kernels);
	if (ret < 0)
		return ret;
	uname(&kernel);
	loaded_module_read(NULL, &ret_report->loaded);
	ret_report->running = module_kernels_find(&ret_report->kernels, kernel.release);
	ret_report->needs_reboot = ret_report->running &&
				   loaded_module_needs_reboot(&ret_report->loaded,
							      ret_report->running);
	return 0;
}

void module_report_free(struct module_report *report)
{
	module_kernels_free(&report->kernels);
}

void module_report_complain(void (*say)(const char *action, const char *path, int err), int err)
{
	switch (err) {
	case -ENOENT:
		say("the package btrfs-fastpath-dkms is not installed: cannot find",
		    module_manager_path, 0);
		break;
	case -EPERM:
		say("refusing to run a file that other users can modify:", module_manager_path, 0);
		break;
	case -EIO:
		say("failed:", module_manager_path, 0);
		break;
	case -EPROTO:
		say("unexpected output of", module_manager_path, 0);
		break;
	default:
		say("cannot run", module_manager_path, err);
	}
}

static const char *loaded_name(const struct loaded_module *loaded)
{
	if (!loaded->is_loaded)
		return "none";
	return loaded->version[0] ? "patched" : "stock";
}

void module_report_json(struct json_writer *json, const struct module_report *report)
{
	const struct loaded_module *loaded = &report->loaded;

	json_add_bool(json, "enabled", report->kernels.is_enabled);
	json_add_bool(json, "enabled_for_all", report->kernels.is_enabled_for_all);
	json_add_string(json, "loaded", loaded_name(loaded));
	json_add_string(json, "loaded_version", loaded->version[0] ? loaded->version : NULL);
	json_add_bool(json, "reboot_needed", report->needs_reboot);
}
