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
#include "sharing/snapshot-family.h"
#include "sys/cleanup.h"

struct snapshot_families {
	/* in ascending order of subvolid, as in the root tree */
	struct family_member *members;
	size_t count;
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

static int take_root(void *data, const struct tree_item *item)
{
	struct family_member member;
	int ret;

	if (item->type != BTRFS_ROOT_ITEM_KEY || !is_subvolume_id(item->objectid))
		return 0;
	ret = parse_member(item, &member);
	return ret > 0 ? add_member(data, &member) : ret;
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
	free(families);
}

void snapshot_families_freep(struct snapshot_families **families)
{
	snapshot_families_free(*families);
}

static int compare_subvolid(const void *key, const void *member)
{
	const uint64_t *subvolid = key;
	const struct family_member *other = member;

	return (*subvolid > other->subvolid) - (*subvolid < other->subvolid);
}

const struct family_member *snapshot_families_find(const struct snapshot_families *families,
						   uint64_t subvolid)
{
	if (!families->count)
		return NULL;
	return bsearch(&subvolid, families->members, families->count, sizeof(*families->members),
		       compare_subvolid);
}

const struct family_member *snapshot_families_at(const struct snapshot_families *families,
						 size_t index)
{
	return index < families->count ? &families->members[index] : NULL;
}

static bool is_same_uuid(const uint8_t a[SUBVOLUME_UUID_SIZE], const uint8_t b[SUBVOLUME_UUID_SIZE])
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];

	return memcmp(a, b, SUBVOLUME_UUID_SIZE) == 0 && memcmp(a, none, SUBVOLUME_UUID_SIZE) != 0;
}

/*
 * A tree changes by copies of its blocks, which are newer. So a block that was in it at a snapshot, and is
 * in it later, was in it all the time: it is in the snapshot, too.
 */
static uint64_t shared_before(const struct family_member *member, const struct family_member *other)
{
	bool is_as_created = other->generation <= other->otransid;

	if (is_same_uuid(other->uuid, member->parent_uuid) && other->generation <= member->otransid)
		return member->otransid;
	if (is_same_uuid(other->parent_uuid, member->uuid) && is_as_created)
		return other->otransid;
	if (is_same_uuid(other->parent_uuid, member->parent_uuid) && is_as_created &&
	    other->otransid <= member->otransid)
		return other->otransid;
	return 0;
}

uint64_t snapshot_families_shared_before(const struct snapshot_families *families,
					 const struct family_member *member,
					 bool (*is_left_out)(const void *data, uint64_t subvolid),
					 const void *data)
{
	uint64_t latest = 0;

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *other = &families->members[i];
		uint64_t before = other == member ? 0 : shared_before(member, other);

		if (before > latest && !is_left_out(data, other->subvolid))
			latest = before;
	}
	return latest;
}

bool family_members_fork(const struct family_member *a, const struct family_member *b,
			 uint64_t *ret_transid)
{
	if (is_same_uuid(a->uuid, b->parent_uuid))
		*ret_transid = b->otransid;
	else if (is_same_uuid(a->parent_uuid, b->uuid))
		*ret_transid = a->otransid;
	else if (is_same_uuid(a->parent_uuid, b->parent_uuid))
		*ret_transid = a->otransid < b->otransid ? a->otransid : b->otransid;
	else
		return false;
	return true;
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
	uint64_t transid;

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *other = &families->members[i];

		if (other == member || !family_members_fork(member, other, &transid))
			continue;
		if (nearest && distance(member, other) >= distance(member, nearest))
			continue;
		if (!is_left_out(data, other->subvolid))
			nearest = other;
	}
	return nearest;
}
