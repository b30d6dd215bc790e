// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "num/saturating.h"
#include "sharing/whole-list.h"
#include "sharing/whole-subvolumes.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256
/* Finding all references of an extent takes at least as long as reading so much of a tree. */
#define TREE_BYTES_PER_LOOKUP (64 * 1024)

/* A data extent that was written to what an argument led to. */
struct written_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	uint32_t argument;
	uint32_t filesystem;
};

/* A subvolume that is not in the set, and of whose tree the leaves from MIN_GENERATION on were read. */
struct outside_subvolume {
	uint64_t subvolid;
	uint32_t filesystem;
	uint64_t min_generation;
};

struct whole_search {
	struct named_set *set;
	const struct steady_look *look;
	extents_progress_function *progress;
	void *data;
	struct space_reader *reader;
	struct whole_list list;
	struct outside_subvolume *outside;
	size_t outside_count;
	/* references that count if the later subvolumes are known, and from where on these have to be read */
	uint64_t depending_count;
	uint64_t later_min_generation;
	uint64_t read_count;
};

/* -- reading a tree -- */

struct whole_reading {
	struct whole_search *search;
	uint32_t filesystem;
	/* NULL for a subvolume that is not in the set */
	const struct whole_subvolume *whole;
	/* older leaves are also in a subvolume of the set that was read before: they are left out */
	uint64_t min_generation;
	/* older leaves are also in a subvolume that is not in the set */
	uint64_t shared_before;
	/* extents that are newer were written since the snapshot before it */
	uint64_t written_after;
	/* references in leaves that need not be in another subvolume: their extents may have to be looked up */
	uint64_t unknown_count;
};

/*
 * The references of a leaf count if only whole subvolumes of the set have it; once, where it is read first.
 * What may be such a leaf, or the same one again, counts as none.
 */
static int count_leaf_ref(const struct whole_reading *reading, const struct disk_extent *extent,
			  struct named_extent *named)
{
	const struct tree_key key = { extent->inode, BTRFS_EXTENT_DATA_KEY, extent->offset };
	const struct whole_list *list = &reading->search->list;
	const struct whole_subvolume *whole = reading->whole;
	uint64_t generation = extent->leaf_generation;

	if (!list->chains || !whole)
		return 0;
	if (generation > whole->newest_before) {
		if (generation <= whole->newest_outside)
			return 0;
		named->leaf_ref_count = 1;
		named->depends_on_later = whole->has_later;
	} else if (generation <= whole->newest_uncounted) {
		return 0;
	}
	return snapshot_chains_find(list->chains, whole - list->wholes, key, generation,
				    &named->holders);
}

static int add_whole_extent(void *data, const struct disk_extent *extent)
{
	struct whole_reading *reading = data;
	struct whole_search *search = reading->search;
	const struct whole_subvolume *whole = reading->whole;
	struct named_extent named = {
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.filesystem = reading->filesystem,
		.is_in_set = whole != NULL,
		.is_held_outside = extent->leaf_generation < reading->shared_before,
		.holders = NO_HOLDERS,
	};
	int ret;

	reading->unknown_count += !named.is_held_outside;
	ret = count_leaf_ref(reading, extent, &named);
	if (ret < 0)
		return ret;
	search->depending_count += named.depends_on_later && !named.is_held_outside;
	record_sort_add(search->set->extents, &named);
	if (search->set->written && whole && extent->generation > reading->written_after)
		record_sort_add(search->set->written, &(struct written_extent){
							      .bytenr = extent->bytenr,
							      .disk_bytes = extent->disk_bytes,
							      .argument = whole->named->argument,
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

/* In the order in which they were made; what can still be changed comes last. */
static bool is_before(const struct family_member *a, const struct family_member *b)
{
	int order = compare_numbers(!a->is_read_only, !b->is_read_only);

	if (!order)
		order = compare_numbers(a->otransid, b->otransid);
	return order ? order < 0 : a->subvolid < b->subvolid;
}

/* The transaction after which OTHER, made before, and WHOLE have nothing in common; 0 if they never had. */
static uint64_t fork_of(const struct whole_subvolume *other, const struct whole_subvolume *whole,
			const struct snapshot_families *families,
			const struct snapshot_forks *forks)
{
	const struct family_member *member = other->member;
	uint64_t transid = forks->transids[snapshot_families_index_of(families, member)];

	if (transid || !forks->unknown_before || !whole->birth_ns ||
	    other->birth_ns != whole->birth_ns)
		return transid;
	/* Those between them were deleted. Deduplication changes files later on. */
	return member->ctransid < forks->unknown_before ? member->ctransid : member->otransid;
}

/* Finds what was written since the one before it in the set. Older leaves have nothing of that. */
static int read_all_written(struct whole_reading *reading, const struct whole_subvolume *whole)
{
	const struct whole_search *search = reading->search;
	const struct snapshot_families *families =
		search->set->filesystems[reading->filesystem].families;
	struct snapshot_forks forks;
	uint64_t first;
	int ret = snapshot_families_find_forks(families, whole->member, &forks);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < search->list.count; i++) {
		const struct whole_subvolume *other = &search->list.wholes[i];
		uint64_t transid;

		if (!other->member || other->named->filesystem != reading->filesystem ||
		    !is_before(other->member, whole->member))
			continue;
		transid = fork_of(other, whole, families, &forks);
		if (transid > reading->written_after)
			reading->written_after = transid;
	}
	free(forks.transids);
	first = reading->written_after ? saturating_add(reading->written_after, 1) : 0;
	if (reading->min_generation > first)
		reading->min_generation = first;
	return 0;
}

static int find_common_leaves(struct whole_reading *reading, const struct whole_subvolume *whole)
{
	const struct family_member *member = whole->member;
	struct whole_search *search = reading->search;
	const struct named_filesystem *filesystem = &search->set->filesystems[reading->filesystem];

	reading->shared_before = snapshot_families_shared_before(filesystem->families, member,
								 has_subvolume, reading, NULL);
	if (!are_leaves_moving(search->set, search->look, reading->filesystem))
		reading->min_generation = whole->shared_before;
	return search->set->written ? read_all_written(reading, whole) : 0;
}

/* Returns 1, 0 if no more of it has to be read, or -ENOMEM. */
static int note_outside(struct whole_search *search, struct outside_subvolume subvolume)
{
	struct outside_subvolume *list;

	for (size_t i = 0; i < search->outside_count; i++) {
		struct outside_subvolume *noted = &search->outside[i];

		if (noted->filesystem != subvolume.filesystem ||
		    noted->subvolid != subvolume.subvolid)
			continue;
		if (noted->min_generation <= subvolume.min_generation)
			return 0;
		*noted = subvolume;
		return 1;
	}
	list = reallocarray(search->outside, search->outside_count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	search->outside = list;
	list[search->outside_count++] = subvolume;
	return 1;
}

/* What the leaves of MEMBER from MIN_GENERATION on refer to is kept. */
static int read_outside(struct whole_search *search, uint32_t filesystem,
			const struct family_member *member, uint64_t min_generation)
{
	struct whole_reading reading = {
		.search = search,
		.filesystem = filesystem,
		.min_generation = min_generation,
		.shared_before = UINT64_MAX,
	};
	int ret = note_outside(search, (struct outside_subvolume){ member->subvolid, filesystem,
								   min_generation });

	if (ret <= 0)
		return ret;
	/* If it was deleted meanwhile, others have leaves that were to be read in it. */
	return read_tree(&reading, member->subvolid);
}

/* The nearest relative of MEMBER is read if that is faster than lookups. */
static int read_relative(const struct whole_reading *of, const struct family_member *member)
{
	struct whole_search *search = of->search;
	const struct family_member *relative =
		snapshot_families_nearest(search->set->filesystems[of->filesystem].families, member,
					  has_subvolume, of);

	if (!relative || relative->tree_bytes / TREE_BYTES_PER_LOOKUP >= of->unknown_count)
		return 0;
	return read_outside(search, of->filesystem, relative, of->min_generation);
}

/*
 * The later subvolumes are read if that is faster than lookups. Those that have much in common with one before
 * count as nothing. The bound is safe for other file systems, too, although it may be lower than needed.
 */
static int read_later(struct whole_search *search)
{
	const struct whole_list *list = &search->list;
	uint64_t lookups = 0;
	int ret = 0;

	for (size_t i = 0; i < list->later_count; i++)
		if (!list->later[i].shared_before)
			lookups = saturating_add(lookups, list->later[i].member->tree_bytes /
								  TREE_BYTES_PER_LOOKUP);
	if (lookups >= search->depending_count)
		return 0;
	for (size_t i = 0; ret == 0 && i < list->later_count; i++) {
		const struct later_subvolume *later = &list->later[i];
		uint64_t first = later->shared_before;

		if (first < search->later_min_generation)
			first = search->later_min_generation;
		ret = read_outside(search, later->filesystem, later->member, first);
	}
	search->set->knows_later = true;
	return ret;
}

static int read_whole(struct whole_search *search, const struct whole_subvolume *whole)
{
	struct whole_reading reading = {
		.search = search,
		.filesystem = whole->named->filesystem,
		.whole = whole,
	};
	int ret = whole->member ? find_common_leaves(&reading, whole) : 0;

	if (whole->has_later && reading.shared_before < search->later_min_generation)
		search->later_min_generation = reading.shared_before;
	if (ret == 0)
		ret = read_tree(&reading, whole->named->subvolid);
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
		.later_min_generation = UINT64_MAX,
	};
	int ret;

	ret = space_reader_new(&search.reader);
	if (ret == 0 && set->measures_written)
		ret = record_sort_new(&set->written, &written_ops, MEMORY);
	if (ret == 0)
		ret = whole_list_make(&search.list, set, look);
	for (size_t i = 0; ret == 0 && i < search.list.count; i++)
		ret = read_whole(&search, &search.list.wholes[i]);
	if (ret == 0)
		ret = read_later(&search);
	if (ret == 0)
		ret = add_up_written(set);
	space_reader_free(search.reader);
	whole_list_free(&search.list);
	free(search.outside);
	return ret;
}
