// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "num/saturating.h"
#include "sharing/whole-subvolumes.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256
/* Finding all references of an extent takes at least as long as reading so much of a tree. */
#define TREE_BYTES_PER_LOOKUP (64 * 1024)

/* A subvolume that is in the set as a whole. */
struct whole_subvolume {
	struct named_subvolume *named;
	/* NULL if it was deleted meanwhile */
	const struct family_member *member;
};

/* A data extent that was written to what an argument led to. */
struct written_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	uint32_t argument;
	uint32_t filesystem;
};

/* A subvolume that is not in the set, and whose tree was read. */
struct outside_subvolume {
	uint64_t subvolid;
	uint32_t filesystem;
};

struct whole_search {
	struct named_set *set;
	const struct steady_look *look;
	extents_progress_function *progress;
	void *data;
	struct space_reader *reader;
	/* by file system, then in the order in which they were changed last */
	struct whole_subvolume *list;
	size_t count;
	struct outside_subvolume *outside;
	size_t outside_count;
	uint64_t read_count;
};

/* -- the order -- */

static int compare_wholes(const void *a, const void *b)
{
	const struct whole_subvolume *x = a, *y = b;
	int order = compare_numbers(x->named->filesystem, y->named->filesystem);

	if (!order && x->member && y->member)
		order = compare_numbers(x->member->generation, y->member->generation);
	else if (!order)
		order = compare_numbers(x->member != NULL, y->member != NULL);
	return order ? order : compare_numbers(x->named->subvolid, y->named->subvolid);
}

static int list_wholes(struct whole_search *search)
{
	const struct named_set *set = search->set;

	search->list = calloc(set->subvolume_count + 1, sizeof(*search->list));
	if (!search->list)
		return -ENOMEM;
	for (size_t i = 0; i < set->subvolume_count; i++) {
		struct named_subvolume *named = set->subvolumes[i];
		const struct snapshot_families *families =
			set->filesystems[named->filesystem].families;

		if (named->whole)
			search->list[search->count++] = (struct whole_subvolume){
				.named = named,
				.member = families ? snapshot_families_find(families,
									    named->subvolid) :
						     NULL,
			};
	}
	qsort(search->list, search->count, sizeof(*search->list), compare_wholes);
	return 0;
}

/* -- reading a tree -- */

struct whole_reading {
	struct whole_search *search;
	uint32_t filesystem;
	/* NULL for a subvolume that is not in the set */
	const struct named_subvolume *named;
	/* older leaves are also in a subvolume of the set that was read before: they are left out */
	uint64_t min_generation;
	/* older leaves are also in a subvolume that is not in the set */
	uint64_t shared_before;
	/* extents that are newer were written since the snapshot before it */
	uint64_t written_after;
	/* extents of which only a lookup can tell whether something else refers to them */
	uint64_t unknown_count;
};

static int add_whole_extent(void *data, const struct disk_extent *extent)
{
	struct whole_reading *reading = data;
	struct whole_search *search = reading->search;
	const struct named_extent named = {
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.filesystem = reading->filesystem,
		.is_in_set = reading->named != NULL,
		.is_held_outside = extent->leaf_generation < reading->shared_before,
	};

	reading->unknown_count += !named.is_held_outside;
	record_sort_add(search->set->extents, &named);
	if (search->set->written && reading->named && extent->generation > reading->written_after)
		record_sort_add(search->set->written, &(struct written_extent){
							      .bytenr = extent->bytenr,
							      .disk_bytes = extent->disk_bytes,
							      .argument = reading->named->argument,
							      .filesystem = reading->filesystem,
						      });
	if (++search->read_count % EXTENTS_PER_PROGRESS)
		return 0;
	return search->progress(search->data, search->read_count);
}

static int read_tree(struct whole_reading *reading, uint64_t subvolid)
{
	struct whole_search *search = reading->search;

	return space_read_subvolume(search->reader,
				    search->set->filesystems[reading->filesystem].fd, subvolid,
				    reading->min_generation, add_whole_extent, reading);
}

/* -- what it has in common with others -- */

/* Whether the set has SUBVOLID, or a part of it, on the file system of the reading DATA. */
static bool has_subvolume(const void *data, uint64_t subvolid)
{
	const struct whole_reading *reading = data;

	return named_set_find_subvolume(reading->search->set, reading->filesystem, subvolid);
}

static bool is_not_read(const void *data, uint64_t subvolid)
{
	const struct whole_reading *reading = data;
	const struct named_subvolume *named =
		named_set_find_subvolume(reading->search->set, reading->filesystem, subvolid);

	return !named || !named->is_read;
}

/* In the order in which they were made; what can still be changed comes last. */
static bool is_before(const struct family_member *a, const struct family_member *b)
{
	int order = compare_numbers(!a->is_read_only, !b->is_read_only);

	if (!order)
		order = compare_numbers(a->otransid, b->otransid);
	return order ? order < 0 : a->subvolid < b->subvolid;
}

/* The last transaction of which both have data, if they are of one family. */
static bool find_fork(const struct whole_subvolume *previous, const struct whole_subvolume *whole,
		      uint64_t *ret_transid)
{
	const struct family_member *before = previous->member, *member = whole->member;

	if (family_members_fork(before, member, ret_transid))
		return true;
	if (!whole->named->birth_ns || previous->named->birth_ns != whole->named->birth_ns)
		return false;
	/* Those between them were deleted. Deduplication changes files later on. */
	*ret_transid = before->ctransid < member->otransid ? before->ctransid : before->otransid;
	return true;
}

/* Finds what was written since the one before it in the set. Older leaves have nothing of that. */
static void read_all_written(struct whole_reading *reading, const struct whole_subvolume *whole)
{
	const struct whole_search *search = reading->search;
	const struct family_member *previous = NULL;
	uint64_t first, transid;

	for (size_t i = 0; i < search->count; i++) {
		const struct whole_subvolume *other = &search->list[i];

		if (!other->member || other->named->filesystem != reading->filesystem ||
		    !is_before(other->member, whole->member) ||
		    (previous && is_before(other->member, previous)) ||
		    !find_fork(other, whole, &transid))
			continue;
		previous = other->member;
		reading->written_after = transid;
	}
	first = previous ? saturating_add(reading->written_after, 1) : 0;
	if (reading->min_generation > first)
		reading->min_generation = first;
}

static void find_common_leaves(struct whole_reading *reading, const struct whole_subvolume *whole)
{
	const struct family_member *member = whole->member;
	struct whole_search *search = reading->search;
	const struct named_filesystem *filesystem = &search->set->filesystems[reading->filesystem];

	reading->shared_before = snapshot_families_shared_before(filesystem->families, member,
								 has_subvolume, reading);
	/* A relocation replaces a leaf in one tree after the other. */
	if (!search->look || !steady_look_watch(search->look, filesystem->fsid))
		reading->min_generation = snapshot_families_shared_before(filesystem->families,
									  member, is_not_read,
									  reading);
	if (search->set->written)
		read_all_written(reading, whole);
}

/* Returns 1, 0 if it was noted before, or -ENOMEM. */
static int note_outside(struct whole_search *search, struct outside_subvolume subvolume)
{
	struct outside_subvolume *list;

	for (size_t i = 0; i < search->outside_count; i++)
		if (search->outside[i].filesystem == subvolume.filesystem &&
		    search->outside[i].subvolid == subvolume.subvolid)
			return 0;
	list = reallocarray(search->outside, search->outside_count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	search->outside = list;
	list[search->outside_count++] = subvolume;
	return 1;
}

/* What the nearest relative of MEMBER refers to is kept. It is read if that is faster than lookups. */
static int read_relative(const struct whole_reading *of, const struct family_member *member)
{
	struct whole_search *search = of->search;
	const struct family_member *relative =
		snapshot_families_nearest(search->set->filesystems[of->filesystem].families, member,
					  has_subvolume, of);
	struct whole_reading reading = {
		.search = search,
		.filesystem = of->filesystem,
		.min_generation = of->min_generation,
		.shared_before = UINT64_MAX,
	};
	int ret;

	if (!relative || relative->tree_bytes / TREE_BYTES_PER_LOOKUP >= of->unknown_count)
		return 0;
	ret = note_outside(search,
			   (struct outside_subvolume){ relative->subvolid, of->filesystem });
	if (ret <= 0)
		return ret;
	ret = read_tree(&reading, relative->subvolid);
	/* It was deleted meanwhile. */
	return ret == -ENOENT ? 0 : ret;
}

static int read_whole(struct whole_search *search, const struct whole_subvolume *whole)
{
	struct whole_reading reading = {
		.search = search,
		.filesystem = whole->named->filesystem,
		.named = whole->named,
	};
	int ret;

	if (whole->member)
		find_common_leaves(&reading, whole);
	ret = read_tree(&reading, whole->named->subvolid);
	whole->named->is_read = ret == 0;
	if (ret == 0 && whole->member)
		ret = read_relative(&reading, whole->member);
	return ret;
}

/* -- what was written -- */

static int compare_written(const void *a, const void *b)
{
	const struct written_extent *x = a, *y = b;
	int order = compare_numbers(x->argument, y->argument);

	if (!order)
		order = compare_numbers(x->filesystem, y->filesystem);
	return order ? order : compare_numbers(x->bytenr, y->bytenr);
}

static bool merge_written(void *record, const void *next)
{
	return compare_written(record, next) == 0;
}

static const struct record_sort_ops written_ops = {
	.record_size = sizeof(struct written_extent),
	.compare = compare_written,
	.merge = merge_written,
};

static int add_up_written(struct named_set *set)
{
	struct written_extent extent;
	int ret;

	if (!set->written)
		return 0;
	ret = record_sort_finish(set->written);
	while (ret == 0 && (ret = record_sort_next(set->written, &extent)) > 0) {
		uint64_t *written = &set->arguments[extent.argument].written_bytes;

		*written = saturating_add(*written, extent.disk_bytes);
		ret = 0;
	}
	return ret;
}

int whole_subvolumes_read(struct named_set *set, const struct steady_look *look,
			  extents_progress_function *progress, void *data)
{
	struct whole_search search = {
		.set = set,
		.look = look,
		.progress = progress,
		.data = data,
	};
	int ret;

	ret = space_reader_new(&search.reader);
	if (ret == 0 && set->measures_written)
		ret = record_sort_new(&set->written, &written_ops, MEMORY);
	if (ret == 0)
		ret = list_wholes(&search);
	for (size_t i = 0; ret == 0 && i < search.count; i++)
		ret = read_whole(&search, &search.list[i]);
	if (ret == 0)
		ret = add_up_written(set);
	space_reader_free(search.reader);
	free(search.list);
	free(search.outside);
	return ret;
}
