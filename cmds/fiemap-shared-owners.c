// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "fiemap-shared-owners.h"
#include "sharing/owner-names.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/progress.h"

static void report_disagreement(void *data, const struct owner_disagreement *disagreement)
{
	struct report *report = data;

	report->ops->disagreement(report, disagreement);
}

static void report_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	if (progress_due())
		progress_show("owners of %" PRIu64 " data extents found", extents_asked);
}

static const struct extent_owners_ops owners_ops = {
	.disagreement = report_disagreement,
	.progress = report_progress,
};

static int report_list(struct report *report, const struct extent_owners *owners, int fd)
{
	CLEANUP(owner_names_freep) struct owner_names *names = NULL;
	const struct extent_owner *const *list;
	size_t count;
	int ret;

	ret = owner_names_new(&names, fd);
	if (ret < 0)
		return ret;
	list = extent_owners_list(owners, &count);
	for (size_t i = 0; i < count; i++) {
		struct owner_name name;

		ret = owner_names_find(names, list[i], &name);
		if (ret == 0)
			ret = report->ops->owner(report, list[i], &name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Returns as extent_owners_resolve() and report_list(). */
static int resolve(struct report *report, struct extent_owners *owners, int fd)
{
	int ret, ended;

	report->ops->begin_disagreements(report);
	ret = extent_owners_resolve(owners, fd, &owners_ops, report);
	report->ops->end_disagreements(report);
	report->ops->begin_owners(report);
	if (ret == 0)
		ret = report_list(report, owners, fd);
	ended = report->ops->end_owners(report, ret == 0);
	return ret < 0 ? ret : ended;
}

static void complain_of_sort(struct scan *scan, const struct extent_owners *owners,
			     const char *path, int ret)
{
	CLEANUP_FREE char *quoted = quote_name(path);
	CLEANUP_FREE char *what = NULL;

	if (!quoted || asprintf(&what, "the extents of %s", quoted) < 0) {
		what = NULL;
		fiemap_shared_complain_no_memory(scan);
		return;
	}
	fiemap_shared_complain_of_sort(scan, what, extent_owners_failed_in(owners), ret);
}

static void warn_if_incomplete(uint64_t count)
{
	if (count)
		warning("%" PRIu64 " data extents have more owners than the kernel lists", count);
}

int fiemap_shared_report_owners(struct scan *scan, struct extent_owners *owners, int fd,
				const char *path)
{
	struct report *report = &scan->report;
	int ret;

	ret = extent_owners_sort(owners);
	if (ret < 0) {
		complain_of_sort(scan, owners, path, ret);
		report->ops->no_owners(report, true);
		return 0;
	}
	ret = resolve(report, owners, fd);
	if (ret < 0 && extent_owners_failed_in(owners)) {
		complain_of_sort(scan, owners, path, ret);
		report->ops->failed(report, ret);
		return 0;
	}
	if (ret == 0)
		warn_if_incomplete(extent_owners_incomplete_count(owners));
	return ret;
}

/* -- by subvolume -- */

int fiemap_shared_can_add_owners(struct scan *scan, int fd, const char *path)
{
	uint8_t fsid[FSID_SIZE];
	int ret = filesystem_id_of(fd, fsid);

	if (ret < 0)
		return ret;
	if (scan->owner_fd < 0) {
		scan->owner_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		memcpy(scan->owner_fsid, fsid, FSID_SIZE);
		return scan->owner_fd < 0 ? -errno : 1;
	}
	if (memcmp(scan->owner_fsid, fsid, FSID_SIZE) == 0)
		return 1;
	error_path("the owners of a file on another file system are not in the summary:", path, 0);
	scan->files.visit.status = STATUS_ERROR;
	return 0;
}

static void report_summary_progress(uint64_t extents_asked)
{
	report_progress(NULL, extents_asked);
}

static int report_subvolumes(struct scan *scan)
{
	CLEANUP(owner_names_freep) struct owner_names *names = NULL;
	struct report *report = &scan->report;
	const struct subvolume_owners *list;
	size_t count;
	int ret;

	list = owner_summary_list(scan->owner_summary, &count);
	ret = count ? owner_names_new(&names, scan->owner_fd) : 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct owner_name name;

		ret = owner_names_find_subvolume(names, list[i].subvolid, &name);
		if (ret == 0)
			ret = report->ops->subvolume(report, &list[i], &name);
	}
	return ret;
}

/* Without the families it only takes longer. */
static int resolve_owners(struct scan *scan)
{
	CLEANUP(snapshot_families_freep) struct snapshot_families *families = NULL;

	snapshot_families_read(&families, scan->owner_fd);
	return owner_summary_resolve(scan->owner_summary, scan->owner_fd, families,
				     report_summary_progress);
}

/* Returns whether the owners are known. */
static bool resolve_summary(struct scan *scan)
{
	struct owner_summary *summary = scan->owner_summary;
	const char *failed_in;
	int ret;

	if (!summary || scan->no_tree_search)
		return false;
	ret = resolve_owners(scan);
	progress_clear();
	if (ret == 0) {
		warn_if_incomplete(owner_summary_incomplete_count(summary));
		return true;
	}
	failed_in = owner_summary_failed_in(summary);
	if (failed_in)
		fiemap_shared_complain_of_sort(scan, "the extents", failed_in, ret);
	else
		error("cannot find the owners: %s", strerror(-ret));
	scan->files.visit.status = STATUS_ERROR;
	return false;
}

int fiemap_shared_report_owner_summary(struct scan *scan)
{
	struct report *report = &scan->report;
	int ret, ended;

	if (!resolve_summary(scan)) {
		report->ops->no_owner_summary(report);
		return 0;
	}
	report->ops->begin_owner_summary(report);
	ret = report_subvolumes(scan);
	ended = report->ops->end_owner_summary(report);
	return ret < 0 ? ret : ended;
}
