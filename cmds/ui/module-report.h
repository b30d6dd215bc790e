/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MODULE_REPORT_H
#define FASTPATH_MODULE_REPORT_H

#include "probe/loaded-module.h"
#include "probe/module-state.h"
#include "ui/record.h"

/* The module manager (see module-state.h), which another package installs. */
extern const char module_manager_path[];

struct module_report {
	struct module_kernels kernels;
	struct loaded_module loaded;
	/* the running kernel, NULL if it is not among KERNELS */
	const struct module_kernel *running;
	bool needs_reboot;
};

/*
 * Asks the manager and the running kernel. Returns as module_kernels_read(), 0 with a report that
 * is freed by module_report_free(). It must not be copied.
 */
int module_report_read(struct module_report *ret_report);
void module_report_free(struct module_report *report);

/* Prints by SAY, which is error_path() or warning_path(), why the manager cannot be run or read. */
void module_report_complain(void (*say)(const char *action, const char *path, int err), int err);

/* JSON: adds "enabled", "loaded", "loaded_version" and "reboot_needed". */
void module_report_members(struct output *out, const struct module_report *report);

/* JSON: adds the object "module", about the running kernel; null if REPORT is NULL. */
void module_report_object(struct output *out, const struct module_report *report);

/* OpenMetrics: what the running kernel has of the package's module. */
void module_report_samples(struct output *out, const struct module_report *report);

#endif
