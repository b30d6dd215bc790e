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

static const struct metric module_metric = {
	"btrfs_fastpath_module", METRIC_INFO, NULL,
	"The patched module that the package has for the running kernel."
};
static const struct metric reboot_metric = {
	"btrfs_fastpath_module_reboot_needed", METRIC_GAUGE, NULL,
	"Whether the next boot loads another btrfs module than the running kernel has."
};

struct module_row {
	bool enabled;
	bool enabled_for_all;
	const char *loaded;
	const char *loaded_version;
	bool reboot_needed;
	/* of the running kernel; NULL if it is not known */
	const char *state;
	const char *version;
	const char *reason;
};

#define MODULE(member) offsetof(struct module_row, member)

static const struct field module_fields[] = {
	{ MODULE(enabled), FIELD_BOOL, .key = "enabled",
	  .help = "Whether the patched module is enabled, for some kernels at least." },
	{ MODULE(enabled_for_all), FIELD_BOOL, .key = "enabled_for_all",
	  .help = "Whether it is enabled for all kernels, and for those installed later." },
	{ MODULE(loaded), FIELD_TEXT, .key = "loaded",
	  .help = "What the running kernel has loaded; none if btrfs is not loaded, or is built into the kernel." },
	{ MODULE(loaded_version), FIELD_TEXT, .key = "loaded_version",
	  .help = "The version of the patched module that is loaded, or null." },
	{ MODULE(reboot_needed), FIELD_BOOL, .key = "reboot_needed", .metric = &reboot_metric,
	  .help = "Whether a boot of the running kernel would load another module." },
	{ 0 },
};

static const struct field running_fields[] = {
	{ MODULE(state), FIELD_TEXT, .key = "state", .metric = &module_metric,
	  .label.name = "state",
	  .help = "Its state for the running kernel; null if the package does not know this kernel." },
	{ MODULE(version), FIELD_TEXT, .key = "version", .label.name = "version",
	  .help = "The version that was built for this kernel, or null." },
	{ MODULE(reason), FIELD_TEXT, .key = "reason",
	  .help = "The reason for the state, or null." },
	{ 0 },
};

static struct module_row module_row_of(const struct module_report *report)
{
	const struct loaded_module *loaded = &report->loaded;
	const struct module_kernel *running = report->running;

	return (struct module_row){
		.enabled = report->kernels.is_enabled,
		.enabled_for_all = report->kernels.is_enabled_for_all,
		.loaded = loaded_name(loaded),
		.loaded_version = loaded->version[0] ? loaded->version : NULL,
		.reboot_needed = report->needs_reboot,
		.state = running ? module_state_name(running->state) : NULL,
		.version = running ? running->version : NULL,
		.reason = running ? running->reason : NULL,
	};
}

void module_report_members(struct output *out, const struct module_report *report)
{
	const struct module_row row = module_row_of(report);

	record_members(out, module_fields, &row);
}

void module_report_object(struct output *out, const struct module_report *report)
{
	struct module_row row;

	if (!report) {
		record_object(out, "module", module_fields, NULL);
		return;
	}
	row = module_row_of(report);
	json_begin_object(&out->json, "module");
	record_members(out, module_fields, &row);
	record_members(out, running_fields, &row);
	json_end_object(&out->json);
}

void module_report_samples(struct output *out, const struct module_report *report)
{
	struct module_row row = module_row_of(report);

	/* A label is never missing. */
	if (!row.version)
		row.version = "";
	record_samples(out, module_fields, &row);
	record_samples(out, running_fields, &row);
}
