// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own-link.h"

int own_link_look(const char *path, const char *target, enum own_link_state *ret_state)
{
	char found[PATH_MAX];
	ssize_t length;

	length = readlink(path, found, sizeof(found));
	if (length >= 0) {
		bool is_ours = (size_t)length == strlen(target) &&
			       memcmp(found, target, length) == 0;

		*ret_state = is_ours ? OWN_LINK_PRESENT : OWN_LINK_TAKEN;
		return 0;
	}
	switch (errno) {
	case ENOENT:
		*ret_state = OWN_LINK_ABSENT;
		return 0;
	case EINVAL:
		*ret_state = OWN_LINK_TAKEN;
		return 0;
	default:
		return -errno;
	}
}

/* Whatever the umask is. */
static int make_directory(const char *path)
{
	if (mkdir(path, 0755) == 0)
		return chmod(path, 0755) < 0 ? -errno : 0;
	return errno == EEXIST ? 0 : -errno;
}

static int make_directories_above(const char *path)
{
	CLEANUP_FREE char *above = strdup(path);

	if (!above)
		return -ENOMEM;
	for (char *end = strchr(above + 1, '/'); end; end = strchr(end + 1, '/')) {
		int ret;

		*end = '\0';
		ret = make_directory(above);
		if (ret < 0)
			return ret;
		*end = '/';
	}
	return 0;
}

int own_link_make(const char *path, const char *target)
{
	enum own_link_state state;
	int ret;

	ret = own_link_look(path, target, &state);
	if (ret < 0 || state == OWN_LINK_PRESENT)
		return ret;
	if (state == OWN_LINK_TAKEN)
		return -EEXIST;
	ret = make_directories_above(path);
	if (ret < 0)
		return ret;
	return symlink(target, path) < 0 ? -errno : 0;
}

/* Others may have put something there, or removed it. */
static void remove_empty_above(const char *path, unsigned int directories)
{
	CLEANUP_FREE char *above = strdup(path);

	while (above && directories--) {
		char *end = strrchr(above, '/');

		if (!end || end == above)
			return;
		*end = '\0';
		if (rmdir(above) < 0)
			return;
	}
}

int own_link_remove(const char *path, const char *target, unsigned int directories)
{
	enum own_link_state state;
	int ret;

	ret = own_link_look(path, target, &state);
	if (ret < 0 || state == OWN_LINK_ABSENT)
		return ret;
	if (state == OWN_LINK_TAKEN)
		return -EEXIST;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	remove_empty_above(path, directories);
	return 0;
}
