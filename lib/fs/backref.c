// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/backref.h"
#include "sys/cleanup.h"
#include "sys/retry-ioctl.h"

/*
 * The kernel allocates and clears what is asked for, so ask for little first, or for what the last answer
 * would have taken: finding all references takes far longer, and must not be done twice.
 */
#define SMALL_ANSWER (4 * 1024)
#define FIRST_ANSWER_MAX (64 * 1024)
#define ANSWER_SIZE_MAX (16 * 1024 * 1024)
#define PATHS_ANSWER 4096

#define U64_PER_REF (sizeof(struct extent_ref) / sizeof(uint64_t))

struct backref_query {
	size_t size;
	struct btrfs_data_container *container;
	/* what the next answer will probably take */
	size_t expected_size;
	/* or NULL */
	struct relocation_watch *watch;
	struct relocation_mark mark;
};

static int read_header(const void *container, size_t size, struct btrfs_data_container *ret_header)
{
	if (size < sizeof(*ret_header))
		return -EPROTO;
	memcpy(ret_header, container, sizeof(*ret_header));
	if (ret_header->elem_cnt > (size - sizeof(*ret_header)) / sizeof(uint64_t))
		return -EPROTO;
	return 0;
}

int extent_ref_compare_files(const void *a, const void *b)
{
	const struct extent_ref *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

bool extent_refs_have_moved(const struct extent_ref *refs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (refs[i].root == BTRFS_DATA_RELOC_TREE_OBJECTID)
			return true;
	return count == 0;
}

int backref_check_refs(const void *container, size_t size, size_t *ret_count)
{
	struct btrfs_data_container header;
	int ret;

	ret = read_header(container, size, &header);
	if (ret < 0)
		return ret;
	if (header.elem_cnt % U64_PER_REF)
		return -EPROTO;

	*ret_count = header.elem_cnt / U64_PER_REF;
	return 0;
}

/* Where path INDEX starts, counted from the container's values, as the kernel counts. */
static uint64_t path_position(const void *container, size_t index)
{
	uint64_t position;

	memcpy(&position,
	       (const char *)container + sizeof(struct btrfs_data_container) +
		       index * sizeof(position),
	       sizeof(position));
	return position;
}

int backref_check_paths(const void *container, size_t size, size_t *ret_count)
{
	struct btrfs_data_container header;
	size_t values_size;
	const char *values;
	int ret;

	ret = read_header(container, size, &header);
	if (ret < 0)
		return ret;

	values = (const char *)container + sizeof(header);
	values_size = size - sizeof(header);
	for (size_t i = 0; i < header.elem_cnt; i++) {
		uint64_t position = path_position(container, i);

		if (position < header.elem_cnt * sizeof(uint64_t) || position >= values_size)
			return -EPROTO;
		if (!memchr(values + position, '\0', values_size - position))
			return -EPROTO;
	}

	*ret_count = header.elem_cnt;
	return 0;
}

static int query_resize(struct backref_query *query, size_t size)
{
	struct btrfs_data_container *container = realloc(query->container, size);

	if (!container)
		return -ENOMEM;
	query->container = container;
	query->size = size;
	return 0;
}

int backref_query_new(struct backref_query **ret_query)
{
	struct backref_query *query = calloc(1, sizeof(*query));
	int ret;

	if (!query)
		return -ENOMEM;
	query->expected_size = SMALL_ANSWER;
	ret = query_resize(query, SMALL_ANSWER);
	if (ret < 0) {
		free(query);
		return ret;
	}

	*ret_query = query;
	return 0;
}

void backref_query_free(struct backref_query *query)
{
	if (!query)
		return;
	free(query->container);
	free(query);
}

static int call_logical_ino(int fd, uint64_t bytenr, void *container, size_t size)
{
	struct btrfs_ioctl_logical_ino_args arguments = {
		.logical = bytenr,
		.size = size,
		.flags = BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET,
		.inodes = (uintptr_t)container,
	};
	int ret;

	memset(container, 0, sizeof(struct btrfs_data_container));
	ret = retry_ioctl(fd, BTRFS_IOC_LOGICAL_INO_V2, &arguments, sizeof(arguments));
	return ret < 0 ? ret : 0;
}

/* Others may be added in the meantime, hence more than what was missing. */
static size_t larger_answer(size_t size, uint32_t missing)
{
	uint64_t wanted = 2 * (uint64_t)size + missing;

	return wanted < ANSWER_SIZE_MAX ? wanted : ANSWER_SIZE_MAX;
}

/* Neighbours often have as many references. */
static size_t next_answer(size_t count)
{
	uint64_t wanted = sizeof(struct btrfs_data_container) +
			  2 * count * sizeof(struct extent_ref);

	if (wanted < SMALL_ANSWER)
		return SMALL_ANSWER;
	return wanted < FIRST_ANSWER_MAX ? wanted : FIRST_ANSWER_MAX;
}

void backref_query_watch(struct backref_query *query, struct relocation_watch *watch)
{
	query->watch = watch;
	query->mark.is_valid = false;
}

/* As backref_query_extent(). */
static int query_once(struct backref_query *query, int fd, uint64_t bytenr,
		      struct extent_ref **ret_refs, size_t *ret_count, bool *ret_complete)
{
	size_t size = query->expected_size;
	size_t count;
	int ret;

	for (;;) {
		if (size > query->size) {
			ret = query_resize(query, size);
			if (ret < 0)
				return ret;
		}
		ret = call_logical_ino(fd, bytenr, query->container, size);
		if (ret < 0)
			return ret;
		ret = backref_check_refs(query->container, size, &count);
		if (ret < 0)
			return ret;

		if (!query->container->elem_missed || size == ANSWER_SIZE_MAX)
			break;
		size = larger_answer(size, query->container->bytes_missing);
	}

	query->expected_size = next_answer(count);
	*ret_refs = (struct extent_ref *)query->container->val;
	*ret_count = count;
	*ret_complete = !query->container->elem_missed;
	return 0;
}

int backref_query_extent(struct backref_query *query, int fd, uint64_t bytenr,
			 struct extent_ref **ret_refs, size_t *ret_count, bool *ret_complete)
{
	int ret;

	do {
		ret = relocation_watch_begin(query->watch, &query->mark);
		if (ret < 0)
			return ret;
		ret = query_once(query, fd, bytenr, ret_refs, ret_count, ret_complete);
	} while (!relocation_watch_holds(query->watch, &query->mark));
	return ret;
}

void free_names(char **names)
{
	if (!names)
		return;
	for (char **name = names; *name; name++)
		free(*name);
	free(names);
}

int backref_inode_names(int fd, uint64_t inode, char ***ret_names, bool *ret_complete)
{
	CLEANUP_FREE struct btrfs_data_container *container = calloc(1, PATHS_ANSWER);
	struct btrfs_ioctl_ino_path_args arguments = {
		.inum = inode,
		.size = PATHS_ANSWER,
		.fspath = (uintptr_t)container,
	};
	size_t count;
	char **names;
	int ret;

	if (!container)
		return -ENOMEM;
	ret = retry_ioctl(fd, BTRFS_IOC_INO_PATHS, &arguments, sizeof(arguments));
	if (ret < 0)
		return ret;
	ret = backref_check_paths(container, PATHS_ANSWER, &count);
	if (ret < 0)
		return ret;

	names = calloc(count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		names[i] = strdup((const char *)container->val + path_position(container, i));
		if (!names[i]) {
			free_names(names);
			return -ENOMEM;
		}
	}

	*ret_names = names;
	*ret_complete = !container->elem_missed;
	return 0;
}

int backref_inode_one_name(int fd, uint64_t subvolid, uint64_t inode, char ***ret_names)
{
	struct btrfs_ioctl_ino_lookup_args arguments = { .treeid = subvolid, .objectid = inode };
	size_t length;
	char **names;
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_INO_LOOKUP, &arguments,
			  offsetof(struct btrfs_ioctl_ino_lookup_args, name));
	if (ret < 0)
		return ret;
	length = strnlen(arguments.name, sizeof(arguments.name));
	if (!length || length == sizeof(arguments.name))
		return -EPROTO;
	/* The kernel ends every component with a slash, the last one too. */
	if (arguments.name[length - 1] == '/')
		length--;

	names = calloc(2, sizeof(*names));
	if (!names)
		return -ENOMEM;
	names[0] = strndup(arguments.name, length);
	if (!names[0]) {
		free(names);
		return -ENOMEM;
	}

	*ret_names = names;
	return 0;
}
