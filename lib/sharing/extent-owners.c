// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/backref.h"
#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/extent-owners.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256

/* All that the file has of one data extent. */
struct own_extent {
	uint64_t bytenr;
	uint64_t bytes;
	uint64_t flagged_shared;
};

struct extent_owners {
	uint64_t subvolid;
	uint64_t inode;
	struct record_sort *held;
	/* tsearch() tree of struct extent_owner, and the same in a list */
	void *tree;
	struct extent_owner **list;
	size_t count;
	uint64_t incomplete_count;
	uint64_t doubtful_count;
};

static int compare_held(const void *a, const void *b)
{
	const struct own_extent *x = a, *y = b;

	return (x->bytenr > y->bytenr) - (x->bytenr < y->bytenr);
}

static bool merge_held(void *record, const void *next)
{
	struct own_extent *held = record;
	const struct own_extent *same = next;

	if (held->bytenr != same->bytenr)
		return false;
	held->bytes = saturating_add(held->bytes, same->bytes);
	held->flagged_shared |= same->flagged_shared;
	return true;
}

static const struct record_sort_ops held_ops = {
	.record_size = sizeof(struct own_extent),
	.compare = compare_held,
	.merge = merge_held,
};

int extent_owners_new(struct extent_owners **ret_owners, uint64_t subvolid, uint64_t inode)
{
	struct extent_owners *owners = calloc(1, sizeof(*owners));
	int ret;

	if (!owners)
		return -ENOMEM;
	ret = record_sort_new(&owners->held, &held_ops, MEMORY);
	if (ret < 0) {
		free(owners);
		return ret;
	}
	owners->subvolid = subvolid;
	owners->inode = inode;

	*ret_owners = owners;
	return 0;
}

void extent_owners_free(struct extent_owners *owners)
{
	if (!owners)
		return;
	record_sort_free(owners->held);
	tdestroy(owners->tree, free);
	free(owners->list);
	free(owners);
}

void extent_owners_add(struct extent_owners *owners, const struct file_extent *extent,
		       uint64_t bytes, bool flagged_shared)
{
	struct own_extent held = {
		.bytenr = extent->disk_bytenr,
		.bytes = bytes,
		.flagged_shared = flagged_shared,
	};

	record_sort_add(owners->held, &held);
}

static int compare_owners(const void *a, const void *b)
{
	const struct extent_owner *x = a, *y = b;

	if (x->subvolid != y->subvolid)
		return x->subvolid < y->subvolid ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Returns NULL without memory. */
static struct extent_owner *add_owner(struct extent_owners *owners, const struct extent_owner *key)
{
	struct extent_owner **list = reallocarray(owners->list, owners->count + 1, sizeof(*list));
	struct extent_owner *owner;

	if (!list)
		return NULL;
	owners->list = list;
	owner = malloc(sizeof(*owner));
	if (!owner)
		return NULL;
	*owner = *key;
	if (!tsearch(owner, &owners->tree, compare_owners)) {
		free(owner);
		return NULL;
	}
	list[owners->count++] = owner;
	return owner;
}

static int credit_owner(struct extent_owners *owners, uint64_t subvolid, uint64_t inode,
			uint64_t bytes)
{
	struct extent_owner key = { .subvolid = subvolid, .inode = inode };
	struct extent_owner *const *node = tfind(&key, &owners->tree, compare_owners);
	struct extent_owner *owner = node ? *node : add_owner(owners, &key);

	if (!owner)
		return -ENOMEM;
	owner->extent_count++;
	owner->bytes = saturating_add(owner->bytes, bytes);
	return 0;
}

/* What the references to an extent say of the file. */
struct references {
	size_t own_count;
	uint64_t other_owner_count;
	bool have_copy;
};

static int credit_refs(struct extent_owners *owners, const struct own_extent *held,
		       struct extent_ref *refs, size_t count, struct references *ret_references)
{
	struct references references = { 0 };
	int ret;

	qsort(refs, count, sizeof(*refs), extent_ref_compare_files);
	for (size_t i = 0; i < count; i++) {
		if (refs[i].root == owners->subvolid && refs[i].inode == owners->inode) {
			references.own_count++;
			continue;
		}
		/* The other references have moved with it. */
		if (refs[i].root == BTRFS_DATA_RELOC_TREE_OBJECTID) {
			references.have_copy = true;
			continue;
		}
		if (i && extent_ref_compare_files(&refs[i - 1], &refs[i]) == 0)
			continue;
		references.other_owner_count++;
		ret = credit_owner(owners, refs[i].root, refs[i].inode, held->bytes);
		if (ret < 0)
			return ret;
	}

	*ret_references = references;
	return 0;
}

/* Several references alone do not mean shared: an overwrite in its middle splits one. */
static int credit_itself(struct extent_owners *owners, const struct own_extent *held,
			 struct references *references)
{
	if (references->other_owner_count || references->own_count < 2 || !held->flagged_shared)
		return 0;
	references->other_owner_count = 1;
	/* The flag can be that of a relocation's copy. */
	owners->doubtful_count++;
	return credit_owner(owners, owners->subvolid, owners->inode, held->bytes);
}

static void judge(struct extent_owners *owners, const struct own_extent *held,
		  const struct references *references, const struct extent_owners_ops *ops,
		  void *data)
{
	const struct owner_disagreement disagreement = {
		.bytenr = held->bytenr,
		.flagged_shared = held->flagged_shared,
		.other_owner_count = references->other_owner_count,
	};

	if ((references->other_owner_count > 0) == held->flagged_shared)
		return;
	owners->doubtful_count++;
	if (!references->have_copy)
		ops->disagreement(data, &disagreement);
}

static int resolve_extent(struct extent_owners *owners, struct backref_query *query, int fd,
			  const struct own_extent *held, const struct extent_owners_ops *ops,
			  void *data)
{
	struct references references;
	struct extent_ref *refs;
	bool complete;
	size_t count;
	int ret;

	ret = backref_query_extent(query, fd, held->bytenr, &refs, &count, &complete);
	/* It is gone already, or elsewhere. */
	if (ret == -ENOENT || (ret == 0 && !count)) {
		owners->doubtful_count++;
		return 0;
	}
	if (ret < 0)
		return ret;
	if (!complete)
		owners->incomplete_count++;

	ret = credit_refs(owners, held, refs, count, &references);
	if (ret == 0)
		ret = credit_itself(owners, held, &references);
	if (ret < 0)
		return ret;
	if (!references.own_count && complete)
		owners->doubtful_count++;
	judge(owners, held, &references, ops, data);
	return 0;
}

static int compare_bytes_falling(const void *a, const void *b)
{
	const struct extent_owner *x = *(struct extent_owner *const *)a;
	const struct extent_owner *y = *(struct extent_owner *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return compare_owners(x, y);
}

int extent_owners_sort(struct extent_owners *owners)
{
	return record_sort_finish(owners->held);
}

int extent_owners_resolve(struct extent_owners *owners, int fd, struct relocation_watch *watch,
			  const struct extent_owners_ops *ops, void *data)
{
	CLEANUP(backref_query_freep) struct backref_query *query = NULL;
	struct own_extent held;
	uint64_t asked = 0;
	int ret;

	ret = backref_query_new(&query);
	if (ret < 0)
		return ret;
	backref_query_watch(query, watch);
	while ((ret = record_sort_next(owners->held, &held)) > 0) {
		ret = resolve_extent(owners, query, fd, &held, ops, data);
		if (ret < 0)
			return ret;
		if (++asked % EXTENTS_PER_PROGRESS == 0)
			ops->progress(data, asked);
	}
	if (ret < 0)
		return ret;

	if (owners->count)
		qsort(owners->list, owners->count, sizeof(*owners->list), compare_bytes_falling);
	return 0;
}

const struct extent_owner *const *extent_owners_list(const struct extent_owners *owners,
						     size_t *ret_count)
{
	*ret_count = owners->count;
	return (const struct extent_owner *const *)owners->list;
}

uint64_t extent_owners_incomplete_count(const struct extent_owners *owners)
{
	return owners->incomplete_count;
}

uint64_t extent_owners_doubtful_count(const struct extent_owners *owners)
{
	return owners->doubtful_count;
}

const char *extent_owners_failed_in(const struct extent_owners *owners)
{
	return record_sort_failed_in(owners->held);
}
