/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MODULE_STATE_H
#define FASTPATH_MODULE_STATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The state of the patched btrfs module for each installed kernel, as the module manager prints it.
 * That is the program which builds, activates and deactivates the module; it has its own package.
 */
enum module_state {
	/* not built; the kernel's own module is loaded */
	MODULE_STOCK,
	/* built, but not activated */
	MODULE_READY,
	/* built and enabled, but this machine would refuse it: the kernel's own one is loaded */
	MODULE_REFUSED,
	/* it is what is loaded, in the initramfs too */
	MODULE_ACTIVE,
};

struct module_kernel {
	const char *release;
	enum module_state state;
	/* the module's version as it was built, or NULL */
	const char *version;
	/* the reason for the state, or NULL */
	const char *reason;
};

#define MODULE_KERNELS_MAX 256
/* The length of a line, without its end. */
#define MODULE_LINE_MAX 1023

struct module_kernels {
	/* the module shall be used where that is possible, for some kernels at least */
	bool is_enabled;
	/* for each kernel, those too that are installed later */
	bool is_enabled_for_all;
	size_t count;
	struct module_kernel list[MODULE_KERNELS_MAX];
	/* the memory of the strings, NULL after module_kernels_parse() */
	char *text;
};

/* "stock", "ready", "refused" or "active" */
const char *module_state_name(enum module_state state);

/*
 * Parse the SIZE bytes of TEXT, which is the output of the manager's action "status": one line
 * "enabled<TAB>yes|some|no", and a line "kernel<TAB>RELEASE<TAB>STATE<TAB>VERSION<TAB>REASON" for
 * each kernel. VERSION is "-" where there is none, and REASON can be empty. TEXT is changed: the strings
 * of RET_KERNELS are parts of it, with any bytes but NUL, TAB and newline.
 * Returns 0; or -EPROTO if a line has another form or is too long, the last one has no end, there
 * is not one line "enabled", a kernel comes twice, or there are too many of them.
 */
int module_kernels_parse(char *text, size_t size, struct module_kernels *ret_kernels);

/*
 * Run the program MANAGER, and parse what it prints. Its messages go to this process's standard
 * error. Returns 0, then freed by module_kernels_free(); -ENOENT if there is no MANAGER; -EPERM if
 * other users can change it (see trusted_program_check()); -EIO if it failed; -EPROTO as above; or
 * another negative errno, see child_run().
 */
int module_kernels_read(const char *manager, struct module_kernels *ret_kernels);
void module_kernels_free(struct module_kernels *kernels);

/* The kernel RELEASE, or NULL if there is none of this name. */
const struct module_kernel *module_kernels_find(const struct module_kernels *kernels,
						const char *release);

#endif
