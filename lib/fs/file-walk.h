/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_WALK_H
#define FASTPATH_FILE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "path/inode-identity.h"
#include "path/path-node.h"
#include "sys/cleanup.h"

struct file_walk_options {
	/* has the paths of directories and of files that are kept; must outlive both */
	struct path_store *store;
	/* NULL-terminated; must outlive the walk. Not used if LIST is not NULL: then the names are
	 * read from LIST, each with a NUL byte at the end. */
	char *const *paths;
	/* the walk closes it unless it is stdin */
	FILE *list;
	/*
	 * enter directories, but no mount points (unless a directory is mounted on itself), and
	 * follow no symbolic links
	 */
	bool recursive;
	/* do not enter other subvolumes either */
	bool one_subvolume;
	/* read the metadata of the next files and directories ahead, on threads */
	bool read_ahead;
	/*
	 * If not NULL, called with DATA for each directory that the walk enters. A negative errno is
	 * reported for the directory, and the walk goes on in it. ARGUMENT is as in found_file.
	 */
	int (*entered)(void *data, int fd, const struct stat *status, size_t argument);
	void *data;
};

/* A descriptor of the directory in which a file was found, or of a file that the user named. */
struct file_place;

/* A file found; its pointers are valid until the next call. */
struct found_file {
	/* the path of the directory in which it was found; NULL if it was named */
	struct path_node *directory;
	/* within DIRECTORY, or as it was named */
	const char *name;
	/* named by the caller, and not found in a directory */
	bool named;
	/* which one of the options' paths led to it; 0 with a list */
	size_t argument;
	/*
	 * 0, or the negative errno if the file cannot be examined: -ENOTTY if it is not on btrfs,
	 * -ENOENT if it was found in a directory and has vanished, -EXDEV if it is a mount point of
	 * the same file system, which was not entered; -ESTALE if it is a directory that was moved
	 * while those below it were read, and could not be found again
	 */
	int error;
	/* S_IFREG …, as of when it was found */
	mode_t type;
	/* of a file that was found in a directory, which says so */
	ino_t inode;
	/* only for a regular file without an error */
	struct file_place *place;
	/* found for the second time: see file_walk_defer() */
	bool deferred;
	/* of a file that is kept, else NULL */
	struct path_node *path;
};

struct file_walk;

/*
 * Returns 0 or -ENOMEM; freed with file_walk_free(). OPTIONS is copied. The walk takes over its
 * list, also after an error.
 */
int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options);
void file_walk_free(struct file_walk *walk);
DEFINE_FREEP(file_walk_free, struct file_walk)

/*
 * The next file: all that were named, of any kind (a directory only if not recursive), and
 * the regular files in named directories, without a stat() for each. Directories are read and
 * entered by descriptor. So they can be renamed meanwhile, and the walk never leaves the tree. Only
 * the deepest directories are open: the others are found again by "..", or by their names, and must
 * be the same inodes. So memory depends only on the names in the current path.
 * Returns 1, 0 at the end, or a negative errno that ends the walk (-ENOMEM, or the list
 * cannot be read).
 */
int file_walk_next(struct file_walk *walk, struct found_file *ret_file);

/*
 * Whether directories were read whose time of access the kernel can set, which is also a change of their
 * metadata: those of other users than the caller, who is not root.
 */
bool file_walk_can_set_atimes(const struct file_walk *walk);

/*
 * FILE could not be opened, since another process has a lease on it: file_walk_next() finds it once
 * more after all others, as soon as it can be opened. It waits for as long as the kernel lets a
 * process keep a lease, and not longer than two minutes.
 * Returns 0; -EAGAIN if FILE was found for the second time or with an error, or too many are deferred;
 * or -ENOMEM.
 */
int file_walk_defer(struct file_walk *walk, const struct found_file *file);

/*
 * Opens the regular file FILE, which WALK found without an error, for reading. It never opens a
 * device, FIFO or other file that another user than root or the caller put in the place of FILE.
 * Any thread may call this while the walk and the place of FILE exist.
 * Returns a descriptor that the caller closes, with its status, or a negative errno as openat2(2):
 * -ENOENT also if the name now belongs to another file, -EXDEV if it is a mount point of the same
 * file system, -ENODEV if it is one of another file system, -EAGAIN if another process has a lease
 * on it.
 */
int file_walk_open(const struct file_walk *walk, const struct found_file *file,
		   struct stat *ret_status);

/* Whether FILE is another name of one of FILES: it need not be opened. Any thread may call this while FILES stay. */
bool found_file_is_one_of(const struct found_file *file, const struct inode_set *files);

/*
 * The directory that has the regular file FILE, by its inode, and the file's name there, which the
 * caller frees. For a symbolic link that was named it is that of the file to which it leads. STATUS
 * is from file_walk_open().
 * Returns 0 or a negative errno: -ENOENT if a file that was named no longer has this name, or is
 * only mounted there.
 */
int found_file_parent(const struct found_file *file, const struct stat *status, ino_t *ret_parent,
		      char **ret_name);

/*
 * Copies FILE into *RET_KEPT, which stays valid after the next call. It is freed with
 * found_file_drop() before the walk is freed. A place keeps a descriptor open. Both functions may
 * only be called on the thread of the walk.
 * Returns 0 or -ENOMEM.
 */
int found_file_keep(const struct file_walk *walk, const struct found_file *file,
		    struct found_file *ret_kept);
void found_file_drop(struct found_file *kept);

#endif
