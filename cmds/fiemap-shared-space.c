// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fiemap-shared-space.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "sys/stop-request.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/progress.h"

static bool wants_space(const struct sharing_options *arguments)
{
	return arguments->disk || arguments->freed;
}

int fiemap_shared_space_prepare(struct sharing_scan *scan)
{
	int ret;

	if (!wants_space(scan->arguments))
		return 0;
	ret = named_set_new(&scan->named, scan->arguments->freed, scan->arguments->disk,
			    fiemap_shared_argument_count(scan->arguments));
	if (ret < 0)
		return ret;
	scan->named->measures_written = scan->arguments->subvolumes;
	return space_reader_new(&scan->reader);
}

void fiemap_shared_space_release(struct sharing_scan *scan)
{
	named_set_free(scan->named);
	scan->named = NULL;
	space_reader_free(scan->reader);
	scan->reader = NULL;
}

void fiemap_shared_space_ask(const struct sharing_scan *scan, struct space_reader *reader, int fd,
			     const struct stat *status, bool is_repeated, size_t argument,
			     struct space_answer *ret_answer)
{
	const struct sharing_options *arguments = scan->arguments;

	*ret_answer = (struct space_answer){ 0 };
	if (!scan->named)
		return;
	if (arguments->fiemap_flags & FIEMAP_FLAG_SYNC && !is_repeated)
		ret_answer->error = fiemap_sync(fd);
	if (ret_answer->error == 0)
		ret_answer->error = named_set_add_file(scan->named, reader, fd, status, is_repeated,
						       argument, arguments->files.range,
						       &ret_answer->space);
}

static void complain_of_privilege(struct sharing_scan *scan)
{
	if (!scan->no_space && scan->arguments->subvolumes)
		error("--subvolumes requires CAP_SYS_ADMIN (root)");
	else if (!scan->no_space)
		error("--disk and --freed require CAP_SYS_ADMIN (root); the rest of the report does not");
	scan->no_space = true;
	scan->files.status = STATUS_ERROR;
}

const struct file_space *fiemap_shared_space_count(struct sharing_scan *scan, const char *path,
						   const struct space_answer *answer)
{
	if (!scan->named)
		return NULL;
	if (answer->error == -EPERM) {
		complain_of_privilege(scan);
		return NULL;
	}
	if (answer->error < 0) {
		/* Another look repeats the errors of the first one. */
		if (!scan->files.is_silent || !scan->no_space)
			error_path("cannot search the trees for", path, answer->error);
		scan->no_space = true;
		scan->files.status = STATUS_ERROR;
		return NULL;
	}
	scan->inline_disk_bytes = saturating_add(scan->inline_disk_bytes,
						 answer->space.inline_bytes);
	return scan->arguments->disk ? &answer->space : NULL;
}

int fiemap_shared_space_directory(void *data, int fd, const struct stat *status, size_t argument)
{
	struct relocation_watch *watch;
	struct sharing_scan *scan = data;
	int ret;

	if (!scan->named || !named_set_takes_directory(scan->named, status))
		return 0;
	ret = fiemap_shared_watch(scan, fd, status, &watch);
	if (ret == 0)
		ret = named_set_add_directory(scan->named, fd, status, argument);
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
	struct sharing_scan *scan = data;
	CLEANUP_FREE char *name = NULL;
	ino_t parent;
	int ret;

	if (!scan->arguments->freed || status->st_nlink <= 1)
		return 0;
	ret = found_file_parent(found, status, &parent, &name);
	/* The name was deleted in the meantime, or is a mount point: the others decide. */
	if (ret == 0)
		ret = named_set_add_name(scan->named, fd, status, found->argument, parent, name);
	return ret == -ENOMEM ? ret : 0;
}

/* -- the total -- */

static int report_space_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	if (progress_due())
		progress_show("references to %" PRIu64 " data extents found", extents_asked);
	return stop_requested() ? -EINTR : 0;
}

static int report_reading(void *data, uint64_t extents_read)
{
	(void)data;
	if (progress_due())
		progress_show("%" PRIu64 " extents of whole subvolumes read", extents_read);
	return stop_requested() ? -EINTR : 0;
}

static const struct freed_space_ops freed_ops = {
	.progress = report_space_progress,
	.reading = report_reading,
};

bool fiemap_shared_space_total(struct sharing_scan *scan, struct freed_space *ret_space)
{
	CLEANUP_FREE char *failed_in = NULL;
	int ret;

	if (!scan->named || scan->no_space)
		return false;
	ret = freed_space_find(scan->named, scan->look, &freed_ops, NULL, ret_space, &failed_in);
	progress_clear();
	if (ret == -EPERM)
		complain_of_privilege(scan);
	else if (ret == -EINTR)
		return false;
	else if (ret < 0 && failed_in)
		fiemap_shared_complain_of_sort(scan, "the data extents", failed_in, ret);
	else if (ret < 0) {
		error("cannot find the references to the data extents: %s", strerror(-ret));
		scan->files.status = STATUS_ERROR;
	}
	if (ret < 0) {
		/* Another look would repeat the error. */
		scan->no_space = true;
		return false;
	}
	/* All that was named together: what it would free is not known without a part of it. */
	if (scan->files.has_failed)
		ret_space->has_freed = false;
	ret_space->disk_bytes = saturating_add(ret_space->disk_bytes, scan->inline_disk_bytes);
	return true;
}
