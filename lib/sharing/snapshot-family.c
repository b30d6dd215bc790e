// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "base/cleanup.h"
#include "fs/tree-range.h"
#include "sharing/snapshot-family.h"

struct snapshot_families {
	/* in ascending order of subvolid, as in the root tree */
	struct family_member *members;
	size_t count;
};

static bool is_subvolume(const struct tree_item *item)
{
	return item->type == BTRFS_ROOT_ITEM_KEY && (item->objectid == BTRFS_FS_TREE_OBJECTID ||
						     (item->objectid >= BTRFS_FIRST_FREE_OBJECTID &&
						      item->objectid <= BTRFS_LAST_FREE_OBJECTID));
}

/* Returns 1, 0 for a subvolume that was deleted, or -EPROTO. */
static int parse_member(const struct tree_item *item, struct family_member *ret_member)
{
	struct btrfs_root_item raw = { 0 };
	struct family_member member = { .subvolid = item->objectid };

	if (item->size < offsetof(struct btrfs_root_item, generation_v2))
		return -EPROTO;
	memcpy(&raw, item->data, item->size < sizeof(raw) ? item->size : sizeof(raw));
	if (!raw.refs)
		return 0;
	member.tree_bytes = le64toh(raw.bytes_used);
	member.last_snapshot = le64toh(raw.last_snapshot);
	if (raw.generation == raw.generation_v2) {
		member.otransid = le64toh(raw.otransid);
		memcpy(member.uuid, raw.uuid, sizeof(member.uuid));
		memcpy(member.parent_uuid, raw.parent_uuid, sizeof(member.parent_uuid));
	}

	*ret_member = member;
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

static int read_members(struct snapshot_families *families, int fd)
{
	const struct tree_key min = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key max = { BTRFS_LAST_FREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	CLEANUP(tree_range_freep) struct tree_range *range = NULL;
	struct tree_item item;
	int ret;

	ret = tree_range_new(&range);
	if (ret < 0)
		return ret;
	tree_range_start(range, fd, BTRFS_ROOT_TREE_OBJECTID, min, max);
	while ((ret = tree_range_next(range, &item)) > 0) {
		struct family_member member;

		if (!is_subvolume(&item))
			continue;
		ret = parse_member(&item, &member);
		if (ret > 0)
			ret = add_member(families, &member);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int snapshot_families_read(struct snapshot_families **ret_families, int fd)
{
	struct snapshot_families *families = calloc(1, sizeof(*families));
	int ret;

	if (!families)
		return -ENOMEM;
	ret = read_members(families, fd);
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

static bool is_same_uuid(const uint8_t *a, const uint8_t *b)
{
	static const uint8_t none[16];

	return memcmp(a, none, sizeof(none)) != 0 && memcmp(a, b, sizeof(none)) == 0;
}

/* Replaces *BEST by CANDIDATE if it was made later (SIGN 1) or earlier (SIGN -1). */
static void take_better(const struct family_member **best, const struct family_member *candidate,
			int sign)
{
	if (!*best ||
	    (candidate->otransid > (*best)->otransid) - (candidate->otransid < (*best)->otransid) ==
		    sign)
		*best = candidate;
}

void snapshot_families_relatives(const struct snapshot_families *families,
				 const struct family_member *member,
				 bool (*eligible)(const void *data, uint64_t subvolid),
				 const void *data, struct relatives *ret_relatives)
{
	const struct family_member *found[RELATIVES_MAX] = { NULL };
	struct relatives relatives = { 0 };

	for (size_t i = 0; i < families->count; i++) {
		const struct family_member *other = &families->members[i];

		if (other == member || (eligible && !eligible(data, other->subvolid)))
			continue;
		if (is_same_uuid(member->parent_uuid, other->uuid))
			found[0] = other;
		else if (is_same_uuid(member->uuid, other->parent_uuid))
			take_better(&found[1], other, 1);
		else if (!is_same_uuid(member->parent_uuid, other->parent_uuid))
			continue;
		else if (other->otransid <= member->otransid)
			take_better(&found[2], other, 1);
		else
			take_better(&found[3], other, -1);
	}
	for (size_t i = 0; i < RELATIVES_MAX; i++)
		if (found[i])
			relatives.members[relatives.count++] = found[i];

	*ret_relatives = relatives;
}

/* Returns 1 if tree SUBVOLID has the item KEY in a leaf of GENERATION, 0, or a negative errno. */
static int has_leaf(struct tree_batch *batch, int fd, uint64_t subvolid, struct tree_key key,
		    uint64_t generation)
{
	struct tree_item item;
	int ret;

	ret = tree_batch_fetch(batch, fd, subvolid, key, key, 1);
	/* It was deleted in the meantime. */
	if (ret == -ENOENT)
		return 0;
	if (ret == 0)
		ret = tree_batch_next(batch, &item);
	return ret <= 0 ? ret : item.leaf_generation == generation;
}

int relatives_share_leaf(const struct relatives *relatives, struct tree_batch *batch, int fd,
			 struct tree_key key, uint64_t generation)
{
	for (size_t i = 0; i < relatives->count; i++) {
		const struct family_member *relative = relatives->members[i];
		int ret = has_leaf(batch, fd, relative->subvolid, key, generation);

		if (ret)
			return ret;
	}
	return 0;
}
