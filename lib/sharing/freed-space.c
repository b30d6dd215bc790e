// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/backref.h"
#include "fs/filesystem.h"
#include "fs/inode-names.h"
#include "fs/subvolume.h"
#include "num/digest.h"
#include "num/saturating.h"
#include "sharing/freed-space.h"
#include "sharing/sole-owner.h"
#include "sharing/whole-subvolumes.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256
/* A file has fewer links. */
#define NAMES_MAX (1 << 20)

/* A reference to a data extent by an inode that may be in the set. */
struct reference {
	uint64_t subvolid;
	uint64_t inode;
	/* the data extent, by its place among those of the set */
	uint64_t index;
	uint64_t disk_bytes;
	uint32_t filesystem;
	/* what holds the extent if the inode is not in the set by itself */
	uint32_t otherwise;
};

/* Some of the holders of a data extent. */
struct held_extent {
	/* its place among those of the set */
	uint64_t index;
	uint64_t disk_bytes;
	struct holders holders;
};

/* An extent with more references than the kernel lists. */
struct crowded_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	/* its place among those of the set */
	uint64_t index;
	uint32_t filesystem;
	/* the file in which a reference was found last */
	uint64_t last_subvolid;
	uint64_t last_inode;
};

struct freed_search {
	struct named_set *set;
	const struct steady_look *look;
	const struct freed_space_ops *ops;
	void *data;
	uint64_t read_count;
	struct backref_query *query;
	struct extent_lookup *lookup;
	/* the file system that QUERY and LOOKUP read, and what watches it, or NULL */
	uint32_t lookup_filesystem;
	struct relocation_watch *watch;
	struct record_sort *references;
	/* the extents that have references among them */
	struct record_sort *held;
	/* in ascending order of the file system and of the address */
	struct crowded_extent *crowded;
	size_t crowded_count;
	/* of all extents that are on a device: no other sum can overflow */
	uint64_t judged_bytes;
	struct freed_space space;
};

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

/* -- who holds an extent -- */

static int compare_held(const void *a, const void *b)
{
	const struct held_extent *x = a, *y = b;

	return compare_numbers(x->index, y->index);
}

static bool merge_held(void *record, const void *next)
{
	const struct held_extent *same = next;
	struct held_extent *held = record;

	if (held->index != same->index)
		return false;
	holders_add(&held->holders, same->holders);
	return true;
}

static const struct record_sort_ops held_ops = {
	.record_size = sizeof(struct held_extent),
	.compare = compare_held,
	.merge = merge_held,
};

/* What the cleaner alone refers to goes with any of the files, so with the first ones. */
static struct holders known_holders(struct holders holders)
{
	return holders.first > holders.last ? (struct holders){ 0 } : holders;
}

/* All of its holders are known. */
static void count_held(struct freed_search *search, const struct held_extent *held)
{
	const struct holders holders = known_holders(held->holders);
	struct freed_space *space = &search->space;
	struct named_argument *last;

	if (holders.last == OTHER_HOLDER) {
		space->kept_bytes += held->disk_bytes;
		return;
	}
	space->freed_bytes += held->disk_bytes;
	if (holders.last >= search->set->argument_count)
		return;
	last = &search->set->arguments[holders.last];
	last->freed_with_above_bytes += held->disk_bytes;
	if (holders.first == holders.last)
		last->freed_alone_bytes += held->disk_bytes;
}

static int count_all_held(struct freed_search *search)
{
	struct held_extent held;
	int ret;

	ret = record_sort_finish(search->held);
	while (ret == 0 && (ret = record_sort_next(search->held, &held)) > 0) {
		count_held(search, &held);
		ret = 0;
	}
	return ret;
}

/* An extent is freed with the last one of its holders, so far counted there alone. */
static void add_up_arguments(struct freed_search *search)
{
	struct named_argument *arguments = search->set->arguments;
	struct freed_space *space = &search->space;

	for (uint32_t i = 0; i < search->set->argument_count; i++) {
		if (i)
			arguments[i].freed_with_above_bytes +=
				arguments[i - 1].freed_with_above_bytes;
		space->digest = digest_add_number(space->digest, arguments[i].written_bytes);
		space->digest = digest_add_number(space->digest, arguments[i].freed_alone_bytes);
		space->digest = digest_add_number(space->digest,
						  arguments[i].freed_with_above_bytes);
	}
}

/* -- the data extents, and who refers to them -- */

/* Whether deleting the extent frees nothing: the kernel writes nothing to this place again. */
static bool is_unwritable(const struct freed_search *search, const struct named_extent *extent)
{
	const struct named_filesystem *filesystem = &search->set->filesystems[extent->filesystem];

	return unwritable_chunks_contain(filesystem->unwritable, extent->bytenr);
}

static void start_lookups(struct freed_search *search, uint32_t filesystem)
{
	const struct named_filesystem *named = &search->set->filesystems[filesystem];

	if (search->lookup_filesystem == filesystem)
		return;
	search->lookup_filesystem = filesystem;
	if (search->look)
		search->watch = steady_look_watch(search->look, named->fsid);
	extent_lookup_start(search->lookup, named->fd);
	backref_query_watch(search->query, search->watch);
}

/* Whether one file alone refers to it. The look at the file system began with a commit. */
static bool find_sole_reference(struct freed_search *search, const struct named_extent *extent,
				struct extent_ref *ret_ref)
{
	const struct snapshot_families *families =
		search->set->filesystems[extent->filesystem].families;

	return families && !search->watch &&
	       find_sole_owner(search->lookup, families, extent->bytenr, ret_ref);
}

/* All references; *SOLE is the reference if there is only one; as backref_query_extent(). */
static int find_references(struct freed_search *search, const struct named_extent *extent,
			   struct extent_ref *sole, struct extent_ref **ret_refs, size_t *ret_count,
			   bool *ret_complete)
{
	if (!find_sole_reference(search, extent, sole))
		return backref_query_extent(search->query,
					    search->set->filesystems[extent->filesystem].fd,
					    extent->bytenr, ret_refs, ret_count, ret_complete);
	*ret_refs = sole;
	*ret_count = 1;
	*ret_complete = true;
	return 0;
}

/* The cleaner works on its tree: some of its references are gone, and the others will be. */
static bool is_deleted(const struct freed_search *search, uint32_t filesystem, uint64_t root)
{
	const struct snapshot_families *families = search->set->filesystems[filesystem].families;

	return families && is_subvolume_id(root) && !snapshot_families_find(families, root);
}

/* The kernel returns references in any order. */
static void add_to_digest(struct freed_search *search, uint64_t disk_bytes,
			  const struct extent_ref *ref)
{
	uint64_t digest = digest_add_number(DIGEST_START, disk_bytes);

	digest = digest_add_number(digest, ref->root);
	search->space.digest += digest_add_number(digest, ref->inode);
}

/* Whether more than the references of whole subvolumes decide; these are noted. */
static bool note_references(struct freed_search *search, const struct named_extent *extent,
			    const struct extent_ref *refs, size_t count, struct held_extent *held)
{
	struct reference reference = {
		.index = held->index,
		.disk_bytes = extent->disk_bytes,
		.filesystem = extent->filesystem,
	};
	bool are_noted = false;

	for (size_t i = 0; i < count; i++) {
		const struct named_subvolume *subvolume;
		bool whole;

		/* The pieces of an extent in a file come together. */
		if (i && refs[i].root == refs[i - 1].root && refs[i].inode == refs[i - 1].inode)
			continue;
		if (is_deleted(search, extent->filesystem, refs[i].root))
			continue;
		add_to_digest(search, extent->disk_bytes, &refs[i]);
		subvolume = named_set_find_subvolume(search->set, extent->filesystem, refs[i].root);
		whole = subvolume && subvolume->whole;
		if (whole && !subvolume->has_named_files) {
			holders_add_argument(&held->holders, subvolume->argument);
			continue;
		}
		reference.otherwise = whole ? subvolume->argument : OTHER_HOLDER;
		reference.subvolid = refs[i].root;
		reference.inode = refs[i].inode;
		record_sort_add(search->references, &reference);
		are_noted = true;
	}
	return are_noted;
}

/* Counts it, if it is kept for sure. Returns 1, 0 if it has to be judged, or -EPROTO. */
static int count_kept(struct freed_search *search, const struct named_extent *extent, bool is_held)
{
	struct freed_space *space = &search->space;

	if (__builtin_add_overflow(search->judged_bytes, extent->disk_bytes, &search->judged_bytes))
		return -EPROTO;
	if (is_unwritable(search, extent))
		space->read_only_bytes += extent->disk_bytes;
	else if (is_held)
		space->kept_bytes += extent->disk_bytes;
	else
		return 0;
	return 1;
}

/* Its references are counted later, in the trees. */
static int note_crowded(struct freed_search *search, const struct named_extent *extent,
			uint64_t index)
{
	struct crowded_extent *list = reallocarray(search->crowded, search->crowded_count + 1,
						   sizeof(*list));

	if (!list)
		return -ENOMEM;
	search->crowded = list;
	list[search->crowded_count++] = (struct crowded_extent){
		.bytenr = extent->bytenr,
		.disk_bytes = extent->disk_bytes,
		.index = index,
		.filesystem = extent->filesystem,
	};
	return 0;
}

/* Whether a subvolume without any file in the set refers to it. */
static bool has_outside_reference(const struct freed_search *search,
				  const struct named_extent *extent, const struct extent_ref *refs,
				  size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_deleted(search, extent->filesystem, refs[i].root) &&
		    !named_set_find_subvolume(search->set, extent->filesystem, refs[i].root))
			return true;
	return false;
}

/* The kernel lists only some of the references. */
static int judge_cut_list(struct freed_search *search, const struct named_extent *extent,
			  const struct extent_ref *refs, size_t count, uint64_t index)
{
	struct freed_space *space = &search->space;

	if (has_outside_reference(search, extent, refs, count)) {
		space->kept_bytes += extent->disk_bytes;
		return 0;
	}
	if (search->set->filesystems[extent->filesystem].families && !search->watch)
		return note_crowded(search, extent, index);
	space->incomplete_count++;
	space->uncertain_bytes += extent->disk_bytes;
	return 0;
}

/* Whether the references in whole subvolumes are all that there are. */
static bool has_only_leaf_refs(struct freed_search *search, const struct named_extent *extent)
{
	struct extent_item item;

	if (extent->depends_on_later && !search->set->knows_later)
		return false;
	return extent->leaf_ref_count && !search->watch &&
	       extent_lookup_find(search->lookup, extent->bytenr, &item) > 0 &&
	       item.ref_count == extent->leaf_ref_count;
}

static int judge_whole(struct freed_search *search, const struct named_extent *extent,
		       uint64_t index)
{
	const struct held_extent held = { index, extent->disk_bytes, extent->holders };
	struct freed_space *space = &search->space;
	int ret = count_kept(search, extent, false);

	if (ret)
		return ret < 0 ? ret : 0;
	space->digest += digest_add_number(
		digest_add_number(digest_add_number(DIGEST_START, extent->leaf_ref_count),
				  held.holders.first),
		held.holders.last);
	count_held(search, &held);
	return 0;
}

static int judge_extent(struct freed_search *search, const struct named_extent *extent,
			uint64_t index)
{
	struct held_extent held = { index, extent->disk_bytes, NO_HOLDERS };
	struct freed_space *space = &search->space;
	struct extent_ref sole, *refs;
	bool complete;
	size_t count;
	int ret;

	start_lookups(search, extent->filesystem);
	/* What moves can be in a leaf that is about to be replaced. */
	if (extent->is_held_outside && !search->watch)
		return count_kept(search, extent, true) < 0 ? -EPROTO : 0;
	if (has_only_leaf_refs(search, extent))
		return judge_whole(search, extent, index);
	ret = find_references(search, extent, &sole, &refs, &count, &complete);
	if (ret == -ENOENT || (ret == 0 && extent_refs_have_moved(refs, count))) {
		space->moved_count++;
		return 0;
	}
	if (ret < 0)
		return ret;
	ret = count_kept(search, extent, false);
	if (ret)
		return ret < 0 ? ret : 0;
	if (!complete)
		return judge_cut_list(search, extent, refs, count, index);
	if (note_references(search, extent, refs, count, &held))
		record_sort_add(search->held, &held);
	else
		count_held(search, &held);
	return 0;
}

/* For an extent that is not judged: it only has to be where it was, if anything moves extents. */
static int check_extent(struct freed_search *search, const struct named_extent *extent)
{
	struct extent_ref *refs;
	bool complete;
	size_t count;
	int ret;

	start_lookups(search, extent->filesystem);
	if (!search->watch)
		return 0;
	ret = backref_query_extent(search->query, search->set->filesystems[extent->filesystem].fd,
				   extent->bytenr, &refs, &count, &complete);
	if (ret == -ENOENT || (ret == 0 && extent_refs_have_moved(refs, count))) {
		search->space.moved_count++;
		return 0;
	}
	return ret;
}

static int judge_extents(struct freed_search *search)
{
	struct record_sort *extents = search->set->extents;
	struct freed_space *space = &search->space;
	struct named_extent extent;
	uint64_t index;
	int ret;

	ret = record_sort_finish(extents);
	for (index = 0; ret == 0 && (ret = record_sort_next(extents, &extent)) > 0; index++) {
		ret = 0;
		if (!extent.is_in_set)
			continue;
		if (extent.of_file)
			space->disk_bytes = saturating_add(space->disk_bytes, extent.disk_bytes);
		space->digest +=
			digest_add_number(digest_add_number(DIGEST_START, extent.disk_bytes),
					  extent.is_held_outside);
		ret = search->set->is_judged ? judge_extent(search, &extent, index) :
					       check_extent(search, &extent);
		if (ret == 0 && index && index % EXTENTS_PER_PROGRESS == 0)
			ret = search->ops->progress(search->data, index);
	}
	return ret;
}

/* -- extents with more references than the kernel lists -- */

struct tree_reading {
	struct freed_search *search;
	uint32_t filesystem;
	uint64_t subvolid;
};

static int compare_crowded(const void *a, const void *b)
{
	const struct crowded_extent *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	return order ? order : compare_numbers(x->bytenr, y->bytenr);
}

static int add_crowded_reference(void *data, const struct disk_extent *extent)
{
	const struct tree_reading *reading = data;
	struct freed_search *search = reading->search;
	const struct crowded_extent key = { .bytenr = extent->bytenr,
					    .filesystem = reading->filesystem };
	const struct extent_ref ref = { .root = reading->subvolid, .inode = extent->inode };
	struct crowded_extent *crowded;
	struct held_extent held = { .holders = NO_HOLDERS };

	if (++search->read_count % EXTENTS_PER_PROGRESS == 0) {
		int ret = search->ops->reading(search->data, search->read_count);

		if (ret < 0)
			return ret;
	}
	crowded = bsearch(&key, search->crowded, search->crowded_count, sizeof(key),
			  compare_crowded);
	if (!crowded || (crowded->last_subvolid == ref.root && crowded->last_inode == ref.inode))
		return 0;
	crowded->last_subvolid = ref.root;
	crowded->last_inode = ref.inode;
	held.index = crowded->index;
	held.disk_bytes = crowded->disk_bytes;
	note_references(search,
			&(struct named_extent){ .disk_bytes = crowded->disk_bytes,
						.filesystem = crowded->filesystem },
			&ref, 1, &held);
	record_sort_add(search->held, &held);
	return 0;
}

static int read_all_trees(struct freed_search *search, struct space_reader *reader,
			  uint32_t filesystem)
{
	const struct named_filesystem *named = &search->set->filesystems[filesystem];
	const struct family_member *member;
	int ret = 0;

	for (size_t i = 0; ret == 0 && (member = snapshot_families_at(named->families, i)); i++) {
		struct tree_reading reading = { search, filesystem, member->subvolid };

		ret = space_read_subvolume(reader, named->fd, member->subvolid, 0,
					   add_crowded_reference, &reading);
		/* It was deleted meanwhile. */
		if (ret == -ENOENT)
			ret = 0;
	}
	return ret;
}

static int judge_crowded(struct freed_search *search)
{
	CLEANUP(space_reader_freep) struct space_reader *reader = NULL;
	uint32_t filesystem = UINT32_MAX;
	int ret = search->crowded_count ? space_reader_new(&reader) : 0;

	for (size_t i = 0; i < search->crowded_count && ret == 0; i++) {
		if (search->crowded[i].filesystem == filesystem)
			continue;
		filesystem = search->crowded[i].filesystem;
		ret = read_all_trees(search, reader, filesystem);
	}
	return ret;
}

/* -- which of those who refer to them are in the set -- */

/* All that is known of an inode. */
struct inode_group {
	struct named_inode inode;
	/* its names, in order */
	struct named_inode *names;
	size_t name_count;
	size_t names_room;
	struct holders holders;
	bool at_end;
	/* deleting the names deletes it; once this is known */
	bool goes;
	bool is_judged;
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

static int add_name(struct inode_group *group)
{
	size_t room = group->names_room ? 2 * group->names_room : 16;
	struct named_inode *names;

	if (group->name_count < group->names_room)
		return 0;
	/* The names that a file had meanwhile are not limited by the number of its links. */
	if (room > NAMES_MAX)
		return -E2BIG;
	names = reallocarray(group->names, room, sizeof(*names));
	if (!names)
		return -ENOMEM;
	group->names = names;
	group->names_room = room;
	return 0;
}

static int next_group(struct record_sort *inodes, struct inode_group *group)
{
	int ret = 0;

	group->at_end = !group->have_next;
	group->inode = group->next;
	group->is_judged = false;
	group->name_count = 0;
	group->holders = NO_HOLDERS;
	while (ret == 0 && group->have_next &&
	       compare_identities(&group->inode, group->next.filesystem, group->next.subvolid,
				  group->next.inode) == 0) {
		if (group->next.parent) {
			ret = add_name(group);
			if (ret < 0)
				return ret;
			group->names[group->name_count++] = group->next;
		}
		if (group->next.link_count > group->inode.link_count)
			group->inode.link_count = group->next.link_count;
		holders_add_argument(&group->holders, group->next.argument);
		ret = next_record(inodes, group);
	}
	return ret;
}

static int compare_names(const void *a, const void *b)
{
	const struct named_inode *x = a, *y = b;
	int order = compare_numbers(x->parent, y->parent);

	return order ? order : compare_numbers(x->name_hash, y->name_hash);
}

/* Whether a name that the inode has now was found: -ENOENT ends the search. */
static int find_name(void *data, const struct inode_name *name)
{
	const struct inode_group *group = data;
	const struct named_inode key = {
		.parent = name->parent,
		.name_hash = named_set_name_hash(name->name, name->length),
	};

	return bsearch(&key, group->names, group->name_count, sizeof(key), compare_names) ? 0 :
											    -ENOENT;
}

/*
 * Whether all names of the inode are in the set. A name that was found can be another by now: only
 * those that it has at one time count.
 */
static int judge_names(const struct freed_search *search, struct inode_group *group)
{
	const struct named_inode *inode = &group->inode;
	int ret;

	group->is_judged = true;
	group->goes = inode->link_count <= 1;
	if (group->goes || group->name_count < inode->link_count)
		return 0;
	ret = inode_names_each(search->set->filesystems[inode->filesystem].fd, inode->subvolid,
			       inode->inode, find_name, group);
	group->goes = ret == 0;
	return ret == -ENOENT ? 0 : ret;
}

/* Goes on to the inode of REFERENCE, or to the next one after it. */
static int seek_group(struct freed_search *search, struct inode_group *group,
		      const struct reference *reference)
{
	int ret = 0;

	while (ret == 0 && !group->at_end &&
	       compare_identities(&group->inode, reference->filesystem, reference->subvolid,
				  reference->inode) < 0)
		ret = next_group(search->set->inodes, group);
	return ret;
}

static int judge_reference(struct freed_search *search, struct inode_group *group,
			   const struct reference *reference)
{
	struct held_extent held = { reference->index, reference->disk_bytes, NO_HOLDERS };
	int ret = seek_group(search, group, reference);
	bool is_named;

	if (ret < 0)
		return ret;
	is_named = !group->at_end && compare_identities(&group->inode, reference->filesystem,
							reference->subvolid, reference->inode) == 0;
	if (is_named && !group->is_judged)
		ret = judge_names(search, group);
	if (ret < 0)
		return ret;
	if (is_named && group->goes)
		held.holders = group->holders;
	else
		holders_add_argument(&held.holders, reference->otherwise);
	record_sort_add(search->held, &held);
	return 0;
}

/* Both are in the order of the inodes. */
static int judge_references(struct freed_search *search)
{
	struct record_sort *inodes = search->set->inodes;
	struct inode_group group = { 0 };
	struct reference reference;
	int ret;

	ret = record_sort_finish(search->references);
	if (ret == 0)
		ret = record_sort_finish(inodes);
	if (ret == 0)
		ret = next_record(inodes, &group);
	if (ret == 0)
		ret = next_group(inodes, &group);
	while (ret == 0 && (ret = record_sort_next(search->references, &reference)) > 0)
		ret = judge_reference(search, &group, &reference);
	free(group.names);
	return ret;
}

/* -- the whole -- */

/* With several file systems it is unknown what is freed on which of them. */
static void find_raw_bytes(struct freed_search *search)
{
	const struct named_set *set = search->set;
	struct freed_space *space = &search->space;
	unsigned int copies;

	if (set->filesystem_count != 1 || data_copies_of(set->filesystems[0].fd, &copies) < 0 ||
	    !copies)
		return;
	space->has_raw_bytes = !__builtin_mul_overflow(space->freed_bytes, copies,
						       &space->freed_raw_bytes);
}

static int judge(struct freed_search *search)
{
	int ret;

	ret = record_sort_new(&search->references, &reference_ops, MEMORY);
	if (ret == 0)
		ret = record_sort_new(&search->held, &held_ops, MEMORY);
	if (ret == 0)
		ret = named_set_sort_subvolumes(search->set);
	if (ret == 0)
		ret = whole_subvolumes_read(search->set, search->look, search->ops->reading,
					    search->data);
	if (ret == 0)
		ret = judge_extents(search);
	if (ret == 0)
		ret = judge_crowded(search);
	if (ret == 0)
		ret = judge_references(search);
	if (ret == 0)
		ret = count_all_held(search);
	if (ret == 0)
		find_raw_bytes(search);
	search->space.digest = digest_add_number(search->space.digest, search->space.freed_bytes);
	add_up_arguments(search);
	return ret;
}

static char *failed_in(const struct freed_search *search)
{
	const char *directory = named_set_failed_in(search->set);

	if (!directory && search->references)
		directory = record_sort_failed_in(search->references);
	if (!directory && search->held)
		directory = record_sort_failed_in(search->held);
	return directory ? strdup(directory) : NULL;
}

int freed_space_find(struct named_set *set, const struct steady_look *look,
		     const struct freed_space_ops *ops, void *data, struct freed_space *ret_space,
		     char **ret_failed_in)
{
	struct freed_search search = {
		.set = set,
		.look = look,
		.ops = ops,
		.data = data,
		.lookup_filesystem = UINT32_MAX,
		.space = { .has_freed = set->is_judged, .digest = DIGEST_START },
	};
	int ret;

	ret = backref_query_new(&search.query);
	if (ret == 0)
		ret = extent_lookup_new(&search.lookup);
	if (ret == 0)
		ret = set->is_judged ? judge(&search) : judge_extents(&search);
	/* A subvolume of the set was deleted meanwhile, and its extents with it. */
	if (ret == -ENOENT) {
		search.space.moved_count++;
		ret = 0;
	}
	*ret_failed_in = ret < 0 ? failed_in(&search) : NULL;
	if (ret == 0)
		*ret_space = search.space;
	free(search.crowded);
	backref_query_free(search.query);
	extent_lookup_free(search.lookup);
	record_sort_free(search.references);
	record_sort_free(search.held);
	return ret;
}
