// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mul-div.h"
#include "ui/block-map.h"
#include "ui/terminal.h"

#define DEFAULT_WIDTH 80

struct block_map {
	const struct block_kind *kinds;
	size_t kind_count;
	struct byte_range range;
	size_t width;
	/* bytes of each kind but the first in each block */
	uint64_t *covered;
};

int block_map_new(struct block_map **ret_map, const struct block_kind *kinds, size_t kind_count,
		  struct byte_range range, size_t width)
{
	struct block_map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	/* A block holds at least a byte. */
	if (range.length < width)
		width = range.length;
	map->covered = calloc(width * kind_count + 1, sizeof(*map->covered));
	if (!map->covered) {
		free(map);
		return -ENOMEM;
	}
	map->kinds = kinds;
	map->kind_count = kind_count;
	map->range = range;
	map->width = width;

	*ret_map = map;
	return 0;
}

static size_t output_width(void)
{
	size_t width = terminal_width();

	return width ? width : DEFAULT_WIDTH;
}

int block_map_new_for_file(struct block_map **ret_map, const struct block_kind *kinds,
			   size_t kind_count, struct byte_range range, uint64_t size)
{
	return block_map_new(ret_map, kinds, kind_count, byte_range_cut(range, size),
			     output_width());
}

void block_map_free(struct block_map *map)
{
	if (!map)
		return;
	free(map->covered);
	free(map);
}

void block_map_freep(struct block_map **map)
{
	block_map_free(*map);
}

/* Where block BLOCK starts, counted from the start of the range. */
static uint64_t block_start(const struct block_map *map, size_t block)
{
	return mul_div(map->range.length, block, map->width);
}

static size_t block_of(const struct block_map *map, uint64_t position)
{
	size_t block = mul_div(position, map->width, map->range.length);

	/* The division above rounds down, so the block may be one too early. */
	while (block + 1 < map->width && block_start(map, block + 1) <= position)
		block++;
	return block;
}

void block_map_add(struct block_map *map, size_t kind, struct byte_range range)
{
	uint64_t start, end;

	if (byte_range_end(range) <= map->range.offset || !map->width)
		return;
	start = range.offset > map->range.offset ? range.offset - map->range.offset : 0;
	end = byte_range_end(range) - map->range.offset;
	if (end > map->range.length)
		end = map->range.length;

	while (start < end) {
		size_t block = block_of(map, start);
		uint64_t block_end = block_start(map, block + 1);
		uint64_t stop = end < block_end ? end : block_end;

		map->covered[block * map->kind_count + kind] += stop - start;
		start = stop;
	}
}

static size_t kind_of_block(const struct block_map *map, size_t block)
{
	const uint64_t *covered = &map->covered[block * map->kind_count];
	uint64_t length = block_start(map, block + 1) - block_start(map, block);
	uint64_t added = 0;
	size_t best = 0;

	for (size_t kind = 1; kind < map->kind_count; kind++) {
		added += covered[kind];
		if (covered[kind] > covered[best])
			best = kind;
	}
	/* what is not added is of the first kind */
	if (added < length && length - added > covered[best])
		return 0;
	return best;
}

void block_map_print(const struct block_map *map, FILE *stream, bool colour)
{
	size_t last = SIZE_MAX;

	for (size_t block = 0; block < map->width; block++) {
		size_t kind = kind_of_block(map, block);

		if (colour && kind != last)
			fprintf(stream, "\033[%sm", map->kinds[kind].colour);
		fputc(map->kinds[kind].symbol, stream);
		last = kind;
	}
	fputs(colour && map->width ? "\033[0m\n" : "\n", stream);

	for (size_t kind = 0; kind < map->kind_count; kind++) {
		const struct block_kind *k = &map->kinds[kind];

		if (colour)
			fprintf(stream, "%s\033[%sm%c\033[0m %s", kind ? "  " : "", k->colour,
				k->symbol, k->name);
		else
			fprintf(stream, "%s%c %s", kind ? "  " : "", k->symbol, k->name);
	}
	fputc('\n', stream);
}
