// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/subvolume.h"
#include "sharing/whole-list.h"

bool are_leaves_moving(const struct named_set *set, const struct steady_look *look,
		       uint32_t filesystem)
{
	return look && steady_look_watch(look, set->filesystems[filesystem].fsid);
}

/* -- the list -- */

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

static int add_whole(struct whole_list *list, const struct named_set *set,
		     struct named_subvolume *named)
{
	const struct named_filesystem *filesystem = &set->filesystems[named->filesystem];
	struct whole_subvolume *whole = &list->wholes[list->count++];

	*whole = (struct whole_subvolume){ .named = named };
	whole->member = snapshot_families_find(filesystem->families, named->subvolid);
	return subvolume_root_birth_of(filesystem->fd, named->subvolid, &whole->birth_ns);
}

static int list_wholes(struct whole_list *list, const struct named_set *set)
{
	int ret = 0;

	list->wholes = calloc(set->subvolume_count + 1, sizeof(*list->wholes));
	if (!list->wholes)
		return -ENOMEM;
	for (size_t i = 0; i < set->subvolume_count && ret == 0; i++)
		if (set->subvolumes[i]->whole)
			ret = add_whole(list, set, set->subvolumes[i]);
	qsort(list->wholes, list->count, sizeof(*list->wholes), compare_wholes);
	return ret;
}

/* -- what they have in common with each other -- */

struct set_filesystem {
	const struct named_set *set;
	uint32_t filesystem;
};

static bool is_no_earlier_whole(const void *data, uint64_t subvolid)
{
	const struct set_filesystem *of = data;
	const struct named_subvolume *named = named_set_find_subvolume(of->set, of->filesystem,
								       subvolid);

	return !named || !named->whole_number;
}

/* Leaves come from one tree into another by a snapshot, as the root directory does. */
static bool are_relatives(const struct whole_subvolume *a, const struct whole_subvolume *b)
{
	return a->named->filesystem == b->named->filesystem && a->birth_ns == b->birth_ns;
}

/* Finds what WHOLE has in common with those before it. */
static int compare_with_those_before(struct whole_list *list, const struct named_set *set,
				     struct whole_subvolume *whole)
{
	struct named_subvolume *named = whole->named;
	const struct named_filesystem *filesystem = &set->filesystems[named->filesystem];
	const struct set_filesystem of = { set, named->filesystem };
	const struct family_member *base = NULL;
	struct chained_subvolume chained = {
		.fd = filesystem->fd,
		.subvolid = named->subvolid,
		.argument = named->argument,
	};

	if (whole->member)
		whole->shared_before =
			snapshot_families_shared_before(filesystem->families, whole->member,
							is_no_earlier_whole, &of, &base);
	named->whole_number = whole - list->wholes + 1;
	chained.shared_before = whole->shared_before;
	if (base)
		chained.base =
			named_set_find_subvolume(set, of.filesystem, base->subvolid)->whole_number -
			1;
	return list->chains ? snapshot_chains_add(list->chains, &chained) : 0;
}

/*
 * Whether all extents of a leaf have the same holders: not if files of a subvolume were named before it, nor while
 * leaves move.
 */
static bool leaves_have_holders(const struct whole_list *list, const struct named_set *set,
				const struct steady_look *look)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct named_subvolume *named = list->wholes[i].named;

		if (named->has_named_files || are_leaves_moving(set, look, named->filesystem))
			return false;
	}
	return true;
}

/* -- what they have in common with others -- */

/* A near relative has the same birth, which need not be read from its tree. */
static int find_birth(const struct whole_list *list, const struct named_set *set,
		      uint32_t filesystem, const struct family_member *member,
		      uint64_t *ret_birth_ns)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct whole_subvolume *whole = &list->wholes[i];

		if (whole->named->filesystem != filesystem || !whole->member ||
		    !family_members_are_near(whole->member, member))
			continue;
		*ret_birth_ns = whole->birth_ns;
		return 0;
	}
	return subvolume_root_birth_of(set->filesystems[filesystem].fd, member->subvolid,
				       ret_birth_ns);
}

/* One that is not in the set and comes before MEMBER. */
struct earlier_search {
	const struct named_set *set;
	uint32_t filesystem;
	const struct family_member *member;
};

static bool is_whole(const struct named_set *set, uint32_t filesystem, uint64_t subvolid)
{
	const struct named_subvolume *named = named_set_find_subvolume(set, filesystem, subvolid);

	return named && named->whole;
}

static int compare_members(const struct family_member *a, const struct family_member *b)
{
	int order = compare_numbers(a->generation, b->generation);

	return order ? order : compare_numbers(a->subvolid, b->subvolid);
}

static bool is_no_earlier_outside(const void *data, uint64_t subvolid)
{
	const struct earlier_search *of = data;
	const struct snapshot_families *families = of->set->filesystems[of->filesystem].families;

	return is_whole(of->set, of->filesystem, subvolid) ||
	       compare_members(snapshot_families_find(families, subvolid), of->member) > 0;
}

/*
 * Notes that WHOLE can have leaves in common with MEMBER, which has those before SHARED_BEFORE in common
 * with another one that is not in the set. Returns whether it is a later one that has to be read.
 */
static bool compare_with_relative(struct whole_subvolume *whole, const struct family_member *member,
				  uint64_t shared_before, bool is_partly_in_set)
{
	uint64_t generation = whole->member ? whole->member->generation : UINT64_MAX;

	if (shared_before > generation)
		return false;
	if (member->generation >= generation && !is_partly_in_set) {
		whole->has_later = true;
		return true;
	}
	if (whole->newest_outside < member->generation)
		whole->newest_outside = member->generation;
	return false;
}

static int add_later(struct whole_list *list, struct later_subvolume subvolume)
{
	struct later_subvolume *later = reallocarray(list->later, list->later_count + 1,
						     sizeof(*later));

	if (!later)
		return -ENOMEM;
	list->later = later;
	later[list->later_count++] = subvolume;
	return 0;
}

static int compare_with_other(struct whole_list *list, const struct named_set *set,
			      uint32_t filesystem, const struct family_member *member)
{
	const struct earlier_search of = { set, filesystem, member };
	bool is_partly_in_set = named_set_find_subvolume(set, filesystem, member->subvolid);
	bool is_later = false;
	uint64_t birth_ns, shared_before;
	int ret = find_birth(list, set, filesystem, member, &birth_ns);

	if (ret < 0)
		return ret;
	shared_before = snapshot_families_shared_before(set->filesystems[filesystem].families,
							member, is_no_earlier_outside, &of, NULL);
	for (size_t i = 0; i < list->count; i++) {
		struct whole_subvolume *whole = &list->wholes[i];

		if (whole->named->filesystem == filesystem && whole->birth_ns == birth_ns)
			is_later |= compare_with_relative(whole, member, shared_before,
							  is_partly_in_set);
	}
	return is_later ? add_later(list, (struct later_subvolume){ .member = member,
								    .filesystem = filesystem }) :
			  0;
}

static int compare_with_others(struct whole_list *list, const struct named_set *set,
			       uint32_t filesystem)
{
	const struct family_member *member;
	int ret = 0;

	for (size_t i = 0; ret == 0; i++) {
		member = snapshot_families_at(set->filesystems[filesystem].families, i);
		if (!member)
			break;
		if (!is_whole(set, filesystem, member->subvolid))
			ret = compare_with_other(list, set, filesystem, member);
	}
	return ret;
}

static int compare_later(const void *a, const void *b)
{
	const struct later_subvolume *x = a, *y = b;
	int order = compare_numbers(x->filesystem, y->filesystem);

	return order ? order : compare_members(x->member, y->member);
}

struct later_search {
	const struct snapshot_families *families;
	/* those before one of them */
	const struct later_subvolume *later;
	size_t count;
	uint32_t filesystem;
};

static bool is_not_before(const void *data, uint64_t subvolid)
{
	const struct later_search *of = data;
	const struct later_subvolume key = {
		.member = snapshot_families_find(of->families, subvolid),
		.filesystem = of->filesystem,
	};

	return !bsearch(&key, of->later, of->count, sizeof(key), compare_later);
}

static void order_later(struct whole_list *list, const struct named_set *set)
{
	qsort(list->later, list->later_count, sizeof(*list->later), compare_later);
	for (size_t i = 0; i < list->later_count; i++) {
		struct later_subvolume *later = &list->later[i];
		const struct later_search of = {
			.families = set->filesystems[later->filesystem].families,
			.later = list->later,
			.count = i,
			.filesystem = later->filesystem,
		};

		later->shared_before = snapshot_families_shared_before(of.families, later->member,
								       is_not_before, &of, NULL);
	}
}

/* -- which leaves count -- */

static void find_counted_leaves(const struct whole_list *list, struct whole_subvolume *whole)
{
	whole->newest_uncounted = UINT64_MAX;
	for (const struct whole_subvolume *other = list->wholes; other < whole; other++) {
		uint64_t newest = other->member ? other->member->generation : UINT64_MAX;

		if (!are_relatives(other, whole))
			continue;
		if (newest > whole->newest_before)
			whole->newest_before = newest;
		if (other->newest_outside < whole->newest_uncounted)
			whole->newest_uncounted = other->newest_outside;
	}
}

/* -- the whole -- */

int whole_list_make(struct whole_list *list, const struct named_set *set,
		    const struct steady_look *look)
{
	int ret;

	*list = (struct whole_list){ 0 };
	ret = list_wholes(list, set);
	if (ret == 0 && leaves_have_holders(list, set, look))
		ret = snapshot_chains_new(&list->chains);
	for (size_t i = 0; ret == 0 && i < list->count; i++)
		ret = compare_with_those_before(list, set, &list->wholes[i]);
	for (size_t i = 0; ret == 0 && list->chains && i < list->count; i++) {
		uint32_t filesystem = list->wholes[i].named->filesystem;

		if (!i || filesystem != list->wholes[i - 1].named->filesystem)
			ret = compare_with_others(list, set, filesystem);
	}
	for (size_t i = 0; ret == 0 && i < list->count; i++)
		find_counted_leaves(list, &list->wholes[i]);
	if (ret == 0 && list->later)
		order_later(list, set);
	return ret;
}

void whole_list_free(struct whole_list *list)
{
	snapshot_chains_free(list->chains);
	free(list->later);
	free(list->wholes);
}
