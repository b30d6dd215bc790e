// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fiemap-shared-owners.h"
#include "num/record-sort.h"
#include "sharing/owner-names.h"
#include "sys/cleanup.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/progress.h"

#define LOOKS_MAX 3
#define DISAGREEMENTS_MEMORY (64 * 1024)

/* -- disagreements, until the look is known to be right -- */

static int compare_disagreements(const void *a, const void *b)
{
	const struct owner_disagreement *x = a, *y = b;

	return (x->bytenr > y->bytenr) - (x->bytenr < y->bytenr);
}

static bool merge_disagreements(void *record, const void *next)
{
	return compare_disagreements(record, next) == 0;
}

static const struct record_sort_ops disagreement_ops = {
	.record_size = sizeof(struct owner_disagreement),
	.compare = compare_disagreements,
	.merge = merge_disagreements,
};

static void keep_disagreement(void *data, const struct owner_disagreement *disagreement)
{
	record_sort_add(data, disagreement);
}

static int report_disagreements(struct sharing_scan *scan, struct record_sort *kept)
{
	struct owner_disagreement disagreement;
	struct json_writer *json = &scan->files.out.json;
	int ret;

	json_begin_array(json, "owner_disagreements");
	while ((ret = record_sort_next(kept, &disagreement)) > 0)
		sharing_report_disagreement(&scan->report, &disagreement);
	json_end_array(json);
	return ret;
}

/* -- one file -- */

static void report_owner_progress(void *data, uint64_t extents_asked)
{
	(void)data;
	if (progress_due())
		progress_show("owners of %" PRIu64 " data extents found", extents_asked);
}

static const struct extent_owners_ops owners_ops = {
	.disagreement = keep_disagreement,
	.progress = report_owner_progress,
};

/* Once for each, if the owners of one follow each other. A deleted subvolume is no error. */
static void complain_of_subvolume(struct sharing_scan *scan, const struct owner_name *name,
				  uint64_t subvolid, uint64_t *last)
{
	bool is_new = subvolid != *last;

	*last = subvolid;
	if (!is_new || !name->subvolume_error || name->subvolume_error == -ENOENT)
		return;
	if (name->subvolume_error == -ELOOP)
		error("the backreferences (ROOT_BACKREF) of subvolume %" PRIu64 " form a loop",
		      subvolid);
	else
		error("cannot find the path of subvolume %" PRIu64 ": %s", subvolid,
		      strerror(-name->subvolume_error));
	scan->files.status = STATUS_ERROR;
}

static int report_list(struct sharing_scan *scan, const struct extent_owners *owners, int fd)
{
	CLEANUP(owner_names_freep) struct owner_names *names = NULL;
	const struct extent_owner *const *list;
	struct sharing_report *report = &scan->report;
	uint64_t last = 0;
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
			complain_of_subvolume(scan, &name, list[i]->subvolid, &last);
		if (ret == 0)
			ret = sharing_report_owner(report, list[i], &name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void complain_of_sort(struct sharing_scan *scan, const struct extent_owners *owners,
			     const char *path, int ret)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);
	CLEANUP_FREE char *what = NULL;

	if (asprintf(&what, "the extents of %s", quoted) < 0) {
		what = NULL;
		fiemap_shared_complain_no_memory(scan);
		return;
	}
	fiemap_shared_complain_of_sort(scan, what, extent_owners_failed_in(owners), ret);
}

static void warn_of_incomplete_owners(uint64_t count)
{
	if (count)
		warning("%" PRIu64 " data extents have more owners than the kernel lists", count);
}

/* Returns 1 if the owners are right, 0 if data was moved meanwhile, or a negative errno. */
static int look_at_owners_once(const struct owned_file *file, struct record_sort *disagreements)
{
	struct extent_owners *owners = file->owners;
	int ret;

	ret = extent_owners_sort(owners);
	if (ret == 0)
		ret = extent_owners_resolve(owners, file->fd, file->look.watch, &owners_ops,
					    disagreements);
	if (ret == 0)
		ret = record_sort_finish(disagreements);
	if (ret < 0)
		return ret;
	if (!file_look_may_have_moved(&file->look))
		return 1;
	return file_look_was_watched(&file->look) && !extent_owners_doubtful_count(owners);
}

/* As look_at_owners_once(). *RET_DISAGREEMENTS is set unless it fails. */
static int look_at_owners(struct owned_file *file, struct record_sort **ret_disagreements)
{
	for (int looks = 1;; looks++) {
		CLEANUP(record_sort_freep) struct record_sort *kept = NULL;
		int ret;

		ret = record_sort_new(&kept, &disagreement_ops, DISAGREEMENTS_MEMORY);
		if (ret == 0)
			ret = look_at_owners_once(file, kept);
		if (ret > 0) {
			*ret_disagreements = kept;
			kept = NULL;
		}
		if (ret || looks == LOOKS_MAX)
			return ret;
		file_look_await(&file->look);
		ret = file->map_again(file->data);
		if (ret < 0)
			return ret;
	}
}

static int report_found(struct sharing_scan *scan, const struct owned_file *file,
			struct record_sort *disagreements)
{
	struct sharing_report *report = &scan->report;
	int ret, ended;

	ret = report_disagreements(scan, disagreements);
	json_begin_array(&scan->files.out.json, "owners");
	if (ret == 0)
		ret = report_list(scan, file->owners, file->fd);
	ended = sharing_report_end_owners(report, ret == 0);
	if (ret == 0)
		warn_of_incomplete_owners(extent_owners_incomplete_count(file->owners));
	return ret < 0 ? ret : ended;
}

int fiemap_shared_report_owners(struct sharing_scan *scan, struct owned_file *file)
{
	CLEANUP(record_sort_freep) struct record_sort *disagreements = NULL;
	struct sharing_report *report = &scan->report;
	int ret = look_at_owners(file, &disagreements);

	if (ret > 0)
		return report_found(scan, file, disagreements);
	sharing_report_no_owners(report, OWNERS_FAILED);
	if (ret == 0) {
		warning_path("no figure for the owners, because data is being moved:", file->path,
			     0);
		scan->files.status = STATUS_ERROR;
		return 0;
	}
	if (!file->owners || !extent_owners_failed_in(file->owners))
		return ret;
	complain_of_sort(scan, file->owners, file->path, ret);
	return 0;
}

/* -- by subvolume -- */

int fiemap_shared_can_add_owners(struct sharing_scan *scan, int fd, const char *path)
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
	scan->files.status = STATUS_ERROR;
	return 0;
}

static void report_summary_progress(uint64_t extents_asked)
{
	report_owner_progress(NULL, extents_asked);
}

static int report_subvolumes(struct sharing_scan *scan)
{
	CLEANUP(owner_names_freep) struct owner_names *names = NULL;
	struct sharing_report *report = &scan->report;
	const struct subvolume_owners *list;
	uint64_t last = 0;
	size_t count;
	int ret;

	list = owner_summary_list(scan->owner_summary, &count);
	ret = count ? owner_names_new(&names, scan->owner_fd) : 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct owner_name name;

		ret = owner_names_find_subvolume(names, list[i].subvolid, &name);
		if (ret == 0)
			complain_of_subvolume(scan, &name, list[i].subvolid, &last);
		if (ret == 0)
			ret = sharing_report_subvolume(report, &list[i], &name);
	}
	return ret;
}

/* Without the families it only takes longer. */
static int resolve_owners(struct sharing_scan *scan)
{
	CLEANUP(snapshot_families_freep) struct snapshot_families *families = NULL;

	snapshot_families_read(&families, scan->owner_fd);
	return owner_summary_resolve(scan->owner_summary, scan->owner_fd, families,
				     steady_look_watch(scan->look, scan->owner_fsid),
				     report_summary_progress);
}

bool fiemap_shared_resolve_owner_summary(struct sharing_scan *scan)
{
	struct owner_summary *summary = scan->owner_summary;
	const char *failed_in;
	int ret;

	if (!summary || scan->no_tree_search || scan->no_owners)
		return false;
	ret = resolve_owners(scan);
	progress_clear();
	if (ret == 0)
		return true;
	scan->no_owners = true;
	failed_in = owner_summary_failed_in(summary);
	if (failed_in)
		fiemap_shared_complain_of_sort(scan, "the extents", failed_in, ret);
	else
		error("cannot find the owners: %s", strerror(-ret));
	scan->files.status = STATUS_ERROR;
	return false;
}

int fiemap_shared_report_owner_summary(struct sharing_scan *scan, bool known)
{
	struct json_writer *json = &scan->files.out.json;
	int ret, ended;

	if (!known) {
		json_add_null(json, "owner_summary");
		return 0;
	}
	warn_of_incomplete_owners(owner_summary_incomplete_count(scan->owner_summary));
	json_begin_array(json, "owner_summary");
	ret = report_subvolumes(scan);
	ended = sharing_report_end_subvolumes(&scan->report);
	return ret < 0 ? ret : ended;
}
