// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mul-div.h"
#include "ui/block-map.h"
#include "ui/quoted-name.h"
#include "ui/terminal.h"

#define DEFAULT_WIDTH 80

struct block_map {
	const struct block_kind *kinds;
	size_t kind_count;
	struct byte_range range;
	size_t width;
	/* blocks in a line */
	size_t columns;
	/* of the range, from its start: blocks from here on are not drawn */
	uint64_t end;
	/* bytes of each kind but the first in each block */
	uint64_t *covered;
};

int block_map_new(struct block_map **ret_map, const struct block_kind *kinds, size_t kind_count,
		  struct byte_range range, size_t columns, size_t height)
{
	size_t width = columns * height;
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
	map->columns = columns;
	map->end = range.length;

	*ret_map = map;
	return 0;
}

static size_t output_width(void)
{
	size_t width = terminal_width();

	return width ? width : DEFAULT_WIDTH;
}

int block_map_new_for_file(struct block_map **ret_map, const struct block_kind *kinds,
			   size_t kind_count, struct byte_range range, uint64_t size, size_t height)
{
	return block_map_new(ret_map, kinds, kind_count, byte_range_cut(range, size),
			     output_width(), height);
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
	uint64_t start = block_start(map, block), end = block_start(map, block + 1);
	uint64_t length = (end < map->end ? end : map->end) - start;
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

static void print_blocks(const struct block_map *map, FILE *stream, bool colour)
{
	size_t last = SIZE_MAX;

	for (size_t block = 0; block < map->width && block_start(map, block) < map->end; block++) {
		size_t kind = kind_of_block(map, block);

		if (block && block % map->columns == 0)
			fputc('\n', stream);
		if (colour && kind != last)
			fprintf(stream, "\033[%sm", map->kinds[kind].colour);
		fputc(map->kinds[kind].symbol, stream);
		last = kind;
	}
	fputs(colour && map->width ? "\033[0m\n" : "\n", stream);
}

static void print_legend(const struct block_kind *kinds, size_t kind_count, FILE *stream,
			 bool colour)
{
	for (size_t kind = 0; kind < kind_count; kind++) {
		const struct block_kind *k = &kinds[kind];

		if (colour)
			fprintf(stream, "%s\033[%sm%c\033[0m %s", kind ? "  " : "", k->colour,
				k->symbol, k->name);
		else
			fprintf(stream, "%s%c %s", kind ? "  " : "", k->symbol, k->name);
	}
	fputc('\n', stream);
}

void block_map_print(const struct block_map *map, FILE *stream, bool colour)
{
	print_blocks(map, stream, colour);
	print_legend(map->kinds, map->kind_count, stream, colour);
}

/* -- several files -- */

/* Blocks of one kind that follow each other. */
struct block_run {
	uint32_t block_count;
	uint32_t kind;
};

struct kept_map {
	char *path;
	uint64_t length;
	size_t width;
	size_t run_count;
	struct block_run runs[];
};

struct block_maps {
	const struct block_kind *kinds;
	size_t kind_count;
	size_t columns;
	size_t height;
	struct kept_map **maps;
	size_t count;
	/* the longest range */
	uint64_t longest;
	/* of block_maps_add() */
	int error;
};

int block_maps_new(struct block_maps **ret_maps, const struct block_kind *kinds, size_t kind_count,
		   size_t height)
{
	struct block_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->kinds = kinds;
	maps->kind_count = kind_count;
	maps->columns = output_width();
	maps->height = height;
	*ret_maps = maps;
	return 0;
}

void block_maps_free(struct block_maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->count; i++) {
		free(maps->maps[i]->path);
		free(maps->maps[i]);
	}
	free(maps->maps);
	free(maps);
}

static size_t count_runs(const struct block_map *map)
{
	size_t count = 0, last = SIZE_MAX;

	for (size_t block = 0; block < map->width; block++) {
		size_t kind = kind_of_block(map, block);

		count += kind != last;
		last = kind;
	}
	return count;
}

static void keep_block(struct kept_map *kept, uint32_t kind)
{
	if (!kept->run_count || kept->runs[kept->run_count - 1].kind != kind)
		kept->runs[kept->run_count++] = (struct block_run){ .kind = kind };
	kept->runs[kept->run_count - 1].block_count++;
}

/* Of a file with few extents little, however large the map. Returns NULL without memory. */
static struct kept_map *keep(const struct block_map *map, const char *path)
{
	struct kept_map *kept = malloc(sizeof(*kept) + count_runs(map) * sizeof(kept->runs[0]));

	if (!kept)
		return NULL;
	kept->path = strdup(path);
	if (!kept->path) {
		free(kept);
		return NULL;
	}
	kept->length = map->range.length;
	kept->width = map->width;
	kept->run_count = 0;
	for (size_t block = 0; block < map->width; block++)
		keep_block(kept, kind_of_block(map, block));
	return kept;
}

static bool is_power_of_two(size_t number)
{
	return (number & (number - 1)) == 0;
}

void block_maps_add(struct block_maps *maps, const char *path, const struct block_map *map)
{
	struct kept_map *kept = keep(map, path);

	if (kept && is_power_of_two(maps->count)) {
		size_t room = maps->count ? 2 * maps->count : 1;
		struct kept_map **larger = reallocarray(maps->maps, room, sizeof(*larger));

		if (!larger) {
			free(kept->path);
			free(kept);
			kept = NULL;
		} else {
			maps->maps = larger;
		}
	}
	if (!kept) {
		maps->error = -ENOMEM;
		return;
	}
	maps->maps[maps->count++] = kept;
	if (kept->length > maps->longest)
		maps->longest = kept->length;
}

/* On the scale of the longest: each run of the file's own blocks is a range of one kind. */
static int print_kept(const struct block_maps *maps, const struct kept_map *kept, FILE *stream,
		      bool colour)
{
	CLEANUP(block_map_freep) struct block_map *map = NULL;
	const struct block_map own = { .range.length = kept->length, .width = kept->width };
	size_t block = 0;
	int ret;

	ret = block_map_new(&map, maps->kinds, maps->kind_count,
			    (struct byte_range){ 0, maps->longest }, maps->columns, maps->height);
	if (ret < 0)
		return ret;
	map->end = kept->length;
	for (size_t i = 0; i < kept->run_count; i++) {
		const struct block_run *run = &kept->runs[i];
		uint64_t start = block_start(&own, block);

		block += run->block_count;
		if (run->kind)
			block_map_add(map, run->kind,
				      (struct byte_range){ start,
							   block_start(&own, block) - start });
	}
	print_blocks(map, stream, colour);
	return 0;
}

int block_maps_print(const struct block_maps *maps, struct size_format sizes, FILE *stream,
		     bool colour)
{
	size_t blocks = maps->columns * maps->height;
	char text[UNITS_TEXT_SIZE];

	if (maps->error < 0 || !maps->count)
		return maps->error;
	fprintf(stream, "\nMaps: a block is %s\n",
		format_size(text, maps->longest ? (maps->longest - 1) / blocks + 1 : 1, sizes));
	for (size_t i = 0; i < maps->count; i++) {
		const struct kept_map *kept = maps->maps[i];
		CLEANUP_QUOTED_NAME const char *quoted = quoted_name(kept->path);
		int ret;

		fprintf(stream, "%s: %s\n", quoted, format_size(text, kept->length, sizes));
		/* An empty file has no line. */
		ret = kept->length ? print_kept(maps, kept, stream, colour) : 0;
		if (ret < 0)
			return ret;
	}
	print_legend(maps->kinds, maps->kind_count, stream, colour);
	return 0;
}
