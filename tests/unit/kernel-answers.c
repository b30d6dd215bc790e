// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <linux/fs.h>

#include <btrfs/ioctl.h>

#include "kernel-answers.h"
#include "sys/cleanup.h"
#include "test.h"

#define SEARCH_ROOM (64 * 1024)

void expect_fiemap(uint64_t start, uint64_t length, uint32_t flags, uint32_t room,
		   const struct fiemap_extent *extents, uint32_t count, int error)
{
	const struct fiemap asked = {
		.fm_start = start,
		.fm_length = length,
		.fm_flags = flags,
		.fm_extent_count = room,
	};
	size_t written = extents ? count * sizeof(*extents) : 0;
	CLEANUP_FREE struct fiemap *answer = malloc(sizeof(*answer) + written);

	assert_non_null(answer);
	*answer = asked;
	answer->fm_mapped_extents = count;
	if (written)
		memcpy(answer->fm_extents, extents, written);

	ioctl_mock_expect(&(struct ioctl_call){
		.request = FS_IOC_FIEMAP,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = answer,
		.answer_size = sizeof(*answer) + written,
	});
}

static struct btrfs_ioctl_search_args_v2 search_args_of(const struct search_key *key)
{
	return (struct btrfs_ioctl_search_args_v2){
		.key = {
			.tree_id = key->tree,
			.min_objectid = key->objectid,
			.max_objectid = key->objectid,
			.min_offset = key->min_offset,
			.max_offset = key->max_offset,
			.max_transid = UINT64_MAX,
			.min_type = key->type,
			.max_type = key->type,
			.nr_items = UINT32_MAX,
		},
		.buf_size = SEARCH_ROOM,
	};
}

static struct btrfs_ioctl_search_args_v2 batch_args_of(const struct batch_key *key)
{
	return (struct btrfs_ioctl_search_args_v2){
		.key = {
			.tree_id = key->tree,
			.min_objectid = key->min.objectid,
			.max_objectid = key->max.objectid,
			.min_offset = key->min.offset,
			.max_offset = key->max.offset,
			.max_transid = UINT64_MAX,
			.min_type = key->min.type,
			.max_type = key->max.type,
			.nr_items = key->most,
		},
		.buf_size = key->room,
	};
}

static void expect_search(const struct btrfs_ioctl_search_args_v2 *asked, const void *items,
			  size_t size, uint32_t count, int error)
{
	CLEANUP_FREE struct btrfs_ioctl_search_args_v2 *answer = malloc(sizeof(*answer) + size);

	assert_non_null(answer);
	*answer = *asked;
	answer->key.nr_items = count;
	if (size)
		memcpy(answer->buf, items, size);

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_TREE_SEARCH_V2,
		.expected = asked,
		.expected_size = sizeof(*asked),
		.error = error,
		.answer = answer,
		.answer_size = sizeof(*answer) + size,
	});
}

/* Writes ITEMS to BUFFER as the kernel does. Returns the size. */
static size_t write_items(char *buffer, const struct tree_item *items, uint32_t count)
{
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct btrfs_ioctl_search_header header = {
			.transid = items[i].leaf_generation,
			.objectid = items[i].objectid,
			.offset = items[i].offset,
			.type = items[i].type,
			.len = items[i].size,
		};

		assert_true(size + sizeof(header) + header.len <= SEARCH_ROOM);
		memcpy(buffer + size, &header, sizeof(header));
		size += sizeof(header);
		if (header.len)
			memcpy(buffer + size, items[i].data, header.len);
		size += header.len;
	}
	return size;
}

void expect_raw_tree_search(const struct search_key *key, const void *answer, size_t size,
			    uint32_t count)
{
	const struct btrfs_ioctl_search_args_v2 asked = search_args_of(key);

	expect_search(&asked, answer, size, count, 0);
}

void expect_tree_search(const struct search_key *key, const struct tree_item *items, uint32_t count,
			int error)
{
	const struct btrfs_ioctl_search_args_v2 asked = search_args_of(key);
	CLEANUP_FREE char *buffer = malloc(SEARCH_ROOM);

	assert_non_null(buffer);
	expect_search(&asked, buffer, write_items(buffer, items, count), count, error);
}

static void expect_items(const struct btrfs_ioctl_search_args_v2 *asked,
			 const struct tree_item *items, uint32_t count, int error)
{
	CLEANUP_FREE char *buffer = malloc(SEARCH_ROOM);

	assert_non_null(buffer);
	expect_search(asked, buffer, write_items(buffer, items, count), count, error);
}

void expect_batch(const struct batch_key *key, const struct tree_item *items, uint32_t count,
		  int error)
{
	const struct btrfs_ioctl_search_args_v2 asked = batch_args_of(key);

	expect_items(&asked, items, count, error);
}

void expect_newer_batch(const struct batch_key *key, uint64_t min_generation,
			const struct tree_item *items, uint32_t count)
{
	struct btrfs_ioctl_search_args_v2 asked = batch_args_of(key);

	asked.key.min_transid = min_generation;
	expect_items(&asked, items, count, 0);
}

void expect_oversize_batch(const struct batch_key *key, const struct tree_item *item)
{
	const struct btrfs_ioctl_search_args_v2 asked = batch_args_of(key);
	struct tree_item header_alone = *item;
	struct {
		struct btrfs_ioctl_search_args_v2 arguments;
		char buffer[sizeof(struct btrfs_ioctl_search_header)];
	} answer = { .arguments = asked };

	header_alone.size = 0;
	write_items(answer.buffer, &header_alone, 1);
	answer.arguments.buf_size = sizeof(answer.buffer) + item->size;
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_TREE_SEARCH_V2,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = EOVERFLOW,
		.answers_error = true,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

void expect_logical_ino(uint64_t bytenr, uint64_t size, const struct extent_ref *refs,
			uint32_t count, uint32_t bytes_missing, uint32_t missed, int error)
{
	const struct btrfs_ioctl_logical_ino_args asked = {
		.logical = bytenr,
		.size = size,
		.flags = BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET,
	};
	const struct btrfs_data_container header = {
		.bytes_missing = bytes_missing,
		.elem_cnt = 3 * count,
		.elem_missed = 3 * missed,
	};
	CLEANUP_FREE char *answer = malloc(sizeof(header) + count * sizeof(*refs));

	assert_non_null(answer);
	memcpy(answer, &header, sizeof(header));
	if (count)
		memcpy(answer + sizeof(header), refs, count * sizeof(*refs));

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_LOGICAL_INO_V2,
		.expected = &asked,
		.expected_size = offsetof(struct btrfs_ioctl_logical_ino_args, inodes),
		.error = error,
		.answer = answer,
		.answer_size = sizeof(header) + count * sizeof(*refs),
		.pointer_offset = offsetof(struct btrfs_ioctl_logical_ino_args, inodes),
	});
}
