/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PATH_NODE_H
#define FASTPATH_PATH_NODE_H

#include <stddef.h>

/*
 * Paths as chains of names: a node refers to that of its directory, so that the paths of all files
 * of a deep tree together have one copy of each name. Nodes are counted references, and no thread
 * but one may make, hold or release them.
 */
struct path_node;

/* Where nodes belong to, which it must outlive. If the member is 0 it is empty. */
struct path_store {
	/* what all of its nodes take */
	size_t size;
};

/*
 * The path of NAME in DIRECTORY, which it holds, or NAME itself if DIRECTORY is NULL. A "/" comes
 * between the two unless DIRECTORY ends with one. Returns NULL if there is no memory.
 */
struct path_node *path_node_new(struct path_store *store, struct path_node *directory,
				const char *name);
struct path_node *path_node_hold(struct path_node *node);
/* NODE can be NULL. */
void path_node_release(struct path_node *node);

/* The name within the directory, which lives as long as NODE. */
const char *path_node_name(const struct path_node *node);
/* NULL if there is none. */
struct path_node *path_node_directory(const struct path_node *node);

/* The bytes of the whole path. */
size_t path_node_length(const struct path_node *node);

/*
 * What the other nodes in the store of NODE take: all but NODE and those of the directories above it.
 */
size_t path_node_others_size(const struct path_node *node);

/*
 * Compares two paths as strcmp(3) does. The time depends only on the logarithm of their length if
 * both are below the same node without a directory, and on the length of what they have in common
 * otherwise.
 */
int path_node_compare(const struct path_node *a, const struct path_node *b);

/* The text of one path after the other, in memory that is used again. All members are 0 at first. */
struct path_text {
	char *text;
	size_t size;
	/* whose path is at the start of TEXT */
	struct path_node *directory;
};

/*
 * The path of NAME in DIRECTORY as path_node_new() makes it, which stays valid until the next call.
 * Returns NULL if there is no memory.
 */
const char *path_text_of(struct path_text *text, struct path_node *directory, const char *name);
/* Before the store of the directories ends. TEXT can be used again. */
void path_text_free(struct path_text *text);

#endif
