// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path/path-node.h"
#include "sys/cleanup.h"
#include "test.h"

#define DEPTH 1000

static struct path_store store;

/* The node of a path whose names are after its first COUNT bytes, those of the name without a directory. */
static struct path_node *make(const char *path, size_t count)
{
	CLEANUP_FREE char *names = strdup(path);
	char *rest = names + count, *name, first[64] = "";
	struct path_node *node;

	memcpy(first, path, count);
	node = path_node_new(&store, NULL, first);
	while ((name = strsep(&rest, "/"))) {
		struct path_node *directory = node;

		if (!*name)
			continue;
		node = path_node_new(&store, directory, name);
		path_node_release(directory);
	}
	return node;
}

static const struct {
	const char *path;
	/* of the name without a directory */
	size_t count;
} paths[] = {
	{ "/", 1 },	{ "/a", 1 },	  { "/a/b", 1 },   { "/a/b", 2 },    { "a", 1 },
	{ "a/b", 1 },	{ "a/b", 3 },	  { "a/b/c", 1 },  { "a/b/c", 3 },   { "a/b-c", 1 },
	{ "a-/b", 2 },	{ "a-/b/x", 2 },  { "a/\xff", 1 }, { "a/bb/c", 1 },  { "a/b/c/d", 3 },
	{ "a/bb", 1 },	{ "a/b/c/d", 1 }, { "dir/", 4 },   { "dir/x/y", 4 }, { "dir//x", 5 },
	{ "./dir", 1 }, { "./dir/x", 1 }, { "b", 1 },	   { "", 0 },
};

static int sign(int number)
{
	return number < 0 ? -1 : number > 0;
}

TEST(test_text)
{
	struct path_text text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct path_node *node = make(paths[i].path, paths[i].count);

		assert_string_equal(path_text_of(&text, path_node_directory(node),
						 path_node_name(node)),
				    paths[i].path);
		path_node_release(node);
	}
	path_text_free(&text);
	assert_int_equal(store.size, 0);
}

/* All against all, as strcmp() has it. */
TEST(test_compare)
{
	struct path_node *nodes[ARRAY_SIZE(paths)];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		nodes[i] = make(paths[i].path, paths[i].count);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++)
			assert_int_equal(sign(path_node_compare(nodes[i], nodes[j])),
					 sign(strcmp(paths[i].path, paths[j].path)));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		path_node_release(nodes[i]);
	assert_int_equal(store.size, 0);
}

/* Siblings at each depth, and the same below another directory. */
TEST(test_compare_in_a_tree)
{
	struct path_node *root = path_node_new(&store, NULL, "root"), *below = path_node_hold(root);
	struct path_node *files[DEPTH];

	for (int i = 0; i < DEPTH; i++) {
		struct path_node *next = path_node_new(&store, below, "m");

		files[i] = path_node_new(&store, below, i % 2 ? "a" : "z");
		path_node_release(below);
		below = next;
	}
	path_node_release(below);
	for (int i = 0; i < DEPTH; i += 7) {
		for (int j = 0; j < DEPTH; j++) {
			int expected = i == j ? 0 : (i < j ? i : j) % 2 ? -1 : 1;

			assert_int_equal(sign(path_node_compare(files[i], files[j])),
					 i < j ? expected : -expected);
		}
	}
	for (int i = 0; i < DEPTH; i++)
		path_node_release(files[i]);
	path_node_release(root);
	assert_int_equal(store.size, 0);
}

/* One copy of each name, and what is counted is what is there. */
TEST(test_size)
{
	struct path_node *root = path_node_new(&store, NULL, "root");
	struct path_node *directory = path_node_new(&store, root, "directory");
	size_t chain_size = store.size;
	struct path_node *one = path_node_new(&store, directory, "one");
	size_t file_size = store.size - chain_size;
	struct path_node *two = path_node_new(&store, directory, "two");

	assert_in_range(file_size, 4, 200);
	assert_int_equal(store.size, chain_size + 2 * file_size);
	assert_int_equal(path_node_others_size(one), file_size);
	assert_int_equal(path_node_others_size(directory), 2 * file_size);
	path_node_release(root);
	path_node_release(directory);
	path_node_release(two);
	assert_int_equal(path_node_others_size(one), 0);
	assert_string_equal(path_node_name(path_node_directory(one)), "directory");
	path_node_release(one);
	assert_int_equal(store.size, 0);
}

/* The text keeps its directory, so that it can tell another one at the same address. */
TEST(test_text_of_another_directory)
{
	struct path_text text = { 0 };

	for (int i = 0; i < 3; i++) {
		char name[16], expected[32];
		struct path_node *directory;

		snprintf(name, sizeof(name), "d%d", i);
		snprintf(expected, sizeof(expected), "d%d/file", i);
		directory = path_node_new(&store, NULL, name);
		assert_string_equal(path_text_of(&text, directory, "file"), expected);
		path_node_release(directory);
	}
	path_text_free(&text);
	assert_int_equal(store.size, 0);
}
