// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturating-add.h"
#include "fiemap-shared-space.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/progress.h"

bool fiemap_shared_wants_space(const struct arguments *arguments)
{
	return arguments->disk || arguments->freed;
}

int fiemap_shared_space_prepare(struct scan *scan)
{
	int ret;

	if (!fiemap_shared_wants_space(scan->arguments))
		return 0;
	ret = named_set_new(&scan->named, scan->arguments->freed, scan->arguments->disk);
	return ret < 0 ? ret : space_reader_new(&scan->reader);
}

void fiemap_shared_space_release(struct scan *scan)
{
	named_set_free(scan->named);
	space_reader_free(scan->reader);
}

void fiemap_shared_space_ask(const struct scan *scan, struct space_reader *reader, int fd,
			     const struct stat *status, struct space_answer *ret_answer)
{
	*ret_answer = (struct space_answer){ 0 };
	if (scan->named)
		ret_answer->error = named_set_add_file(scan->named, reader, fd, status,
						       scan->arguments->files.range,
						       &ret_answer->space);
}

static void complain_of_privilege(struct scan *scan)
{
	if (!scan->no_space)
		error("--disk and --freed need CAP_SYS_ADMIN (root); the rest of the report needs no privilege");
	scan->no_space = true;
	scan->files.visit.status = STATUS_ERROR;
}

const struct file_space *fiemap_shared_space_count(struct scan *scan, const char *path,
						   const struct space_answer *answer)
{
	if (!scan->named)
		return NULL;
	if (answer->error == -EPERM) {
		complain_of_privilege(scan);
		return NULL;
	}
	if (answer->error < 0) {
		error_path("cannot search the trees for", path, answer->error);
		scan->no_space = true;
		scan->files.visit.status = STATUS_ERROR;
		return NULL;
	}
	scan->inline_disk_bytes = saturating_add(scan->inline_disk_bytes,
						 answer->space.inline_bytes);
	return scan->arguments->disk ? &answer->space : NULL;
}

int fiemap_shared_space_directory(void *data, int fd, const struct stat *status)
{
	struct scan *scan = data;
	int ret;

	if (!scan->named)
		return 0;
	ret = named_set_add_directory(scan->named, scan->reader, fd, status);
	if (ret == -EPERM) {
		complain_of_privilege(scan);
		return 0;
	}
	if (ret < 0)
		scan->no_space = true;
	return ret;
}

int fiemap_shared_space_name(void *data, const struct found_file *found, int fd,
			     const struct stat *status)
{
	struct scan *scan = data;
	CLEANUP_FREE char *name = NULL;
	ino_t parent;
	int ret;

	if (!scan->arguments->freed || status->st_nlink <= 1)
		return 0;
	ret = found_file_parent(found, status, &parent, &name);
	/* The name was deleted in the meantime, or is a mount point: the others decide. */
	if (ret == 0)
		ret = named_set_add_name(scan->named, fd, status, parent, name);
	return ret == -ENOMEM ? ret : 0;
}

/* -- the total -- */

static void report_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	if (progress_due())
		progress_show("references to %" PRIu64 " data extents found", extents_asked);
}

static void report_reading(void *data, uint64_t tree_bytes)
{
	(void)data;
	if (progress_due())
		progress_show("%" PRIu64 " MiB of the subvolumes' metadata read", tree_bytes >> 20);
}

static const struct freed_space_ops freed_ops = {
	.progress = report_progress,
	.reading = report_reading,
};

bool fiemap_shared_space_total(struct scan *scan, struct freed_space *ret_space)
{
	CLEANUP_FREE char *failed_in = NULL;
	int ret;

	if (!scan->named || scan->no_space)
		return false;
	ret = freed_space_find(scan->named, &freed_ops, NULL, ret_space, &failed_in);
	progress_clear();
	if (ret == -EPERM)
		complain_of_privilege(scan);
	else if (ret < 0 && failed_in)
		fiemap_shared_complain_of_sort(scan, "the data extents", failed_in, ret);
	else if (ret < 0) {
		error("cannot find the references to the data extents: %s", strerror(-ret));
		scan->files.visit.status = STATUS_ERROR;
	}
	if (ret < 0)
		return false;
	if (ret_space->incomplete_count)
		warning("%" PRIu64 " data extents have more references than the kernel lists; they "
			"count as kept",
			ret_space->incomplete_count);
	ret_space->disk_bytes = saturating_add(ret_space->disk_bytes, scan->inline_disk_bytes);
	return true;
}
