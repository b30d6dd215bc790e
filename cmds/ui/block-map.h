/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BLOCK_MAP_H
#define FASTPATH_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sys/cleanup.h"
#include "text/units.h"

/* More than a terminal has. */
#define BLOCK_MAP_HEIGHT_MAX 1000

struct block_kind {
	const char *name;
	/* at least one, from the least to the largest part of a block */
	const char *shades;
	/* SGR parameters of a terminal escape sequence, as "31" */
	const char *colour;
};

struct block_map;

/*
 * Draws a file from start to end as HEIGHT lines of COLUMNS blocks, both at least 1. Each block shows the
 * last of KINDS that is in it, in a shade for the part of the block that it has: with four, the first is
 * less than a quarter. If the range has fewer bytes, a block is a byte.
 * KINDS[0] is the kind of all bytes that are not added (a hole). KINDS must outlive the map.
 * Returns 0 or -ENOMEM; freed with block_map_free().
 */
int block_map_new(struct block_map **ret_map, const struct block_kind *kinds, size_t kind_count,
		  struct byte_range range, size_t columns, size_t height);

/*
 * The same for RANGE of a file of SIZE bytes. The lines are as wide as the terminal on
 * standard output, else 80 blocks.
 */
int block_map_new_for_file(struct block_map **ret_map, const struct block_kind *kinds,
			   size_t kind_count, struct byte_range range, uint64_t size,
			   size_t height);

void block_map_free(struct block_map *map);
DEFINE_FREEP(block_map_free, struct block_map)

/* Add RANGE of the file, which is of KIND, an index into the kinds. */
void block_map_add(struct block_map *map, size_t kind, struct byte_range range);

/* Print the lines with the blocks and a line with the legend. */
void block_map_print(const struct block_map *map, FILE *stream, bool colour);

/* The maps of several files, at most eight bytes for each block in memory, to be printed on one scale. */
struct block_maps;

/* Maps of KINDS, which must outlive them. Returns 0 or -ENOMEM; freed with block_maps_free(). */
int block_maps_new(struct block_maps **ret_maps, const struct block_kind *kinds, size_t kind_count,
		   size_t height);
void block_maps_free(struct block_maps *maps);

/*
 * Keeps MAP, from block_map_new_for_file() with the same kinds and height, of the file PATH.
 * block_maps_print() returns an error of this function.
 */
void block_maps_add(struct block_maps *maps, const char *path, const struct block_map *map);

/*
 * Prints the maps one below the other, if there are any, and the legend. The longest has HEIGHT
 * lines, and blocks of all stand for as many bytes. Returns 0 or -ENOMEM.
 */
int block_maps_print(const struct block_maps *maps, struct size_format sizes, FILE *stream,
		     bool colour);

/* The maps of a report on files: each below its file, or those of several files at the end. */
struct file_maps {
	const struct block_kind *kinds;
	size_t kind_count;
	/* of the current file, or NULL */
	struct block_map *map;
	/* of several files, or NULL */
	struct block_maps *all;
};

/* Begins the map of a file, as block_map_new_for_file(). Returns 0 or -ENOMEM. */
int file_maps_begin(struct file_maps *maps, bool several, struct byte_range range, uint64_t size,
		    size_t height);
/* Prints or keeps the map of the file PATH, if there is one. */
void file_maps_report(const struct file_maps *maps, const char *path);
void file_maps_end_file(struct file_maps *maps);
/* At the end. Returns 0 or a negative errno as block_maps_print(). */
int file_maps_report_all(const struct file_maps *maps, struct size_format sizes);
void file_maps_free(struct file_maps *maps);

#endif
