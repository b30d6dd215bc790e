/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPEN_BENEATH_H
#define FASTPATH_OPEN_BENEATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>

/* Whether NAME is "." or "..", which every directory has. */
static inline bool is_dot_dotdot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Opens NAME, a single name, in the directory of the descriptor DIRECTORY, with FLAGS as for
 * open(2), even if the directory is moved meanwhile. Never follows a symbolic link and never enters
 * another mount (a subvolume is not a mount). Uses openat2(2), or openat(2) if that is missing or
 * forbidden.
 * Returns a descriptor that the caller closes, or a negative errno: -EXDEV for another mount and
 * nothing else, -ELOOP for a symbolic link (unless FLAGS have O_PATH: then the link itself is
 * opened), -EINVAL if NAME is empty, ".", "..", or has a slash, or as open(2).
 */
int open_beneath(int directory, const char *name, int flags);

/*
 * As open_beneath(), but returns -ENOSYS if openat2(2) is missing or forbidden, because openat(2)
 * opens a file on another mount before this can be noticed.
 */
int open_beneath_at_once(int directory, const char *name, int flags);

/*
 * The directory /proc/self/fd, for reopen_for_reading(). Returns a descriptor that the caller
 * closes, or a negative errno; -ENOENT also if /proc is not proc(5).
 */
int open_own_descriptors(void);

/*
 * Opens the file of PATH_FD for reading, even if its name now belongs to another file. PATH_FD was
 * opened with O_PATH; OWN_DESCRIPTORS is from open_own_descriptors(). Does not wait for the end of
 * a lease on the file.
 * Returns a descriptor that the caller closes, or a negative errno as open(2).
 */
int reopen_for_reading(int own_descriptors, int path_fd);

/* Opens the directory NAME in DIRECTORY. Returns a descriptor or a negative errno. */
typedef int open_component(int directory, const char *name, void *data);

/*
 * Opens the directory PATH. OPEN_ONE, which gets DATA, opens one name at a time in the directory
 * opened before; the first name in START. START is closed. A "/" at the begin of PATH is ignored:
 * every path begins in START.
 * Returns a descriptor that the caller closes, START itself if PATH has no name; or a negative
 * errno, that of START if it is one, -ENOMEM, or the first that OPEN_ONE returned.
 */
int open_components(int start, const char *path, open_component *open_one, void *data);

/* Whether the type is MAGIC, of linux/magic.h. With 32 bits f_type is negative for some types. */
static inline bool filesystem_has_type(const struct statfs *filesystem, uint32_t magic)
{
	return (uint32_t)filesystem->f_type == magic;
}

#endif
