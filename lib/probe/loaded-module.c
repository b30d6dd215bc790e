// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/loaded-module.h"
#include "sys/cleanup.h"

/* The first line of a file of the module, cut to SIZE. Returns whether there is such a file. */
static bool read_line(const char *root, const char *name, char *line, size_t size)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int fd = -1;
	ssize_t length;

	if (asprintf(&path, "%s/sys/module/btrfs/%s", root ? root : "", name) < 0) {
		path = NULL;
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		length = read(fd, line, size - 1);
	} while (length < 0 && errno == EINTR);
	line[length < 0 ? 0 : length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

void loaded_module_read(const char *root, struct loaded_module *ret_loaded)
{
	char state[16];

	*ret_loaded = (struct loaded_module){
		.is_loaded = read_line(root, "initstate", state, sizeof(state)),
	};
	/* What is built in can have a version, too. */
	if (ret_loaded->is_loaded)
		read_line(root, "version", ret_loaded->version, sizeof(ret_loaded->version));
}

bool loaded_module_needs_reboot(const struct loaded_module *loaded,
				const struct module_kernel *kernel)
{
	bool is_patched = loaded->version[0] != '\0';

	if (!loaded->is_loaded)
		return false;
	if (kernel->state != MODULE_ACTIVE)
		return is_patched;
	if (!is_patched)
		return true;
	return kernel->version && strcmp(loaded->version, kernel->version) != 0;
}
