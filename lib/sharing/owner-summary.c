// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/backref.h"
#include "num/digest.h"
#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/owner-summary.h"
#include "sharing/sole-owner.h"
#include "sys/cleanup.h"

#define MEMORY (16 * 1024 * 1024)
#define EXTENTS_PER_PROGRESS 256

/* A part of a data extent that examined files refer to. */
struct mapped_piece {
	uint64_t bytenr;
	/* in the data extent, from START up to END */
	uint64_t start;
	uint64_t end;
	/* one of the files, and whether there is another */
	uint64_t subvolid;
	uint64_t inode;
	bool several;
	bool flagged_shared;
};

/* All that the examined files have of one data extent; the members are as above. */
struct held {
	uint64_t bytenr;
	uint64_t bytes;
	uint64_t subvolid;
	uint64_t inode;
	bool several;
	bool flagged_shared;
};

struct owner_file {
	uint64_t subvolid;
	uint64_t inode;
};

struct owner_summary {
	struct record_sort *pieces;
	struct record_sort *files;
	/* in order of their ids, and at the end of their bytes */
	struct subvolume_owners *list;
	size_t count;
	uint64_t incomplete_count;
	uint64_t moved_count;
	uint64_t digest;
	uint64_t asked_count;
};

/* -- sorting -- */

static int compare_pieces(const void *a, const void *b)
{
	const struct mapped_piece *x = a, *y = b;

	if (x->bytenr != y->bytenr)
		return compare_numbers(x->bytenr, y->bytenr);
	return compare_numbers(x->start, y->start);
}

static bool is_same_file(const struct mapped_piece *x, uint64_t subvolid, uint64_t inode)
{
	return x->subvolid == subvolid && x->inode == inode;
}

static bool merge_pieces(void *record, const void *next)
{
	struct mapped_piece *piece = record;
	const struct mapped_piece *later = next;

	if (piece->bytenr != later->bytenr || later->start > piece->end)
		return false;
	if (later->end > piece->end)
		piece->end = later->end;
	piece->several |= later->several || !is_same_file(later, piece->subvolid, piece->inode);
	piece->flagged_shared |= later->flagged_shared;
	return true;
}

static const struct record_sort_ops piece_ops = {
	.record_size = sizeof(struct mapped_piece),
	.compare = compare_pieces,
	.merge = merge_pieces,
};

static int compare_files(const void *a, const void *b)
{
	const struct owner_file *x = a, *y = b;

	if (x->subvolid != y->subvolid)
		return compare_numbers(x->subvolid, y->subvolid);
	return compare_numbers(x->inode, y->inode);
}

static bool merge_files(void *record, const void *next)
{
	return compare_files(record, next) == 0;
}

static const struct record_sort_ops file_ops = {
	.record_size = sizeof(struct owner_file),
	.compare = compare_files,
	.merge = merge_files,
};

int owner_summary_new(struct owner_summary **ret_summary)
{
	struct owner_summary *summary = calloc(1, sizeof(*summary));
	int ret;

	if (!summary)
		return -ENOMEM;
	ret = record_sort_new(&summary->pieces, &piece_ops, MEMORY);
	if (ret == 0)
		ret = record_sort_new(&summary->files, &file_ops, MEMORY);
	if (ret < 0) {
		owner_summary_free(summary);
		return ret;
	}

	*ret_summary = summary;
	return 0;
}

void owner_summary_free(struct owner_summary *summary)
{
	if (!summary)
		return;
	record_sort_free(summary->pieces);
	record_sort_free(summary->files);
	free(summary->list);
	free(summary);
}

void owner_summary_add(struct owner_summary *summary, uint64_t subvolid, uint64_t inode,
		       const struct file_extent *extent, uint64_t skipped, uint64_t length,
		       bool flagged_shared)
{
	/* Zeroed, also between the members: the bytes may be written to a file. */
	struct mapped_piece piece;

	memset(&piece, 0, sizeof(piece));
	piece.bytenr = extent->disk_bytenr;
	piece.start = saturating_add(extent->extent_offset, skipped);
	piece.end = saturating_add(piece.start, length);
	piece.subvolid = subvolid;
	piece.inode = inode;
	piece.flagged_shared = flagged_shared;
	record_sort_add(summary->pieces, &piece);
}

/* -- the subvolumes -- */

/* The place of SUBVOLID in the list, or where it belongs. */
static size_t place_of(const struct owner_summary *summary, uint64_t subvolid)
{
	size_t low = 0, high = summary->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (summary->list[middle].subvolid < subvolid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns NULL without memory. */
static struct subvolume_owners *find_subvolume(struct owner_summary *summary, uint64_t subvolid)
{
	size_t place = place_of(summary, subvolid);
	struct subvolume_owners *list = summary->list;

	if (place < summary->count && list[place].subvolid == subvolid)
		return &list[place];
	list = reallocarray(list, summary->count + 1, sizeof(*list));
	if (!list)
		return NULL;
	summary->list = list;
	memmove(&list[place + 1], &list[place], (summary->count - place) * sizeof(*list));
	list[place] = (struct subvolume_owners){ .subvolid = subvolid };
	summary->count++;
	return &list[place];
}

static int credit_subvolume(struct owner_summary *summary, uint64_t subvolid,
			    const struct held *held)
{
	struct subvolume_owners *subvolume = find_subvolume(summary, subvolid);

	if (!subvolume)
		return -ENOMEM;
	subvolume->extent_count++;
	subvolume->bytes = saturating_add(subvolume->bytes, held->bytes);
	return 0;
}

static void credit_file(struct owner_summary *summary, uint64_t subvolid, uint64_t inode)
{
	const struct owner_file file = { subvolid, inode };

	record_sort_add(summary->files, &file);
}

static void add_to_digest(struct owner_summary *summary, uint64_t bytes,
			  const struct extent_ref *ref)
{
	uint64_t digest = digest_add_number(DIGEST_START, bytes);

	digest = digest_add_number(digest, ref->root);
	summary->digest += digest_add_number(digest, ref->inode);
}

/* REFS are in order of their files. */
static int credit_refs(struct owner_summary *summary, const struct held *held,
		       const struct extent_ref *refs, size_t count)
{
	const struct extent_ref *last = NULL;
	size_t own_refs = 0;
	int ret;

	for (size_t i = 0; i < count; i++) {
		add_to_digest(summary, held->bytes, &refs[i]);
		if (!held->several && refs[i].root == held->subvolid &&
		    refs[i].inode == held->inode) {
			own_refs++;
			continue;
		}
		if (last && extent_ref_compare_files(last, &refs[i]) == 0)
			continue;
		if (!last || last->root != refs[i].root) {
			ret = credit_subvolume(summary, refs[i].root, held);
			if (ret < 0)
				return ret;
		}
		credit_file(summary, refs[i].root, refs[i].inode);
		last = &refs[i];
	}

	/* Several references alone do not mean shared: an overwrite in its middle splits one. */
	if (last || own_refs < 2 || !held->flagged_shared)
		return 0;
	credit_file(summary, held->subvolid, held->inode);
	return credit_subvolume(summary, held->subvolid, held);
}

/* -- looking up -- */

struct resolution {
	int fd;
	struct backref_query *query;
	struct extent_lookup *lookup;
	/* or NULL */
	const struct snapshot_families *families;
};

/*
 * Whether nobody else refers to it. The extent tree does not know the references of the running
 * transaction yet, but FIEMAP does.
 */
static bool is_own(const struct resolution *resolution, const struct held *held)
{
	struct extent_ref sole;

	return !held->several && !held->flagged_shared && resolution->families &&
	       find_sole_owner(resolution->lookup, resolution->families, held->bytenr, &sole) &&
	       sole.root == held->subvolid && sole.inode == held->inode;
}

static int resolve_extent(struct owner_summary *summary, const struct resolution *resolution,
			  const struct held *held)
{
	struct extent_ref *refs;
	bool complete;
	size_t count;
	int ret;

	summary->digest += digest_add_number(DIGEST_START, held->bytes);
	if (is_own(resolution, held))
		return 0;
	ret = backref_query_extent(resolution->query, resolution->fd, held->bytenr, &refs, &count,
				   &complete);
	if (ret == -ENOENT || (ret == 0 && extent_refs_have_moved(refs, count))) {
		summary->moved_count++;
		return 0;
	}
	if (ret < 0)
		return ret;
	if (!complete)
		summary->incomplete_count++;
	qsort(refs, count, sizeof(*refs), extent_ref_compare_files);
	return credit_refs(summary, held, refs, count);
}

static void hold(struct held *held, const struct mapped_piece *piece)
{
	bool is_new = held->bytenr != piece->bytenr || !held->bytes;

	if (is_new)
		*held = (struct held){
			.bytenr = piece->bytenr,
			.subvolid = piece->subvolid,
			.inode = piece->inode,
		};
	held->bytes = saturating_add(held->bytes, piece->end - piece->start);
	held->several |= piece->several || !is_same_file(piece, held->subvolid, held->inode);
	held->flagged_shared |= piece->flagged_shared;
}

static int resolve_pieces(struct owner_summary *summary, const struct resolution *resolution,
			  void (*progress)(uint64_t extents_asked))
{
	struct held held = { 0 };
	struct mapped_piece piece;
	int ret, resolved;

	while ((ret = record_sort_next(summary->pieces, &piece)) > 0) {
		if (held.bytes && held.bytenr != piece.bytenr) {
			resolved = resolve_extent(summary, resolution, &held);
			if (resolved < 0)
				return resolved;
			if (++summary->asked_count % EXTENTS_PER_PROGRESS == 0)
				progress(summary->asked_count);
		}
		hold(&held, &piece);
	}
	if (ret < 0 || !held.bytes)
		return ret;
	return resolve_extent(summary, resolution, &held);
}

static int count_files(struct owner_summary *summary)
{
	struct owner_file file;
	int ret;

	ret = record_sort_finish(summary->files);
	if (ret < 0)
		return ret;
	while ((ret = record_sort_next(summary->files, &file)) > 0)
		/* Each of them is in the list. */
		summary->list[place_of(summary, file.subvolid)].file_count++;
	return ret;
}

static int compare_bytes_falling(const void *a, const void *b)
{
	const struct subvolume_owners *x = a, *y = b;

	if (x->bytes != y->bytes)
		return compare_numbers(y->bytes, x->bytes);
	return compare_numbers(x->subvolid, y->subvolid);
}

int owner_summary_resolve(struct owner_summary *summary, int fd,
			  const struct snapshot_families *families, struct relocation_watch *watch,
			  void (*progress)(uint64_t extents_asked))
{
	CLEANUP(backref_query_freep) struct backref_query *query = NULL;
	CLEANUP(extent_lookup_freep) struct extent_lookup *lookup = NULL;
	struct resolution resolution;
	int ret;

	ret = backref_query_new(&query);
	if (ret == 0)
		ret = extent_lookup_new(&lookup);
	if (ret == 0)
		ret = record_sort_finish(summary->pieces);
	if (ret < 0)
		return ret;
	extent_lookup_start(lookup, fd);
	backref_query_watch(query, watch);
	resolution = (struct resolution){ fd, query, lookup, watch ? NULL : families };
	ret = resolve_pieces(summary, &resolution, progress);
	if (ret == 0)
		ret = count_files(summary);
	if (ret < 0)
		return ret;

	if (summary->count)
		qsort(summary->list, summary->count, sizeof(*summary->list), compare_bytes_falling);
	return 0;
}

const char *owner_summary_failed_in(const struct owner_summary *summary)
{
	const char *directory = record_sort_failed_in(summary->pieces);

	return directory ? directory : record_sort_failed_in(summary->files);
}

const struct subvolume_owners *owner_summary_list(const struct owner_summary *summary,
						  size_t *ret_count)
{
	*ret_count = summary->count;
	return summary->list;
}

uint64_t owner_summary_incomplete_count(const struct owner_summary *summary)
{
	return summary->incomplete_count;
}

uint64_t owner_summary_moved_count(const struct owner_summary *summary)
{
	return summary->moved_count;
}

uint64_t owner_summary_digest(const struct owner_summary *summary)
{
	return summary->digest;
}
