// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/subvolume.h"
#include "fs/tree-range.h"
#include "num/record-sort.h"
#include "sharing/snapshot-family.h"
#include "sys/cleanup.h"

#define NO_ORIGIN SIZE_MAX

struct snapshot_families {
	/* in ascending order of subvolid, as in the root tree */
	struct family_member *members;
	size_t count;
	/*
	 * of what each is a snapshot: the index of a member, from COUNT on a number for each one that was
	 * deleted, or NO_ORIGIN
	 */
	size_t *origins;
	size_t deleted_count;
	/* the members in the order in which they were made */
	size_t *by_age;
};

/* Returns 1, 0 for a subvolume that was deleted, or -EPROTO. */
static int parse_member(const struct tree_item *item, struct family_member *ret_member)
{
	struct btrfs_root_item raw = { 0 };

	if (item->size < offsetof(struct btrfs_root_item, generation_v2))
		return -EPROTO;
	memcpy(&raw, item->data, item->size < sizeof(raw) ? item->size : sizeof(raw));
	if (!raw.refs)
		return 0;
	if (le64toh(raw.last_snapshot) > item->leaf_generation)
		return -EPROTO;
	*ret_member = (struct family_member){
		.subvolid = item->objectid,
		.is_read_only = btrfs_root_flags(&raw) & BTRFS_ROOT_SUBVOL_RDONLY,
		.last_snapshot = le64toh(raw.last_snapshot),
		.generation = le64toh(raw.generation),
		.tree_bytes = le64toh(raw.bytes_used),
	};
	/* A kernel that does not know the fields after it does not update them either. */
	if (raw.generation_v2 != raw.generation)
		return 1;
	memcpy(ret_member->uuid, raw.uuid, sizeof(raw.uuid));
	memcpy(ret_member->parent_uuid, raw.parent_uuid, sizeof(raw.parent_uuid));
	ret_member->otransid = le64toh(raw.otransid);
	ret_member->ctransid = le64toh(raw.ctransid);
	return 1;
}

static int add_member(struct snapshot_families *families, const struct family_member *member)
{
	size_t count = families->count;

	/* Grows at 0, 1, 2, 4, 8, … */
	if (!(count & (count - 1))) {
		size_t room = count ? 2 * count : 1;
		struct family_member *members = reallocarray(families->members, room,
							     sizeof(*members));

		if (!members)
			return -ENOMEM;
		families->members = members;
	}
	/* A snapshot has an item for each transaction in which it was made: the last one counts. */
	if (count && families->members[count - 1].subvolid == member->subvolid)
		count--;
	families->members[count] = *member;
	families->count = count + 1;
	return 0;
}

/* It comes after the root's item. */
static void note_parent(struct snapshot_families *families, const struct tree_item *item)
{
	if (families->count && families->members[families->count - 1].subvolid == item->objectid)
		families->members[families->count - 1].parent_subvolid = item->offset;
}

static int take_root(void *data, const struct tree_item *item)
{
	struct family_member member;
	int ret;

	if (item->type == BTRFS_ROOT_BACKREF_KEY)
		note_parent(data, item);
	if (item->type != BTRFS_ROOT_ITEM_KEY || !is_subvolume_id(item->objectid))
		return 0;
	ret = parse_member(item, &member);
	return ret > 0 ? add_member(data, &member) : ret;
}

/* -- who is a snapshot of whom -- */

static bool is_same_uuid(const uint8_t a[SUBVOLUME_UUID_SIZE], const uint8_t b[SUBVOLUME_UUID_SIZE])
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];

	return memcmp(a, b, SUBVOLUME_UUID_SIZE) == 0 && memcmp(a, none, SUBVOLUME_UUID_SIZE) != 0;
}

/* A UUID of a member, or the one of its origin. */
struct member_uuid {
	uint8_t uuid[SUBVOLUME_UUID_SIZE];
	size_t index;
	bool is_of_origin;
};

/* A subvolume comes before its snapshots. */
static int compare_uuids(const void *a, const void *b)
{
	const struct member_uuid *x = a, *y = b;
	int order = memcmp(x->uuid, y->uuid, SUBVOLUME_UUID_SIZE);

	return order ? order : x->is_of_origin - y->is_of_origin;
}

/* Without those that are zero. */
static size_t list_uuids(const struct snapshot_families *families, struct member_uuid *uuids)
{
	size_t count = 0;

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *member = &families->members[i];

		families->origins[i] = NO_ORIGIN;
		if (is_same_uuid(member->uuid, member->uuid)) {
			uuids[count] = (struct member_uuid){ .index = i };
			memcpy(uuids[count++].uuid, member->uuid, SUBVOLUME_UUID_SIZE);
		}
		if (is_same_uuid(member->parent_uuid, member->parent_uuid)) {
			uuids[count] = (struct member_uuid){ .index = i, .is_of_origin = true };
			memcpy(uuids[count++].uuid, member->parent_uuid, SUBVOLUME_UUID_SIZE);
		}
	}
	qsort(uuids, count, sizeof(*uuids), compare_uuids);
	return count;
}

static int find_origins(struct snapshot_families *families)
{
	CLEANUP_FREE struct member_uuid *uuids = calloc(2 * families->count + 1, sizeof(*uuids));
	size_t origin = NO_ORIGIN, count;

	families->origins = calloc(families->count + 1, sizeof(*families->origins));
	if (!uuids || !families->origins)
		return -ENOMEM;
	count = list_uuids(families, uuids);
	for (size_t i = 0; i < count; i++) {
		if (!uuids[i].is_of_origin)
			origin = uuids[i].index;
		else if (!i || !is_same_uuid(uuids[i].uuid, uuids[i - 1].uuid))
			origin = families->count + families->deleted_count++;
		if (uuids[i].is_of_origin)
			families->origins[uuids[i].index] = origin;
	}
	return 0;
}

static int compare_ages(const void *a, const void *b, void *data)
{
	const struct family_member *members = data;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = compare_numbers(members[x].otransid, members[y].otransid);

	return order ? order : compare_numbers(x, y);
}

static int sort_by_age(struct snapshot_families *families)
{
	families->by_age = calloc(families->count + 1, sizeof(*families->by_age));
	if (!families->by_age)
		return -ENOMEM;
	for (size_t i = 0; i < families->count; i++)
		families->by_age[i] = i;
	qsort_r(families->by_age, families->count, sizeof(*families->by_age), compare_ages,
		families->members);
	return 0;
}

/* -- reading -- */

static int compare_subvolid(const void *key, const void *member)
{
	const uint64_t *subvolid = key;
	const struct family_member *other = member;

	return (*subvolid > other->subvolid) - (*subvolid < other->subvolid);
}

static struct family_member *find_member(const struct snapshot_families *families,
					 uint64_t subvolid)
{
	if (!families->count)
		return NULL;
	return bsearch(&subvolid, families->members, families->count, sizeof(*families->members),
		       compare_subvolid);
}

static void find_named(struct snapshot_families *families)
{
	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *named = &families->members[i];
		struct family_member *parent = find_member(families, named->parent_subvolid);

		if (parent && parent->last_named_transid < named->otransid)
			parent->last_named_transid = named->otransid;
	}
}

int snapshot_families_read(struct snapshot_families **ret_families, int fd)
{
	const struct tree_key min = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key max = { BTRFS_LAST_FREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	struct snapshot_families *families = calloc(1, sizeof(*families));
	int ret;

	if (!families)
		return -ENOMEM;
	ret = tree_range_each(fd, BTRFS_ROOT_TREE_OBJECTID, min, max, take_root, families);
	if (ret == 0)
		ret = find_origins(families);
	if (ret == 0)
		ret = sort_by_age(families);
	if (ret == 0)
		find_named(families);
	if (ret < 0) {
		snapshot_families_free(families);
		return ret;
	}

	*ret_families = families;
	return 0;
}

void snapshot_families_free(struct snapshot_families *families)
{
	if (!families)
		return;
	free(families->members);
	free(families->origins);
	free(families->by_age);
	free(families);
}

const struct family_member *snapshot_families_find(const struct snapshot_families *families,
						   uint64_t subvolid)
{
	return find_member(families, subvolid);
}

const struct family_member *snapshot_families_at(const struct snapshot_families *families,
						 size_t index)
{
	return index < families->count ? &families->members[index] : NULL;
}

/*
 * A tree changes by copies of its blocks, which are newer. So a block that was in it at a snapshot, and is
 * in it later, was in it all the time: it is in the snapshot, too. In the transaction of a snapshot, its
 * origin can still get the names of this one and of others, and then has newer blocks.
 */
static uint64_t shared_before(const struct family_member *member, const struct family_member *other)
{
	bool is_as_created = other->generation <= other->otransid;
	bool has_newer_names = other->last_named_transid >= member->otransid;

	if (is_same_uuid(other->uuid, member->parent_uuid) &&
	    other->generation <= member->otransid && !has_newer_names)
		return member->otransid;
	if (is_same_uuid(other->parent_uuid, member->uuid) && is_as_created)
		return other->otransid;
	if (is_same_uuid(other->parent_uuid, member->parent_uuid) && is_as_created &&
	    other->otransid < member->otransid)
		return other->otransid;
	return 0;
}

uint64_t snapshot_families_shared_before(const struct snapshot_families *families,
					 const struct family_member *member,
					 bool (*is_left_out)(const void *data, uint64_t subvolid),
					 const void *data, const struct family_member **ret_other)
{
	uint64_t latest = 0;

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *other = &families->members[i];
		uint64_t before = other == member ? 0 : shared_before(member, other);

		if (before <= latest || is_left_out(data, other->subvolid))
			continue;
		latest = before;
		if (ret_other)
			*ret_other = other;
	}
	return latest;
}

bool family_members_are_near(const struct family_member *a, const struct family_member *b)
{
	return is_same_uuid(a->uuid, b->parent_uuid) || is_same_uuid(a->parent_uuid, b->uuid) ||
	       is_same_uuid(a->parent_uuid, b->parent_uuid);
}

/* The origins of MEMBER, on the way to its first one. */
static void find_forks_of_origins(const struct snapshot_families *families, size_t member,
				  struct snapshot_forks *forks)
{
	while (member < families->count) {
		uint64_t otransid = families->members[member].otransid;
		size_t origin = families->origins[member];

		/* In a damaged tree, they can form a loop. */
		if (origin == NO_ORIGIN || !otransid || forks->transids[origin])
			return;
		forks->transids[origin] = otransid;
		if (origin >= families->count)
			forks->unknown_before = otransid;
		member = origin;
	}
}

int snapshot_families_find_forks(const struct snapshot_families *families,
				 const struct family_member *member,
				 struct snapshot_forks *ret_forks)
{
	size_t index = snapshot_families_index_of(families, member);

	*ret_forks = (struct snapshot_forks){
		.transids = calloc(families->count + families->deleted_count, sizeof(uint64_t)),
	};
	if (!ret_forks->transids)
		return -ENOMEM;
	ret_forks->transids[index] = UINT64_MAX;
	find_forks_of_origins(families, index, ret_forks);
	for (size_t i = 0; i < families->count; i++) {
		size_t other = families->by_age[i], origin = families->origins[other];
		uint64_t otransid = families->members[other].otransid;

		if (ret_forks->transids[other] || origin == NO_ORIGIN)
			continue;
		ret_forks->transids[other] = ret_forks->transids[origin] < otransid ?
						     ret_forks->transids[origin] :
						     otransid;
	}
	return 0;
}

size_t snapshot_families_index_of(const struct snapshot_families *families,
				  const struct family_member *member)
{
	return member - families->members;
}

static uint64_t distance(const struct family_member *a, const struct family_member *b)
{
	return a->generation > b->generation ? a->generation - b->generation :
					       b->generation - a->generation;
}

const struct family_member *snapshot_families_nearest(
	const struct snapshot_families *families, const struct family_member *member,
	bool (*is_left_out)(const void *data, uint64_t subvolid), const void *data)
{
	const struct family_member *nearest = NULL;

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *other = &families->members[i];

		if (other == member || !family_members_are_near(member, other))
			continue;
		if (nearest && distance(member, other) >= distance(member, nearest))
			continue;
		if (!is_left_out(data, other->subvolid))
			nearest = other;
	}
	return nearest;
}
