/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BLOCK_MAP_H
#define FASTPATH_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fs/fiemap.h"

struct block_kind {
	const char *name;
	char symbol;
	/* SGR parameters of a terminal escape sequence, as "31" */
	const char *colour;
};

struct block_map;

/*
 * Draws a file from start to end as WIDTH blocks, each with the kind that covers most of the block.
 * KINDS[0] is the kind of all bytes that are not added (a hole). KINDS must outlive the map.
 * Returns 0 or -ENOMEM; freed with block_map_free().
 */
int block_map_new(struct block_map **ret_map, const struct block_kind *kinds, size_t kind_count,
		  struct byte_range range, size_t width);

/*
 * The same for RANGE of a file of SIZE bytes. The map is as wide as the terminal on standard
 * output, else 80 blocks.
 */
int block_map_new_for_file(struct block_map **ret_map, const struct block_kind *kinds,
			   size_t kind_count, struct byte_range range, uint64_t size);

void block_map_free(struct block_map *map);
void block_map_freep(struct block_map **map);

/* Add RANGE of the file, which is of KIND, an index into the kinds. */
void block_map_add(struct block_map *map, size_t kind, struct byte_range range);

/* Print a line with the blocks and a line with the legend. */
void block_map_print(const struct block_map *map, FILE *stream, bool colour);

#endif
