// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "path/path-node.h"

struct path_node {
	struct path_store *store;
	struct path_node *directory;
	/*
	 * An ancestor, or the node itself without a directory. The distances to it are such that each
	 * ancestor can be reached in a logarithmic number of steps: see jump_of().
	 */
	struct path_node *jump;
	/* the bytes of the whole path */
	size_t length;
	unsigned int depth;
	unsigned int holders;
	/* what it adds to the path of the directory: the name, after "/" where one is needed */
	char text[];
};

static size_t text_length(const struct path_node *node)
{
	return node->length - (node->directory ? node->directory->length : 0);
}

static size_t size_of(const struct path_node *node)
{
	return sizeof(*node) + text_length(node) + 1;
}

static bool needs_slash(const struct path_node *directory)
{
	size_t length = directory ? text_length(directory) : 0;

	return length && directory->text[length - 1] != '/';
}

/* Twice as far as that of the directory if its jump and the next one are equally far, else one step. */
static struct path_node *jump_of(struct path_node *directory)
{
	const struct path_node *next = directory->jump;

	if (directory->depth - next->depth == next->depth - next->jump->depth)
		return next->jump;
	return directory;
}

struct path_node *path_node_new(struct path_store *store, struct path_node *directory,
				const char *name)
{
	bool slash = needs_slash(directory);
	size_t length = strlen(name);
	struct path_node *node = malloc(sizeof(*node) + slash + length + 1);

	if (!node)
		return NULL;
	*node = (struct path_node){
		.store = store,
		.directory = directory,
		.jump = directory ? jump_of(directory) : node,
		.length = (directory ? directory->length : 0) + slash + length,
		.depth = directory ? directory->depth + 1 : 0,
		.holders = 1,
	};
	memcpy(node->text, "/", slash);
	memcpy(node->text + slash, name, length + 1);
	if (directory)
		path_node_hold(directory);
	store->size += size_of(node);
	return node;
}

struct path_node *path_node_hold(struct path_node *node)
{
	node->holders++;
	return node;
}

void path_node_release(struct path_node *node)
{
	while (node && !--node->holders) {
		struct path_node *directory = node->directory;

		node->store->size -= size_of(node);
		free(node);
		node = directory;
	}
}

const char *path_node_name(const struct path_node *node)
{
	return node->text + (node->directory && *node->text == '/');
}

struct path_node *path_node_directory(const struct path_node *node)
{
	return node->directory;
}

size_t path_node_length(const struct path_node *node)
{
	return node->length;
}

size_t path_node_others_size(const struct path_node *node)
{
	size_t node_count = (size_t)node->depth + 1;

	return node->store->size - node->length - node_count * (sizeof(*node) + 1);
}

/* -- comparing -- */

static const struct path_node *ancestor_at(const struct path_node *node, unsigned int depth)
{
	while (node->depth > depth)
		node = node->jump->depth >= depth ? node->jump : node->directory;
	return node;
}

/* How much of the paths is that of the lowest node above both. */
static size_t common_length(const struct path_node *a, const struct path_node *b)
{
	unsigned int depth = a->depth < b->depth ? a->depth : b->depth;

	a = ancestor_at(a, depth);
	b = ancestor_at(b, depth);
	while (a != b && a->depth) {
		bool is_above = a->jump == b->jump;

		a = is_above ? a->directory : a->jump;
		b = is_above ? b->directory : b->jump;
	}
	return a == b ? a->length : 0;
}

/* The bytes of a path from POSITION on that one node has. */
struct path_piece {
	const char *text;
	size_t length;
};

static struct path_piece piece_at(const struct path_node *node, size_t position)
{
	while (node->directory && node->directory->length > position)
		node = node->jump->length > position ? node->jump : node->directory;
	return (struct path_piece){
		node->text + text_length(node) - (node->length - position),
		node->length - position,
	};
}

int path_node_compare(const struct path_node *a, const struct path_node *b)
{
	size_t position = common_length(a, b);

	while (position < a->length && position < b->length) {
		struct path_piece of_a = piece_at(a, position), of_b = piece_at(b, position);
		size_t length = of_a.length < of_b.length ? of_a.length : of_b.length;
		int order = memcmp(of_a.text, of_b.text, length);

		if (order)
			return order;
		position += length;
	}
	return a->length == b->length ? 0 : a->length < b->length ? -1 : 1;
}

/* -- text -- */

static bool make_room(struct path_text *text, size_t size)
{
	char *room;

	if (size <= text->size)
		return true;
	size += size / 4;
	room = realloc(text->text, size);
	if (!room)
		return false;
	text->text = room;
	text->size = size;
	return true;
}

/* From the end to the start, as a chain is linked. */
static void write_directory(struct path_text *text, const struct path_node *node)
{
	for (; node; node = node->directory)
		memcpy(text->text + node->length - text_length(node), node->text,
		       text_length(node));
}

const char *path_text_of(struct path_text *text, struct path_node *directory, const char *name)
{
	size_t length = directory ? directory->length : 0;
	bool slash = needs_slash(directory);

	if (!make_room(text, length + slash + strlen(name) + 1))
		return NULL;
	if (directory != text->directory) {
		write_directory(text, directory);
		path_node_release(text->directory);
		text->directory = directory ? path_node_hold(directory) : NULL;
	}
	memcpy(text->text + length, "/", slash);
	strcpy(text->text + length + slash, name);
	return text->text;
}

void path_text_free(struct path_text *text)
{
	path_node_release(text->directory);
	free(text->text);
	*text = (struct path_text){ 0 };
}
