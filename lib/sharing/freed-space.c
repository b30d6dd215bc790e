// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mul-div.h"
#include "base/saturating-add.h"
#include "fs/backref.h"
#include "fs/data-copies.h"
#include "sharing/freed-space.h"
#include "sharing/sole-owner.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256

/* What a data extent takes in the extent tree: a header, and an item with one reference. */
#define EXTENT_ITEM_BYTES (25 + 24 + 29)
/* Leaves are seldom full, but for those with checksums. */
#define LEAF_FILL_PERCENT 80

/* A reference to a data extent by an inode that may be in the set. */
struct reference {
	uint64_t subvolid;
	uint64_t inode;
	/* the data extent, by its place among those of the set */
	uint64_t index;
	uint64_t disk_bytes;
	uint32_t filesystem;
	uint32_t has_checksums;
};

struct whole_subvolume {
	uint32_t filesystem;
	uint64_t subvolid;
};

struct judgement {
	struct named_set *set;
	const struct freed_space_ops *ops;
	void *data;
	/* sorted */
	struct whole_subvolume *whole;
	size_t whole_count;
	uint64_t read_bytes;
	struct backref_query *query;
	struct extent_lookup *lookup;
	/* the file system that LOOKUP reads */
	uint32_t lookup_filesystem;
	struct record_sort *references;
	/* a bit for each data extent: it is known to be kept */
	uint8_t *kept;
	size_t kept_size;
	/* what is freed: data extents, their checksums, and items that leave trees */
	uint64_t extent_count;
	uint64_t checksum_bytes;
	uint64_t item_bytes;
	/* blocks of trees that are freed as a whole */
	uint64_t tree_bytes;
	struct freed_space space;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_references(const void *a, const void *b)
{
	const struct reference *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	if (!order)
		order = compare_numbers(x->subvolid, y->subvolid);
	if (!order)
		order = compare_numbers(x->inode, y->inode);
	return order ? order : compare_numbers(x->index, y->index);
}

static bool merge_references(void *record, const void *next)
{
	return compare_references(record, next) == 0;
}

static const struct record_sort_ops reference_ops = {
	.record_size = sizeof(struct reference),
	.compare = compare_references,
	.merge = merge_references,
};

/* -- subvolumes that are in the set as a whole -- */

static int compare_whole(const void *a, const void *b)
{
	const struct whole_subvolume *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	return order ? order : compare_numbers(x->subvolid, y->subvolid);
}

static int list_whole(struct judgement *judgement)
{
	const struct named_set *set = judgement->set;

	judgement->whole = calloc(set->subvolume_count + 1, sizeof(*judgement->whole));
	if (!judgement->whole)
		return -ENOMEM;
	for (size_t i = 0; i < set->subvolume_count; i++) {
		const struct named_subvolume *subvolume = set->subvolumes[i];

		if (subvolume->whole)
			judgement->whole[judgement->whole_count++] = (struct whole_subvolume){
				subvolume->filesystem,
				subvolume->subvolid,
			};
	}
	qsort(judgement->whole, judgement->whole_count, sizeof(*judgement->whole), compare_whole);
	return 0;
}

static bool is_whole(const struct judgement *judgement, uint32_t filesystem, uint64_t subvolid)
{
	const struct whole_subvolume key = { filesystem, subvolid };

	return bsearch(&key, judgement->whole, judgement->whole_count, sizeof(key),
		       compare_whole) != NULL;
}

/* A subvolume whose tree is being read. */
struct whole_reading {
	struct judgement *judgement;
	const struct named_subvolume *subvolume;
	struct space_reader *reader;
	/* relatives that stay, and those that go but count what they have in common with this one */
	struct relatives outside;
	struct relatives before;
	uint64_t all_bytes;
	uint64_t own_bytes;
};

static bool stays(const void *data, uint64_t subvolid)
{
	const struct whole_reading *reading = data;

	return !is_whole(reading->judgement, reading->subvolume->filesystem, subvolid);
}

static bool goes_before(const void *data, uint64_t subvolid)
{
	const struct whole_reading *reading = data;

	return subvolid < reading->subvolume->subvolid && !stays(data, subvolid);
}

static int add_whole_extent(void *data, const struct disk_extent *extent)
{
	const struct whole_reading *reading = data;
	const struct named_extent named = {
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.filesystem = reading->subvolume->filesystem,
		.has_checksums = extent->has_checksums,
	};

	record_sort_add(reading->judgement->set->extents, &named);
	return 0;
}

static int count_whole_run(void *data, const struct item_run *run)
{
	struct whole_reading *reading = data;
	const struct named_subvolume *subvolume = reading->subvolume;
	int fd = reading->judgement->set->filesystems[subvolume->filesystem].fd;
	int ret;

	reading->all_bytes = saturating_add(reading->all_bytes, run->bytes);
	reading->judgement->read_bytes = saturating_add(reading->judgement->read_bytes, run->bytes);
	reading->judgement->ops->reading(reading->judgement->data, reading->judgement->read_bytes);
	ret = space_reader_run_is_shared(reading->reader, fd, subvolume->member, &reading->outside,
					 run);
	if (ret == 0)
		ret = space_reader_run_is_shared(reading->reader, fd, subvolume->member,
						 &reading->before, run);
	if (ret == 0)
		reading->own_bytes = saturating_add(reading->own_bytes, run->bytes);
	return ret < 0 ? ret : 0;
}

static const struct space_ops whole_ops = { .extent = add_whole_extent, .run = count_whole_run };

static int read_whole(struct judgement *judgement, struct space_reader *reader,
		      const struct named_subvolume *subvolume)
{
	const struct named_filesystem *filesystem =
		&judgement->set->filesystems[subvolume->filesystem];
	struct whole_reading reading = {
		.judgement = judgement,
		.subvolume = subvolume,
		.reader = reader,
	};
	int ret;

	/* It was made or deleted after the list of them was read. */
	if (!subvolume->member)
		return 0;
	snapshot_families_relatives(filesystem->families, subvolume->member, stays, &reading,
				    &reading.outside);
	snapshot_families_relatives(filesystem->families, subvolume->member, goes_before, &reading,
				    &reading.before);
	ret = space_read_subvolume(reader, filesystem->fd, subvolume->subvolid, &whole_ops,
				   &reading);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	if (reading.all_bytes)
		judgement->tree_bytes = saturating_add(judgement->tree_bytes,
						       mul_div(subvolume->member->tree_bytes,
							       reading.own_bytes,
							       reading.all_bytes));
	return 0;
}

static int read_whole_subvolumes(struct judgement *judgement)
{
	CLEANUP(space_reader_freep) struct space_reader *reader = NULL;
	int ret;

	ret = list_whole(judgement);
	if (ret == 0)
		ret = space_reader_new(&reader);
	for (size_t i = 0; ret == 0 && i < judgement->set->subvolume_count; i++)
		if (judgement->set->subvolumes[i]->whole)
			ret = read_whole(judgement, reader, judgement->set->subvolumes[i]);
	return ret;
}

/* -- the data extents, and who refers to them -- */

/* Returns whether the extent of REFERENCE was not known to be kept before, or a negative errno. */
static int keep(struct judgement *judgement, uint64_t index)
{
	size_t byte = index / 8;
	uint8_t bit = 1U << index % 8;

	if (byte >= judgement->kept_size) {
		size_t size = 2 * byte + 4096;
		uint8_t *kept = realloc(judgement->kept, size);

		if (!kept)
			return -ENOMEM;
		memset(kept + judgement->kept_size, 0, size - judgement->kept_size);
		judgement->kept = kept;
		judgement->kept_size = size;
	}
	if (judgement->kept[byte] & bit)
		return 0;
	judgement->kept[byte] |= bit;
	return 1;
}

/* What the checksums of an extent of DISK_BYTES take; 0 if it has none. */
static uint64_t checksum_bytes_of(const struct judgement *judgement, uint32_t filesystem,
				  uint64_t disk_bytes, bool has_checksums)
{
	const struct checksum_format *format = &judgement->set->filesystems[filesystem].checksums;

	return has_checksums ? disk_bytes / format->sector_size * format->size : 0;
}

/* Takes back that the extent is freed. */
static int keep_extent(struct judgement *judgement, const struct reference *reference)
{
	struct freed_space *space = &judgement->space;
	int ret = keep(judgement, reference->index);

	if (ret <= 0)
		return ret;
	space->freed_bytes -= reference->disk_bytes;
	space->kept_bytes += reference->disk_bytes;
	judgement->extent_count--;
	judgement->checksum_bytes -= checksum_bytes_of(judgement, reference->filesystem,
						       reference->disk_bytes,
						       reference->has_checksums);
	return 0;
}

static int free_extent(struct judgement *judgement, const struct named_extent *extent)
{
	struct freed_space *space = &judgement->space;

	/* Sums stay below this one, so that none of them can overflow. */
	if (extent->disk_bytes > UINT64_MAX - space->freed_bytes - space->kept_bytes)
		return -EPROTO;
	space->freed_bytes += extent->disk_bytes;
	judgement->extent_count++;
	judgement->checksum_bytes += checksum_bytes_of(judgement, extent->filesystem,
						       extent->disk_bytes, extent->has_checksums);
	return 0;
}

/* Whether one file alone refers to it. The running transaction was committed before. */
static bool find_sole_reference(struct judgement *judgement, const struct named_extent *extent,
				struct extent_ref *ret_ref)
{
	const struct named_filesystem *filesystem =
		&judgement->set->filesystems[extent->filesystem];

	if (!filesystem->families)
		return false;
	if (judgement->lookup_filesystem != extent->filesystem) {
		extent_lookup_start(judgement->lookup, filesystem->fd);
		judgement->lookup_filesystem = extent->filesystem;
	}
	return find_sole_owner(judgement->lookup, filesystem->families, extent->bytenr, ret_ref);
}

/* All references, of which *SOLE is one if it is the only one; as backref_query_extent(). */
static int find_references(struct judgement *judgement, const struct named_extent *extent,
			   struct extent_ref *sole, struct extent_ref **ret_refs, size_t *ret_count,
			   bool *ret_complete)
{
	if (!find_sole_reference(judgement, extent, sole))
		return backref_query_extent(judgement->query,
					    judgement->set->filesystems[extent->filesystem].fd,
					    extent->bytenr, ret_refs, ret_count, ret_complete);
	*ret_refs = sole;
	*ret_count = 1;
	*ret_complete = true;
	return 0;
}

/* Notes who refers to the extent, but for subvolumes that are in the set as a whole. */
static int judge_extent(struct judgement *judgement, const struct named_extent *extent,
			uint64_t index)
{
	struct reference reference = {
		.index = index,
		.disk_bytes = extent->disk_bytes,
		.filesystem = extent->filesystem,
		.has_checksums = extent->has_checksums,
	};
	struct extent_ref sole, *refs;
	bool complete;
	size_t count;
	int ret;

	ret = find_references(judgement, extent, &sole, &refs, &count, &complete);
	/* It is gone already. */
	if (ret == -ENOENT)
		return 0;
	if (ret == 0)
		ret = free_extent(judgement, extent);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		if (is_whole(judgement, extent->filesystem, refs[i].root))
			continue;
		/* The pieces of an extent in a file come together. */
		if (i && refs[i].root == refs[i - 1].root && refs[i].inode == refs[i - 1].inode)
			continue;
		reference.subvolid = refs[i].root;
		reference.inode = refs[i].inode;
		record_sort_add(judgement->references, &reference);
	}
	if (complete)
		return 0;
	judgement->space.incomplete_count++;
	return keep_extent(judgement, &reference);
}

static int judge_extents(struct judgement *judgement)
{
	struct record_sort *extents = judgement->set->extents;
	struct freed_space *space = &judgement->space;
	struct named_extent extent;
	uint64_t index;
	int ret;

	ret = record_sort_finish(extents);
	for (index = 0; ret == 0 && (ret = record_sort_next(extents, &extent)) > 0; index++) {
		if (extent.of_file)
			space->disk_bytes = saturating_add(space->disk_bytes, extent.disk_bytes);
		ret = judgement->set->is_judged ? judge_extent(judgement, &extent, index) : 0;
		if (index && index % EXTENTS_PER_PROGRESS == 0)
			judgement->ops->progress(judgement->data, index);
	}
	return ret;
}

/* -- which of those who refer to them are in the set -- */

/* All that is known of an inode. */
struct inode_group {
	struct named_inode inode;
	uint64_t name_count;
	bool at_end;
	/* the first record of the next group */
	struct named_inode next;
	bool have_next;
};

static int compare_identities(const struct named_inode *inode, uint32_t filesystem,
			      uint64_t subvolid, uint64_t number)
{
	int order = compare_numbers(inode->filesystem, filesystem);

	if (!order)
		order = compare_numbers(inode->subvolid, subvolid);
	return order ? order : compare_numbers(inode->inode, number);
}

static int next_record(struct record_sort *inodes, struct inode_group *group)
{
	int ret = record_sort_next(inodes, &group->next);

	group->have_next = ret > 0;
	return ret < 0 ? ret : 0;
}

static int next_group(struct record_sort *inodes, struct inode_group *group)
{
	int ret = 0;

	group->at_end = !group->have_next;
	group->inode = group->next;
	group->name_count = 0;
	while (ret == 0 && group->have_next &&
	       compare_identities(&group->inode, group->next.filesystem, group->next.subvolid,
				  group->next.inode) == 0) {
		if (group->next.parent)
			group->name_count++;
		if (group->next.item_bytes > group->inode.item_bytes)
			group->inode.item_bytes = group->next.item_bytes;
		if (group->next.link_count > group->inode.link_count)
			group->inode.link_count = group->next.link_count;
		ret = next_record(inodes, group);
	}
	return ret;
}

/* Whether all names of the inode are in the set, so that it goes. */
static bool group_goes(const struct inode_group *group)
{
	return !group->at_end &&
	       (group->inode.link_count <= 1 || group->name_count >= group->inode.link_count);
}

static void count_group(struct judgement *judgement, const struct inode_group *group)
{
	const struct named_inode *inode = &group->inode;

	if (group_goes(group) && !is_whole(judgement, inode->filesystem, inode->subvolid))
		judgement->item_bytes = saturating_add(judgement->item_bytes, inode->item_bytes);
}

/* Goes on to the inode of REFERENCE, or to the next one after it. */
static int seek_group(struct judgement *judgement, struct inode_group *group,
		      const struct reference *reference)
{
	int ret = 0;

	while (ret == 0 && !group->at_end &&
	       (!reference || compare_identities(&group->inode, reference->filesystem,
						 reference->subvolid, reference->inode) < 0)) {
		count_group(judgement, group);
		ret = next_group(judgement->set->inodes, group);
	}
	return ret;
}

static int judge_reference(struct judgement *judgement, struct inode_group *group,
			   const struct reference *reference)
{
	int ret = seek_group(judgement, group, reference);

	if (ret < 0)
		return ret;
	if (group_goes(group) && compare_identities(&group->inode, reference->filesystem,
						    reference->subvolid, reference->inode) == 0)
		return 0;
	return keep_extent(judgement, reference);
}

/* Both are in the order of the inodes. */
static int judge_references(struct judgement *judgement)
{
	struct record_sort *inodes = judgement->set->inodes;
	struct inode_group group = { 0 };
	struct reference reference;
	int ret;

	ret = record_sort_finish(judgement->references);
	if (ret == 0)
		ret = record_sort_finish(inodes);
	if (ret == 0)
		ret = next_record(inodes, &group);
	if (ret == 0)
		ret = next_group(inodes, &group);
	while (ret == 0 && (ret = record_sort_next(judgement->references, &reference)) > 0)
		ret = judge_reference(judgement, &group, &reference);
	return ret < 0 ? ret : seek_group(judgement, &group, NULL);
}

/* -- the whole -- */

static void estimate_metadata(struct judgement *judgement)
{
	uint64_t items = saturating_add(judgement->item_bytes,
					judgement->extent_count * EXTENT_ITEM_BYTES);
	uint64_t blocks = saturating_add(judgement->tree_bytes, judgement->checksum_bytes);

	judgement->space.freed_metadata_bytes =
		saturating_add(blocks, mul_div(items, 100, LEAF_FILL_PERCENT));
}

/* With several file systems it cannot be told what is freed on which of them. */
static void find_raw_bytes(struct judgement *judgement)
{
	const struct named_set *set = judgement->set;
	struct freed_space *space = &judgement->space;
	unsigned int copies;

	if (set->filesystem_count != 1 || data_copies_of(set->filesystems[0].fd, &copies) < 0 ||
	    !copies)
		return;
	space->has_raw_bytes = !__builtin_mul_overflow(space->freed_bytes, copies,
						       &space->freed_raw_bytes);
}

static int judge(struct judgement *judgement)
{
	int ret;

	ret = backref_query_new(&judgement->query);
	if (ret == 0)
		ret = extent_lookup_new(&judgement->lookup);
	if (ret == 0)
		ret = record_sort_new(&judgement->references, &reference_ops, MEMORY);
	if (ret == 0)
		ret = read_whole_subvolumes(judgement);
	if (ret == 0)
		ret = judge_extents(judgement);
	if (ret == 0)
		ret = judge_references(judgement);
	if (ret == 0)
		estimate_metadata(judgement);
	if (ret == 0)
		find_raw_bytes(judgement);
	return ret;
}

static char *failed_in(const struct judgement *judgement)
{
	const char *directory = named_set_failed_in(judgement->set);

	if (!directory && judgement->references)
		directory = record_sort_failed_in(judgement->references);
	return directory ? strdup(directory) : NULL;
}

int freed_space_find(struct named_set *set, const struct freed_space_ops *ops, void *data,
		     struct freed_space *ret_space, char **ret_failed_in)
{
	struct judgement judgement = {
		.set = set,
		.ops = ops,
		.data = data,
		.lookup_filesystem = UINT32_MAX,
	};
	int ret;

	ret = set->is_judged ? judge(&judgement) : judge_extents(&judgement);
	*ret_failed_in = ret < 0 ? failed_in(&judgement) : NULL;
	if (ret == 0)
		*ret_space = judgement.space;
	free(judgement.whole);
	free(judgement.kept);
	backref_query_free(judgement.query);
	extent_lookup_free(judgement.lookup);
	record_sort_free(judgement.references);
	return ret;
}
