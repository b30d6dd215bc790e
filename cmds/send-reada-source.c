// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "path/mount-point.h"
#include "path/trusted-file.h"
#include "send-reada-source.h"
#include "sys/cleanup.h"
#include "text/name-escape.h"
#include "ui/directory.h"
#include "ui/message.h"

/* Complains, and returns -1. */
static int refuse(const char *what, const char *path, int err)
{
	error_path(what, path, err);
	return -1;
}

static int look_at(struct opened_subvolume *opened)
{
	int ret;

	ret = subvolume_is_root(opened->fd);
	if (ret == 0)
		return refuse("not a subvolume:", opened->path, 0);
	if (ret > 0)
		ret = subvolume_id_of(opened->fd, &opened->subvolid);
	if (ret == 0)
		ret = filesystem_id_of(opened->fd, opened->fsid);
	if (ret == 0)
		ret = subvolume_root_of(opened->fd, opened->subvolid, &opened->root);
	if (ret == -EPERM) {
		error("sending requires CAP_SYS_ADMIN (root); without it only --decode works");
		return -1;
	}
	if (ret < 0)
		return refuse("cannot examine", opened->path, ret);
	return 0;
}

static int open_subvolume(struct opened_subvolume *opened, const char *path)
{
	opened->path = path;
	opened->fd = directory_open(path);
	return opened->fd < 0 ? -1 : look_at(opened);
}

/* It has no name, and a stream needs one. */
static int refuse_top_level(const struct opened_subvolume *opened)
{
	if (opened->subvolid == BTRFS_FS_TREE_OBJECTID)
		return refuse("the top level of a filesystem cannot be sent:", opened->path, 0);
	return 0;
}

/* PATH as one word of a command, followed by BELOW. It is no option if it begins with "-". */
static char *operand(const char *path, const char *below)
{
	CLEANUP_FREE char *name = NULL;

	if (asprintf(&name, "%s%s%s", *path == '-' ? "./" : "", path, below) < 0)
		name = NULL;
	return name ? shell_quote(name) : NULL;
}

/*
 * Only below the subvolume is a place that is on the same file system for sure, and the snapshot
 * does not contain itself. Who can write there could have made a link of this name, which the
 * command would follow.
 */
static char *snapshot_target(const struct opened_subvolume *opened)
{
	const char *path = opened->path;
	bool has_slash = *path && path[strlen(path) - 1] == '/';
	struct stat status;

	if (fstat(opened->fd, &status) < 0 || !directory_is_trusted(&status))
		return strdup("SNAPSHOT");
	return operand(path, has_slash ? "snapshot" : "/snapshot");
}

static bool is_mounted_read_only(const struct opened_subvolume *opened)
{
	struct statvfs filesystem;

	return fstatvfs(opened->fd, &filesystem) == 0 && filesystem.f_flag & ST_RDONLY;
}

/* A command that makes the mount writable, "" if none is needed, or NULL. The caller frees it. */
static char *remount_command(const struct opened_subvolume *opened)
{
	CLEANUP_FREE char *path = NULL, *quoted = NULL;
	char *command;

	if (!is_mounted_read_only(opened))
		return strdup("");
	if (mount_point_of(opened->fd, &path) == 0)
		quoted = shell_quote(path);
	if (!quoted || asprintf(&command, "mount -o remount,rw %s && ", quoted) < 0)
		return NULL;
	return command;
}

/* Names the command that makes what can be sent. */
static int advise_snapshot(const struct opened_subvolume *opened)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(opened->path);
	CLEANUP_FREE char *source = operand(opened->path, "");
	CLEANUP_FREE char *target = snapshot_target(opened);
	CLEANUP_FREE char *remount = remount_command(opened);

	if (!source || !target || !remount)
		return refuse("subvolume is not read-only:", opened->path, 0);
	error("subvolume is not read-only: %s; send a snapshot instead%s: "
	      "%sbtrfs subvolume snapshot -r %s %s",
	      quoted, *remount ? ", which cannot be made while it is mounted read-only" : "",
	      remount, source, target);
	return -1;
}

static int open_subject(struct opened_subvolume *opened, const char *path)
{
	int ret;

	ret = open_subvolume(opened, path);
	if (ret < 0)
		return ret;
	return opened->root.read_only ? refuse_top_level(opened) : advise_snapshot(opened);
}

static int open_beside(struct opened_subvolume *opened, const char *path,
		       const struct opened_subvolume *subvolume)
{
	int ret;

	ret = open_subvolume(opened, path);
	if (ret < 0)
		return ret;
	if (!opened->root.read_only)
		return refuse("subvolume is not read-only:", path, 0);
	if (refuse_top_level(opened) < 0)
		return -1;
	if (memcmp(opened->fsid, subvolume->fsid, FSID_SIZE) != 0)
		return refuse("not on the filesystem of the subvolume to be sent:", path, 0);
	return 0;
}

/* The kernel compares any two, and what is between them in their lineage can be deleted. */
static void warn_of_strangers(const char *subvolume, const char *parent)
{
	CLEANUP_QUOTED_NAME const char *quoted_subvolume = quoted_name(subvolume);
	CLEANUP_QUOTED_NAME const char *quoted_parent = quoted_name(parent);

	warning("by what is still there, %s and %s are not snapshots of one another or of one "
		"origin; the stream can only be received where this parent was received",
		quoted_subvolume, quoted_parent);
}

static int open_parent(struct send_source *source, const char *path)
{
	int ret;

	ret = open_beside(&source->parent, path, &source->subvolume);
	if (ret < 0)
		return ret;
	ret = subvolumes_are_related(source->subvolume.fd, source->subvolume.subvolid,
				     source->parent.subvolid);
	if (ret < 0)
		return refuse("cannot determine the origin of", path, ret);
	if (ret == 0)
		warn_of_strangers(source->subvolume.path, path);
	return 0;
}

static bool same_uuid(const uint8_t *a, const uint8_t *b)
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];

	return memcmp(a, b, SUBVOLUME_UUID_SIZE) == 0 && memcmp(a, none, sizeof(none)) != 0;
}

/* As btrfs send does it: the one that the subvolume is a snapshot of, or the youngest sibling. */
static const struct opened_subvolume *choose_parent(const struct send_source *source)
{
	const struct subvolume_root *root = &source->subvolume.root;
	const struct opened_subvolume *youngest = NULL;

	for (size_t i = 0; i < source->clone_count; i++) {
		const struct opened_subvolume *clone = &source->clones[i];

		if (same_uuid(clone->root.uuid, root->parent_uuid))
			return clone;
		if (same_uuid(clone->root.parent_uuid, root->parent_uuid) &&
		    (!youngest || clone->root.ctransid > youngest->root.ctransid))
			youngest = clone;
	}
	return youngest;
}

static int open_clones(struct send_source *source, const char *const *paths, size_t count)
{
	source->clones = calloc(count + 1, sizeof(*source->clones));
	source->clone_ids = calloc(count + 1, sizeof(*source->clone_ids));
	if (!source->clones || !source->clone_ids) {
		error("out of memory");
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		struct opened_subvolume *clone = &source->clones[source->clone_count++];
		int ret;

		ret = open_beside(clone, paths[i], &source->subvolume);
		if (ret < 0)
			return ret;
		source->clone_ids[i] = clone->subvolid;
	}
	return 0;
}

int send_source_open(struct send_source *source, const char *path, const char *parent,
		     const char *const *clones, size_t clone_count)
{
	const struct opened_subvolume *chosen;

	*source = (struct send_source){ .subvolume.fd = -1, .parent.fd = -1 };
	if (open_subject(&source->subvolume, path) < 0 ||
	    open_clones(source, clones, clone_count) < 0)
		return -1;
	if (parent)
		return open_parent(source, parent);
	if (!source->clone_count)
		return 0;
	chosen = choose_parent(source);
	if (!chosen)
		return refuse("no clone source can be the parent, name one with -p:", path, 0);
	return open_parent(source, chosen->path);
}

void send_source_close(struct send_source *source)
{
	close_fd(&source->subvolume.fd);
	close_fd(&source->parent.fd);
	for (size_t i = 0; i < source->clone_count; i++)
		close_fd(&source->clones[i].fd);
	free(source->clones);
	free(source->clone_ids);
}

struct send_request send_source_request(const struct send_source *source)
{
	bool has_parent = source->parent.fd >= 0;

	/* The parent is a clone source, too; there is room for it behind the others. */
	if (has_parent)
		source->clone_ids[source->clone_count] = source->parent.subvolid;
	return (struct send_request){
		.fd = source->subvolume.fd,
		.parent = has_parent ? source->parent.subvolid : 0,
		.clone_sources = source->clone_ids,
		.clone_count = source->clone_count + has_parent,
	};
}
