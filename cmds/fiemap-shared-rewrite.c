// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fiemap-shared-rewrite.h"
#include "fs/inode-flags.h"
#include "num/saturating.h"
#include "path/trusted-file.h"
#include "sys/cleanup.h"
#include "text/name-escape.h"

static bool is_known(const struct sharing_options *arguments, const struct freed_space *space)
{
	return arguments->rewrite && space && space->has_freed;
}

struct rewrite_row {
	uint64_t copy_bytes;
	int64_t gain_bytes;
};

#define REWRITE(member) offsetof(struct rewrite_row, member)

static const struct field rewrite_fields[] = {
	{ REWRITE(copy_bytes), FIELD_SIZE, .key = "copy_bytes",
	  .help = "The size of the copies on disk." },
	{ REWRITE(gain_bytes), FIELD_SIGNED, .key = "gain_bytes",
	  .help = "What is freed, less the copies; a cost is negative." },
	{ 0 },
};

void fiemap_shared_rewrite_json(struct output *out, const struct sharing_options *arguments,
				const struct sharing *total, const struct freed_space *space)
{
	struct rewrite_row row = { .copy_bytes = total->copy_bytes };

	if (is_known(arguments, space))
		row.gain_bytes = (int64_t)(space->freed_bytes - total->copy_bytes);
	record_object(out, "rewrite", rewrite_fields, is_known(arguments, space) ? &row : NULL);
}

bool fiemap_shared_can_be_copied(int fd, const struct stat *status)
{
	uint32_t flags;

	return status->st_nlink == 1 && inode_flags_of(fd, &flags) == 0 &&
	       !(flags & (INODE_NODATACOW | INODE_IMMUTABLE | INODE_APPEND));
}

static bool is_ours(const struct stat *status)
{
	return status->st_uid == 0 || status->st_uid == geteuid();
}

/*
 * Whether nobody else can replace PATH, absolute and without links, or put something in place of the copy:
 * the command is run later. PATH is changed.
 */
static bool only_we_can_replace(char *path)
{
	struct stat status, directory;
	bool is_copy = true;

	if (stat(path, &status) < 0)
		return false;
	for (char *slash; (slash = strrchr(path, '/')); is_copy = false, status = directory) {
		bool is_top = slash == path;

		slash[is_top] = '\0';
		if (stat(path, &directory) < 0)
			return false;
		/* In a sticky directory nobody else can rename what is ours. */
		if (!directory_is_trusted(&directory) &&
		    (is_copy || !(directory.st_mode & S_ISVTX) || !is_ours(&directory) ||
		     !is_ours(&status)))
			return false;
		if (is_top)
			return true;
	}
	return false;
}

/* Whether nothing has the name of the copy, and PATH is the file itself. */
static bool can_be_replaced(const char *path, const char *new_path)
{
	CLEANUP_FREE char *real_path = realpath(path, NULL);
	struct stat status;

	return real_path && lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       lstat(new_path, &status) < 0 && errno == ENOENT && only_we_can_replace(real_path);
}

/* The kernel says so of a mount and of a subvolume. */
static bool is_read_only(const char *path)
{
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 && errno == EROFS;
}

static void say_command(const struct output *out, const char *path, bool can_be_copied)
{
	CLEANUP_FREE char *new_path = NULL, *file = NULL, *new_file = NULL;

	if (is_read_only(path)) {
		record_say(out,
			   "Commands: none here, where the subvolume or the mount is read-only\n");
		return;
	}
	if (can_be_copied && asprintf(&new_path, "%s.new", path) >= 0 &&
	    can_be_replaced(path, new_path)) {
		file = shell_quote(path);
		new_file = shell_quote(new_path);
	}
	if (file && new_file)
		record_say(out,
			   "Command: cp --preserve=all --reflink=never -- %s %s && mv -- %s %s\n",
			   file, new_file, new_file, file);
	else
		record_say(out,
			   "Commands: see \"Rewrite a file\" in btrfs-inspect-fiemap-shared(8)\n");
}

void fiemap_shared_rewrite_say(const struct output *out, const struct sharing_options *arguments,
			       const struct sharing *total, const struct freed_space *space,
			       bool can_be_copied)
{
	char copy[UNITS_TEXT_SIZE], change[UNITS_TEXT_SIZE];
	uint64_t freed_bytes, copy_bytes = total->copy_bytes;
	bool gains;

	if (!is_known(arguments, space))
		return;
	freed_bytes = space->freed_bytes;
	gains = freed_bytes >= copy_bytes;
	record_say(out, "Rewrite: %s %s, because copies take %s\n", gains ? "gains" : "costs",
		   format_size(change, gains ? freed_bytes - copy_bytes : copy_bytes - freed_bytes,
			       out->sizes),
		   format_size(copy, copy_bytes, out->sizes));
	if (total->shared_bytes)
		record_say(out, "Unshared: %s, which the copies would no longer share\n",
			   format_size(copy, total->shared_bytes, out->sizes));
	/* Less is within what compression and rounding change. */
	if (freed_bytes > saturating_add(copy_bytes, copy_bytes / 100))
		say_command(out, arguments->files.paths[0], can_be_copied);
}
