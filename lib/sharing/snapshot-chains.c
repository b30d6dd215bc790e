// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sharing/snapshot-chains.h"

/* Most leaves are in the last subvolume of a chain, or end where that of the search before did. */
#define GUESSES 3
/* For the items that a leaf has, in the 16 KiB of most file systems. */
#define WINDOW_ROOM (16 * 1024)
#define WINDOW_ITEMS 200

struct link {
	struct chained_subvolume subvolume;
	size_t chain;
	/* in its chain */
	size_t position;
};

struct chain {
	/* the numbers of its subvolumes */
	size_t *numbers;
	size_t count;
	/* whether another one begins after one of its subvolumes */
	bool has_branches;
	/* the positions of those that have the leaf of the search number SEARCH, and their arguments */
	uint64_t search;
	size_t first;
	size_t last;
	struct holders holders;
};

/* Where a search in a tree is. The next one often goes on from there. */
struct window {
	struct tree_batch *items;
	/* the subvolume, and the key that was searched; ITEM is the first one from there on */
	size_t number;
	struct tree_key key;
	bool has_item;
	struct tree_item item;
};

struct snapshot_chains {
	struct link *links;
	size_t link_count;
	/* a chain begins after the one that it branches from */
	struct chain *chains;
	size_t chain_count;
	uint64_t search;
	/* one for each guess, and one for the other searches */
	struct window windows[GUESSES + 1];
};

int snapshot_chains_new(struct snapshot_chains **ret_chains)
{
	struct snapshot_chains *chains = calloc(1, sizeof(*chains));
	int ret = chains ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && i <= GUESSES; i++) {
		chains->windows[i].number = SIZE_MAX;
		ret = tree_batch_new(&chains->windows[i].items, WINDOW_ROOM);
	}
	if (ret < 0) {
		snapshot_chains_free(chains);
		return ret;
	}
	*ret_chains = chains;
	return 0;
}

void snapshot_chains_free(struct snapshot_chains *chains)
{
	if (!chains)
		return;
	for (size_t i = 0; i < chains->chain_count; i++)
		free(chains->chains[i].numbers);
	for (size_t i = 0; i <= GUESSES; i++)
		tree_batch_free(chains->windows[i].items);
	free(chains->chains);
	free(chains->links);
	free(chains);
}

/* Returns 0 or -ENOMEM. */
static int begin_chain(struct snapshot_chains *chains)
{
	struct chain *list = reallocarray(chains->chains, chains->chain_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	chains->chains = list;
	list[chains->chain_count++] = (struct chain){ 0 };
	return 0;
}

/* Whether SUBVOLUME continues the chain of its base. */
static bool can_follow(const struct snapshot_chains *chains, const struct link *base,
		       const struct chained_subvolume *subvolume)
{
	return base->position + 1 == chains->chains[base->chain].count &&
	       base->subvolume.shared_before <= subvolume->shared_before;
}

int snapshot_chains_add(struct snapshot_chains *chains, const struct chained_subvolume *subvolume)
{
	struct link *links = reallocarray(chains->links, chains->link_count + 1, sizeof(*links));
	const struct link *base;
	struct chain *chain;
	bool follows;
	size_t *numbers;

	if (!links)
		return -ENOMEM;
	chains->links = links;
	base = subvolume->shared_before ? &links[subvolume->base] : NULL;
	follows = base && can_follow(chains, base, subvolume);
	if (!follows && begin_chain(chains) < 0)
		return -ENOMEM;
	if (base && !follows)
		chains->chains[base->chain].has_branches = true;
	chain = &chains->chains[follows ? base->chain : chains->chain_count - 1];
	numbers = reallocarray(chain->numbers, chain->count + 1, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	chain->numbers = numbers;
	links[chains->link_count] = (struct link){
		.subvolume = *subvolume,
		.chain = chain - chains->chains,
		.position = chain->count,
	};
	numbers[chain->count++] = chains->link_count++;
	return 0;
}

/* A leaf that is searched, by one of its items. */
struct wanted_leaf {
	struct tree_key key;
	uint64_t generation;
};

/* Newer leaves are not known to be in common, even if they look alike. */
static bool is_in_common(const struct chained_subvolume *subvolume, const struct wanted_leaf *leaf)
{
	return leaf->generation < subvolume->shared_before;
}

static int compare_item(const struct tree_item *item, const struct tree_key *key)
{
	const struct tree_key of_item = { item->objectid, item->type, item->offset };

	return tree_key_compare(&of_item, key);
}

static int next_item(struct window *window)
{
	int ret = tree_batch_next(window->items, &window->item);

	window->has_item = ret > 0;
	return ret < 0 ? ret : 0;
}

/* Goes on to the first item of SUBVOLUME, the one with NUMBER, from KEY on. */
static int seek_item(struct window *window, const struct chained_subvolume *subvolume,
		     size_t number, struct tree_key key)
{
	const struct tree_key end = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	bool goes_on = window->number == number && tree_key_compare(&window->key, &key) <= 0;
	int ret = 0;

	window->has_item &= goes_on;
	window->number = number;
	window->key = key;
	while (ret == 0 && window->has_item && compare_item(&window->item, &key) < 0)
		ret = next_item(window);
	if (ret < 0 || window->has_item)
		return ret;
	ret = tree_batch_fetch(window->items, subvolume->fd, subvolume->subvolid, key, end,
			       goes_on ? WINDOW_ITEMS : 1);
	return ret < 0 ? ret : next_item(window);
}

/*
 * Whether a subvolume, whose base has the leaf, has it, too: 1, 0, or a negative errno. A tree changes by copies
 * of its blocks, which are newer, so the item is in the same leaf if its leaf is as old.
 */
static int has_leaf(const struct snapshot_chains *chains, struct window *window, size_t number,
		    const struct wanted_leaf *leaf)
{
	int ret = seek_item(window, &chains->links[number].subvolume, number, leaf->key);

	if (ret < 0)
		return ret;
	return window->has_item && compare_item(&window->item, &leaf->key) == 0 &&
	       window->item.leaf_generation == leaf->generation;
}

static const struct chained_subvolume *subvolume_at(const struct snapshot_chains *chains,
						    const struct chain *chain, size_t position)
{
	return &chains->links[chain->numbers[position]].subvolume;
}

/* The one at position FIRST of CHAIN has the leaf: adds it, and those after it that have it. */
static int follow_chain(struct snapshot_chains *chains, struct chain *chain, size_t first,
			const struct wanted_leaf *leaf, struct holders *holders)
{
	const size_t guesses[GUESSES] = { chain->count - 1, chain->last, chain->last + 1 };
	size_t last = first, end = chain->count, position;

	if (first + 1 < end && !is_in_common(subvolume_at(chains, chain, first + 1), leaf))
		end = first + 1;
	for (size_t i = 0; last + 1 < end; i++) {
		int ret;

		position = i < GUESSES ? guesses[i] : last + (end - last) / 2;
		if (position <= last || position >= end)
			continue;
		ret = has_leaf(chains, &chains->windows[i < GUESSES ? i : GUESSES],
			       chain->numbers[position], leaf);
		if (ret < 0)
			return ret;
		if (ret)
			last = position;
		else
			end = position;
	}
	/* Most items are in the leaf of the search before. */
	if (!chain->search || chain->first != first || chain->last != last) {
		chain->holders = NO_HOLDERS;
		for (position = first; position <= last; position++)
			holders_add_argument(&chain->holders,
					     subvolume_at(chains, chain, position)->argument);
	}
	chain->search = chains->search;
	chain->first = first;
	chain->last = last;
	holders_add(holders, chain->holders);
	return 0;
}

/* Whether the base of HEAD, which is in another chain, has the leaf, and HEAD may have it. */
static bool may_branch(const struct snapshot_chains *chains, const struct chained_subvolume *head,
		       const struct wanted_leaf *leaf)
{
	const struct link *base = head->shared_before ? &chains->links[head->base] : NULL;
	const struct chain *of_base = base ? &chains->chains[base->chain] : NULL;

	return of_base && is_in_common(head, leaf) && of_base->search == chains->search &&
	       base->position >= of_base->first && base->position <= of_base->last;
}

int snapshot_chains_find(struct snapshot_chains *chains, size_t number, struct tree_key key,
			 uint64_t leaf_generation, struct holders *holders)
{
	const struct wanted_leaf leaf = { key, leaf_generation };
	const struct link *link = &chains->links[number];
	bool has_branches = chains->chains[link->chain].has_branches;
	int ret;

	chains->search++;
	ret = follow_chain(chains, &chains->chains[link->chain], link->position, &leaf, holders);
	if (!has_branches)
		return ret;
	for (size_t i = link->chain + 1; ret == 0 && i < chains->chain_count; i++) {
		struct chain *chain = &chains->chains[i];
		const struct chained_subvolume *head = subvolume_at(chains, chain, 0);

		if (!may_branch(chains, head, &leaf))
			continue;
		ret = has_leaf(chains, &chains->windows[GUESSES], chain->numbers[0], &leaf);
		if (ret > 0)
			ret = follow_chain(chains, chain, 0, &leaf, holders);
	}
	return ret;
}
