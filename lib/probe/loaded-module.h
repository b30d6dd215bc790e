/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOADED_MODULE_H
#define FASTPATH_LOADED_MODULE_H

#include <stdbool.h>

#include "probe/module-state.h"

#define MODULE_VERSION_SIZE 128

struct loaded_module {
	/* false if btrfs is built into the kernel, too */
	bool is_loaded;
	/* "" if it has none, as the kernel's own one */
	char version[MODULE_VERSION_SIZE];
};

/*
 * Which btrfs module the running kernel has loaded. If ROOT is not NULL it is put before /sys. A
 * longer version is cut.
 * Rests on /sys/module/btrfs, where initstate is only of a module that was loaded.
 */
void loaded_module_read(const char *root, struct loaded_module *ret_loaded);

/* Whether something else was LOADED than what a boot of this KERNEL, which runs, would load. */
bool loaded_module_needs_reboot(const struct loaded_module *loaded,
				const struct module_kernel *kernel);

#endif
