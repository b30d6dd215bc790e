// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "fiemap-shared-scan.h"
#include "sys/cleanup.h"
#include "ui/exit-status.h"
#include "ui/message.h"

void fiemap_shared_complain_no_memory(struct sharing_scan *scan)
{
	error("out of memory");
	scan->files.status = STATUS_ERROR;
	/* A file is missing in the sums. */
	scan->files.failed_digest++;
}

void fiemap_shared_complain_of_sort(struct sharing_scan *scan, const char *what,
				    const char *failed_in, int ret)
{
	CLEANUP_QUOTED_NAME const char *directory = quoted_name(failed_in);

	error("cannot sort %s%s%s: %s", what, failed_in ? " in " : "", failed_in ? directory : "",
	      strerror(-ret));
	scan->files.status = STATUS_ERROR;
}

void fiemap_shared_count_file(struct sharing_scan *scan, size_t argument,
			      const struct sharing *sharing)
{
	if (scan->argument_sharing)
		sharing_add(&scan->argument_sharing[argument], sharing);
	if (argument >= scan->begun_argument_count)
		scan->begun_argument_count = argument + 1;
	sharing_add(&scan->total, sharing);
	scan->files.file_count++;
}

int fiemap_shared_keep_row(struct sharing_scan *scan, struct path_node *path,
			   const struct sharing *sharing, const struct file_space *space)
{
	const struct summary_row row = {
		.sharing = *sharing,
		.has_space = space,
		.space = space ? *space : (struct file_space){ 0 },
	};

	if (scan->directories)
		return directory_rows_add(scan->directories, path, sharing);
	return sharing_report_keep(scan->rows, path, &row);
}

int fiemap_shared_watch(const struct sharing_scan *scan, int fd, const struct stat *status,
			struct relocation_watch **ret_watch)
{
	*ret_watch = NULL;
	return scan->look ? steady_look_add(scan->look, fd, status->st_dev, ret_watch) : 0;
}

int fiemap_shared_set(const struct sharing_scan *scan, int fd, const struct stat *status,
		      struct unique_shared_bytes **ret_set)
{
	*ret_set = NULL;
	return scan->set ? set_shared_of(scan->set, fd, status->st_dev, ret_set) : 0;
}
