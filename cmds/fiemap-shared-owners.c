// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "fiemap-shared-owners.h"
#include "sharing/owner-names.h"
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

static void warn_if_incomplete(const struct extent_owners *owners)
{
	uint64_t count = extent_owners_incomplete_count(owners);

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
		warn_if_incomplete(owners);
	return ret;
}
