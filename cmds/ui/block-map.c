// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/saturating.h"
#include "sys/cleanup.h"
#include "ui/block-map.h"
#include "ui/message.h"
#include "ui/progress.h"

#define DEFAULT_WIDTH 80
/* in which shares of a block are counted: below 2^16, and a multiple of the numbers of shades */
#define WHOLE_BLOCK 60000

struct block {
	/* the last of the kinds that are in it, and its bytes */
	uint32_t kind;
	uint64_t length;
};

struct block_map {
	const struct block_kind *kinds;
	size_t kind_count;
	struct byte_range range;
	size_t width;
	/* blocks in a line */
	size_t columns;
	/* of the range, from its start: blocks from here on are not drawn */
	uint64_t end;
	struct block *blocks;
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
	map->blocks = calloc(width + 1, sizeof(*map->blocks));
	if (!map->blocks) {
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
	free(map->blocks);
	free(map);
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

static void add_to_block(struct block *block, uint32_t kind, uint64_t length)
{
	if (kind < block->kind)
		return;
	if (kind > block->kind)
		*block = (struct block){ .kind = kind };
	block->length += length;
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

		add_to_block(&map->blocks[block], kind, stop - start);
		start = stop;
	}
}

/* Bytes of the block that are drawn */
static uint64_t block_length(const struct block_map *map, size_t block)
{
	uint64_t end = block_start(map, block + 1);

	return (end < map->end ? end : map->end) - block_start(map, block);
}

static char shade(const struct block_map *map, size_t block)
{
	const struct block *b = &map->blocks[block];
	const char *shades = map->kinds[b->kind].shades;
	size_t count = strlen(shades);
	size_t level = mul_div(b->length, count, block_length(map, block));

	return shades[level < count ? level : count - 1];
}

static void print_blocks(const struct block_map *map, FILE *stream, bool colour)
{
	size_t last = SIZE_MAX;

	for (size_t block = 0; block < map->width && block_start(map, block) < map->end; block++) {
		size_t kind = map->blocks[block].kind;

		if (block && block % map->columns == 0)
			fputc('\n', stream);
		if (colour && kind != last)
			fprintf(stream, "\033[%sm", map->kinds[kind].colour);
		fputc(shade(map, block), stream);
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
			fprintf(stream, "%s\033[%sm%s\033[0m %s", kind ? "  " : "", k->colour,
				k->shades, k->name);
		else
			fprintf(stream, "%s%s %s", kind ? "  " : "", k->shades, k->name);
	}
	fputc('\n', stream);
}

void block_map_print(const struct block_map *map, FILE *stream, bool colour)
{
	progress_clear();
	print_blocks(map, stream, colour);
	print_legend(map->kinds, map->kind_count, stream, colour);
}

/* -- several files -- */

/* Consecutive blocks with the same kind, and the same share of it: WHOLE_BLOCK is all of a block. */
struct block_run {
	uint32_t block_count;
	uint16_t kind;
	uint16_t share;
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

static struct block_run run_of(const struct block_map *map, size_t block)
{
	const struct block *b = &map->blocks[block];
	uint64_t share = mul_div(b->length, WHOLE_BLOCK, block_length(map, block));

	return (struct block_run){
		.kind = b->kind,
		.share = share < WHOLE_BLOCK ? share : WHOLE_BLOCK,
	};
}

static bool continues(const struct block_run *last, const struct block_run *next)
{
	return last->kind == next->kind && last->share == next->share;
}

static size_t count_runs(const struct block_map *map)
{
	struct block_run last = { 0 };
	size_t count = 0;

	for (size_t block = 0; block < map->width; block++) {
		const struct block_run run = run_of(map, block);

		count += !block || !continues(&last, &run);
		last = run;
	}
	return count;
}

static void keep_block(struct kept_map *kept, struct block_run run)
{
	if (!kept->run_count || !continues(&kept->runs[kept->run_count - 1], &run))
		kept->runs[kept->run_count++] = run;
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
		keep_block(kept, run_of(map, block));
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

/* Adds RUN, which begins with block FIRST of the file's OWN map. */
static void add_run(struct block_map *map, const struct block_map *own, size_t first,
		    const struct block_run *run)
{
	size_t end = first + run->block_count;
	uint64_t start = block_start(own, first), length = block_start(own, end) - start;

	if (!run->kind)
		return;
	if (run->share == WHOLE_BLOCK) {
		block_map_add(map, run->kind, (struct byte_range){ start, length });
		return;
	}
	/* Where in a block its bytes are is not known: they count where its middle is. */
	for (size_t block = first; block < end; block++) {
		uint64_t own_length = block_length(own, block);
		uint64_t middle = block_start(own, block) + own_length / 2;

		add_to_block(&map->blocks[block_of(map, middle)], run->kind,
			     mul_div(own_length, run->share, WHOLE_BLOCK));
	}
}

/*
 * On the scale of the longest, on which a block is at least as large as the file's own ones. Of these, the ones in
 * which the last kind of a block is have no later kind, so that nothing is missing where others were not kept.
 */
static int print_kept(const struct block_maps *maps, const struct kept_map *kept, FILE *stream,
		      bool colour)
{
	CLEANUP(block_map_freep) struct block_map *map = NULL;
	const struct block_map own = { .range.length = kept->length,
				       .width = kept->width,
				       .end = kept->length };
	size_t block = 0;
	int ret;

	ret = block_map_new(&map, maps->kinds, maps->kind_count,
			    (struct byte_range){ 0, maps->longest }, maps->columns, maps->height);
	if (ret < 0)
		return ret;
	map->end = kept->length;
	for (size_t i = 0; i < kept->run_count; i++) {
		add_run(map, &own, block, &kept->runs[i]);
		block += kept->runs[i].block_count;
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

/* -- the maps of a report on files -- */

int file_maps_begin(struct file_maps *maps, bool several, struct byte_range range, uint64_t size,
		    size_t height)
{
	int ret = 0;

	if (several && !maps->all)
		ret = block_maps_new(&maps->all, maps->kinds, maps->kind_count, height);
	if (ret < 0)
		return ret;
	return block_map_new_for_file(&maps->map, maps->kinds, maps->kind_count, range, size,
				      height);
}

void file_maps_report(const struct file_maps *maps, const char *path)
{
	if (!maps->map)
		return;
	if (maps->all)
		block_maps_add(maps->all, path, maps->map);
	else
		block_map_print(maps->map, stdout, terminal_has_colours());
}

void file_maps_end_file(struct file_maps *maps)
{
	block_map_free(maps->map);
	maps->map = NULL;
}

int file_maps_report_all(const struct file_maps *maps, struct size_format sizes)
{
	return maps->all ? block_maps_print(maps->all, sizes, stdout, terminal_has_colours()) : 0;
}

void file_maps_free(struct file_maps *maps)
{
	file_maps_end_file(maps);
	block_maps_free(maps->all);
}
