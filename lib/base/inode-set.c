// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "base/inode-set.h"

struct inode_key {
	dev_t device;
	ino_t inode;
};

struct inode_set {
	void *tree;
};

static int compare_keys(const void *a, const void *b)
{
	const struct inode_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

int inode_set_new(struct inode_set **ret_set)
{
	struct inode_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	*ret_set = set;
	return 0;
}

void inode_set_free(struct inode_set *set)
{
	if (!set)
		return;
	tdestroy(set->tree, free);
	free(set);
}

int inode_set_add(struct inode_set *set, dev_t device, ino_t inode)
{
	struct inode_key *key = malloc(sizeof(*key));
	struct inode_key **node;

	if (!key)
		return -ENOMEM;
	*key = (struct inode_key){ .device = device, .inode = inode };
	node = tsearch(key, &set->tree, compare_keys);
	if (!node) {
		free(key);
		return -ENOMEM;
	}
	if (*node != key) {
		free(key);
		return 0;
	}
	return 1;
}
