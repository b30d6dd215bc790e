// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fiemap-shared-arguments.h"
#include "fiemap-shared-groups.h"
#include "fiemap-shared-joined.h"
#include "fiemap-shared-owners.h"
#include "fiemap-shared-space.h"
#include "num/digest.h"
#include "sys/clock.h"
#include "sys/stop-request.h"
#include "text/name-escape.h"
#include "ui/exit-status.h"
#include "ui/message.h"

/* After LOOKS_MIN looks no other begins later than that. */
#define LOOKS_MIN 3
#define LOOKS_MAX 12
#define LOOKING_NS (10 * NANOSECONDS_PER_SECOND)
#define PAUSE_NS (20 * NANOSECONDS_PER_MILLISECOND)

static enum look_purpose purpose_of(const struct sharing_scan *scan)
{
	if (scan->arguments->freed || scan->arguments->mode == MODE_OWNERS)
		return LOOK_FOR_REFERENCES;
	return scan->named ? LOOK_FOR_EXTENTS : LOOK_FOR_ADDRESSES;
}

int fiemap_shared_joined_prepare(struct sharing_scan *scan)
{
	const struct sharing_options *arguments = scan->arguments;
	int ret = 0;

	scan->inline_disk_bytes = 0;
	/* A single file has the same bytes as the set. */
	if (file_options_ask_for_several(&arguments->files) && !arguments->subvolumes)
		ret = set_shared_new(&scan->set);
	if (ret == 0 && arguments->mode == MODE_OWNERS)
		ret = owner_summary_new(&scan->owner_summary);
	if (ret == 0 && arguments->groups)
		ret = sharing_groups_new(&scan->groups);
	if (ret == 0)
		ret = fiemap_shared_space_prepare(scan);
	if (ret < 0 || (!scan->set && !scan->named && !scan->owner_summary))
		return ret;
	return steady_look_new(&scan->look, NULL, purpose_of(scan));
}

void fiemap_shared_joined_release(struct sharing_scan *scan)
{
	set_shared_free(scan->set);
	scan->set = NULL;
	owner_summary_free(scan->owner_summary);
	scan->owner_summary = NULL;
	sharing_groups_free(scan->groups);
	scan->groups = NULL;
	fiemap_shared_space_release(scan);
	steady_look_free(scan->look);
	scan->look = NULL;
}

/* -- one look -- */

static void find_set_shared(struct sharing_scan *scan, struct joined *joined)
{
	int ret = 0;

	/* For one file these are its shared bytes, as in btrfs filesystem du. */
	joined->set_shared_bytes = scan->total.shared_bytes;
	if (scan->no_set)
		return;
	if (scan->set)
		ret = set_shared_total(scan->set, &joined->set_shared_bytes);
	if (ret < 0)
		fiemap_shared_complain_of_sort(scan, "the shared extents",
					       set_shared_failed_in(scan->set), ret);
	scan->no_set = ret < 0;
	joined->has_set_shared = ret == 0;
}

static void find_space(struct sharing_scan *scan, struct joined *joined)
{
	joined->has_space = fiemap_shared_space_total(scan, &joined->space);
	if (!joined->has_space)
		return;
	joined->digest = digest_add_number(joined->digest, joined->space.digest);
	joined->moved_count += joined->space.moved_count;
}

static void find_owners(struct sharing_scan *scan, struct joined *joined)
{
	joined->has_owners = fiemap_shared_resolve_owner_summary(scan);
	if (!joined->has_owners)
		return;
	joined->digest = digest_add_number(joined->digest,
					   owner_summary_digest(scan->owner_summary));
	joined->moved_count += owner_summary_moved_count(scan->owner_summary);
}

static void find_groups(struct sharing_scan *scan, struct joined *joined)
{
	if (!scan->groups || scan->no_items)
		return;
	joined->has_groups = fiemap_shared_find_groups(scan);
	if (joined->has_groups)
		joined->digest = digest_add_number(joined->digest,
						   sharing_groups_digest(scan->groups));
}

static void find_once(struct sharing_scan *scan, struct joined *ret_joined)
{
	*ret_joined = (struct joined){ .digest = DIGEST_START };
	find_set_shared(scan, ret_joined);
	find_space(scan, ret_joined);
	find_owners(scan, ret_joined);
	find_groups(scan, ret_joined);
}

/* -- another look -- */

/* The sums belong to the rows of files above them, and change only where there are none. */
static int walk_again(struct sharing_scan *scan, files_walk *walk)
{
	uint64_t file_count = scan->files.file_count;
	struct sharing *argument_sharing = scan->argument_sharing;
	struct sharing total = scan->total;
	struct files first;
	int ret;

	ret = fiemap_shared_argument_sums_new(scan->arguments, &scan->argument_sharing);
	if (ret < 0)
		return ret;
	scan->total = (struct sharing){ 0 };
	scan->files.file_count = 0;
	ret = files_begin_again(&scan->files, &first);
	if (ret == 0)
		ret = walk(scan);
	ret = files_end_again(&scan->files, &first, ret);
	if (ret == 0 && scan->arguments->summarize && !stop_requested()) {
		free(argument_sharing);
		return 0;
	}
	free(scan->argument_sharing);
	scan->argument_sharing = argument_sharing;
	scan->total = total;
	scan->files.file_count = file_count;
	return ret;
}

static int look_at_files_again(struct sharing_scan *scan, files_walk *walk)
{
	int ret;

	fiemap_shared_joined_release(scan);
	ret = fiemap_shared_joined_prepare(scan);
	return ret < 0 ? ret : walk_again(scan, walk);
}

/* -- the figures -- */

static bool is_usable(const struct joined *joined, const struct look_outcome *outcome)
{
	return !joined->moved_count && outcome->steadiness != LOOK_MOVING;
}

/* EARLIER is another usable look, or NULL. */
static bool are_right(const struct joined *joined, const struct look_outcome *outcome,
		      const struct joined *earlier)
{
	if (!is_usable(joined, outcome))
		return false;
	return outcome->steadiness == LOOK_STEADY ||
	       (earlier && earlier->digest == joined->digest &&
		(outcome->has_moved || earlier->set_shared_bytes == joined->set_shared_bytes));
}

static void add_name(char *list, const char *name)
{
	if (*list)
		strcat(list, ", ");
	strcat(list, name);
}

static void complain_of(struct sharing_scan *scan, const char *names, uint64_t moved_count,
			const struct look_outcome *outcome)
{
	if (*outcome->operation && name_is_plain(outcome->operation))
		warning("no figure for %s: data is being moved (%s is running)", names,
			outcome->operation);
	else if (*outcome->operation || outcome->has_moved)
		warning("no figure for %s: data is being moved", names);
	else if (outcome->steadiness == LOOK_STEADY)
		warning("no figure for %s: %" PRIu64 " data extents of the files have no reference",
			names, moved_count);
	else
		warning("no figure for %s: files or snapshots change", names);
	scan->files.status = STATUS_ERROR;
}

static void complain_of_outcome(struct sharing_scan *scan, uint64_t moved_count,
				const struct look_outcome *outcome)
{
	const struct sharing_options *arguments = scan->arguments;
	char names[64] = "";

	if (scan->set)
		add_name(names, "Set shared");
	if (scan->named && arguments->disk)
		add_name(names, "Disk");
	if (scan->named && arguments->freed)
		add_name(names, "Freed");
	if (arguments->mode == MODE_OWNERS)
		add_name(names, "Owners");
	if (scan->groups)
		add_name(names, "Groups");
	complain_of(scan, names, moved_count, outcome);
}

/* Says why there was no other look. */
static void complain_of_look(struct sharing_scan *scan, int ret)
{
	const struct look_outcome changed = { .steadiness = LOOK_CHANGED };

	if (stop_requested())
		return;
	if (ret == -EAGAIN) {
		complain_of_outcome(scan, 0, &changed);
		return;
	}
	error("cannot look at the files again: %s", strerror(-ret));
	scan->files.status = STATUS_ERROR;
}

struct looks {
	unsigned int count;
	uint64_t last_begin;
	/* NULL until there is a usable one, and then USABLE */
	const struct joined *earlier;
	struct joined usable;
};

static bool is_last(struct looks *looks)
{
	if (++looks->count == 1)
		looks->last_begin = monotonic_ns() + LOOKING_NS;
	return looks->count == LOOKS_MAX ||
	       (looks->count >= LOOKS_MIN && monotonic_ns() > looks->last_begin);
}

/* Returns 1 if the figures are right, 0 if another look may be better, or less after a complaint. */
static int look_at_figures(struct sharing_scan *scan, struct looks *looks, struct joined *joined)
{
	struct look_outcome outcome = { 0 };
	int ret = 0;

	find_once(scan, joined);
	if (scan->look)
		ret = steady_look_end(scan->look, &outcome);
	if (ret < 0) {
		complain_of_look(scan, ret);
		return ret;
	}
	if (are_right(joined, &outcome, looks->earlier)) {
		if (scan->set && outcome.has_moved) {
			joined->has_set_shared = false;
			joined->has_groups = false;
			complain_of(scan, scan->groups ? "Set shared, Groups" : "Set shared", 0,
				    &outcome);
		}
		return 1;
	}
	/* Nothing but Set shared is wanted, which another look cannot have either. */
	if (is_last(looks) || (!scan->named && !scan->owner_summary && *outcome.operation)) {
		complain_of_outcome(scan, joined->moved_count, &outcome);
		return -EAGAIN;
	}
	if (is_usable(joined, &outcome)) {
		looks->usable = *joined;
		looks->earlier = &looks->usable;
	}
	return 0;
}

static void warn_of_incomplete_space(const struct sharing_scan *scan, const struct joined *joined)
{
	if (joined->has_space && scan->files.has_failed && scan->arguments->freed)
		warning("no figure for Freed: a part of what was named was not examined");
	if (joined->has_space && joined->space.incomplete_count)
		warning("%" PRIu64 " data extents have more references than the kernel lists: "
			"whether they are freed is unknown",
			joined->space.incomplete_count);
}

/* Returns as look_at_figures(). */
static int look_until_right(struct sharing_scan *scan, files_walk *walk, struct joined *ret_joined)
{
	struct looks looks = { 0 };
	int ret;

	while ((ret = look_at_figures(scan, &looks, ret_joined)) == 0) {
		if (stop_requested())
			return -EINTR;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		steady_look_await_merge(scan->look);
		ret = look_at_files_again(scan, walk);
		if (ret < 0) {
			complain_of_look(scan, ret);
			break;
		}
	}
	return ret;
}

static struct joined nothing_joined(const struct sharing_scan *scan)
{
	return (struct joined){
		.has_set_shared = !scan->set,
		.set_shared_bytes = scan->total.shared_bytes,
	};
}

void fiemap_shared_joined_find(struct sharing_scan *scan, files_walk *walk,
			       struct joined *ret_joined)
{
	if (!stop_requested() && look_until_right(scan, walk, ret_joined) > 0 && !stop_requested())
		warn_of_incomplete_space(scan, ret_joined);
	else
		*ret_joined = nothing_joined(scan);
}

void fiemap_shared_joined_find_again(struct sharing_scan *scan, files_walk *walk,
				     struct joined *ret_joined)
{
	int ret = look_at_files_again(scan, walk);

	if (ret < 0)
		complain_of_look(scan, ret);
	else
		ret = look_until_right(scan, walk, ret_joined);
	if (ret <= 0 || stop_requested())
		*ret_joined = nothing_joined(scan);
}
