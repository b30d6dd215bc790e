// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "path/own-link.h"
#include "path/parent-directory.h"
#include "sys/cleanup.h"

static int look_in(int directory, const char *name, const char *target,
		   enum own_link_state *ret_state)
{
	char found[PATH_MAX];
	ssize_t length;

	length = readlinkat(directory, name, found, sizeof(found));
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

int own_link_look(const char *path, const char *target, enum own_link_state *ret_state)
{
	CLEANUP_CLOSE int directory = parent_directory_open(path);

	if (directory >= 0)
		return look_in(directory, path_last_component(path), target, ret_state);
	if (directory != -ENOENT)
		return directory;
	*ret_state = OWN_LINK_ABSENT;
	return 0;
}

int own_link_make(const char *path, const char *target)
{
	CLEANUP_CLOSE int directory = parent_directory_make(path);
	const char *name = path_last_component(path);
	enum own_link_state state;
	int ret;

	if (directory < 0)
		return directory;
	if (symlinkat(target, directory, name) == 0)
		return 1;
	if (errno != EEXIST)
		return -errno;
	ret = look_in(directory, name, target, &state);
	if (ret < 0)
		return ret;
	return state == OWN_LINK_PRESENT ? 0 : -EEXIST;
}

/* Others may have put something there, or removed it. */
static void remove_empty_above(const char *path, unsigned int directories)
{
	CLEANUP_FREE char *above = strdup(path);

	while (above && directories--) {
		CLEANUP_CLOSE int directory = -1;
		char *end = strrchr(above, '/');

		if (!end || end == above)
			return;
		*end = '\0';
		directory = parent_directory_open(above);
		if (directory < 0 ||
		    unlinkat(directory, path_last_component(above), AT_REMOVEDIR) < 0)
			return;
	}
}

/* Returns 1 if there was one. */
static int remove_from(int directory, const char *name, const char *target)
{
	enum own_link_state state;
	int ret;

	ret = look_in(directory, name, target, &state);
	if (ret < 0 || state == OWN_LINK_ABSENT)
		return ret;
	if (state == OWN_LINK_TAKEN)
		return -EEXIST;
	if (unlinkat(directory, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return 1;
}

int own_link_remove(const char *path, const char *target, unsigned int directories)
{
	CLEANUP_CLOSE int directory = parent_directory_open(path);
	int ret;

	/* Where a file is in the place of a directory, there is no link either. */
	if (directory == -ENOENT || directory == -ENOTDIR)
		return 0;
	if (directory < 0)
		return directory;
	ret = remove_from(directory, path_last_component(path), target);
	if (ret > 0)
		remove_empty_above(path, directories);
	return ret < 0 ? ret : 0;
}
