// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/block-map.h"

static const struct block_kind kinds[] = {
	{ "hole", ".", "0" },
	{ "exclusive", "x", "32" },
	{ "shared", "123S", "31" },
};

#define LEGEND ". hole  x exclusive  123S shared\n"

static struct block_map *new_map(struct byte_range range, size_t width)
{
	struct block_map *map;

	assert_int_equal(block_map_new(&map, kinds, ARRAY_SIZE(kinds), range, width, 1), 0);
	return map;
}

static char *printed(const struct block_map *map, bool colour)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	block_map_print(map, stream, colour);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void assert_printed(struct block_map *map, const char *expected)
{
	CLEANUP_FREE char *text = printed(map, false);

	assert_string_equal(text, expected);
	block_map_free(map);
}

TEST(test_nothing_added)
{
	assert_printed(new_map((struct byte_range){ 0, MIB(1) }, 8), "........\n" LEGEND);
}

TEST(test_kinds)
{
	struct block_map *map = new_map((struct byte_range){ 0, 80 }, 8);

	block_map_add(map, 1, (struct byte_range){ 0, 20 });
	block_map_add(map, 2, (struct byte_range){ 30, 30 });
	assert_printed(map, "xx.SSS..\n" LEGEND);
}

/* Of the last kind that is in a block, however little, each quarter is a shade. */
TEST(test_shades)
{
	struct block_map *map = new_map((struct byte_range){ 0, 160 }, 8);

	block_map_add(map, 1, (struct byte_range){ 0, 1 });
	block_map_add(map, 2, (struct byte_range){ 20, 1 });
	block_map_add(map, 1, (struct byte_range){ 21, 19 });
	block_map_add(map, 2, (struct byte_range){ 40, 4 });
	block_map_add(map, 2, (struct byte_range){ 60, 5 });
	block_map_add(map, 1, (struct byte_range){ 65, 15 });
	for (uint64_t i = 80; i < 100; i += 2)
		block_map_add(map, 2, (struct byte_range){ i, 1 });
	block_map_add(map, 1, (struct byte_range){ 100, 5 });
	block_map_add(map, 2, (struct byte_range){ 105, 15 });
	block_map_add(map, 2, (struct byte_range){ 120, 20 });
	assert_printed(map, "x1123SS.\n" LEGEND);
}

TEST(test_what_lies_outside_the_range)
{
	struct block_map *map = new_map((struct byte_range){ 100, 40 }, 4);

	block_map_add(map, 2, (struct byte_range){ 0, 100 });
	block_map_add(map, 2, (struct byte_range){ 140, 10 });
	block_map_add(map, 2, (struct byte_range){ 200, UINT64_MAX });
	block_map_add(map, 1, (struct byte_range){ 0, 110 });
	block_map_add(map, 2, (struct byte_range){ 130, UINT64_MAX });
	assert_printed(map, "x..S\n" LEGEND);
}

TEST(test_file_shorter_than_the_width)
{
	struct block_map *map = new_map((struct byte_range){ 0, 3 }, 80);

	block_map_add(map, 1, (struct byte_range){ 1, 1 });
	assert_printed(map, ".x.\n" LEGEND);
}

TEST(test_empty_file)
{
	struct block_map *map = new_map((struct byte_range){ 0, 0 }, 80);

	block_map_add(map, 1, (struct byte_range){ 0, 1 });
	assert_printed(map, "\n" LEGEND);
}

TEST(test_largest_file)
{
	struct block_map *map = new_map(WHOLE_FILE, 4);

	block_map_add(map, 1, (struct byte_range){ 0, UINT64_MAX / 2 });
	block_map_add(map, 2, (struct byte_range){ UINT64_MAX / 4 * 3 + 3, UINT64_MAX });
	assert_printed(map, "xx.S\n" LEGEND);
}

TEST(test_colour)
{
	struct block_map *map = new_map((struct byte_range){ 0, 40 }, 4);
	CLEANUP_FREE char *text = NULL;

	block_map_add(map, 2, (struct byte_range){ 10, 20 });
	text = printed(map, true);
	assert_string_equal(text, "\033[0m.\033[31mSS\033[0m.\033[0m\n"
				  "\033[0m.\033[0m hole  \033[32mx\033[0m exclusive  "
				  "\033[31m123S\033[0m shared\n");
	block_map_free(map);
}

/* How COUNT bytes, each with its kind, are drawn. */
static char drawn(const unsigned char *bytes, size_t count)
{
	size_t bytes_of[ARRAY_SIZE(kinds)] = { 0 };
	size_t last = 0;

	for (size_t i = 0; i < count; i++) {
		bytes_of[bytes[i]]++;
		if (bytes[i] > last)
			last = bytes[i];
	}
	if (last < 2 || bytes_of[last] == count)
		return kinds[last].shades[strlen(kinds[last].shades) - 1];
	return kinds[last].shades[bytes_of[last] * 4 / count];
}

/* Blocks need not be of the same size: block N begins at LENGTH * N / WIDTH. */
TEST(test_against_a_byte_map)
{
	srand(1);
	for (size_t round = 0; round < 300; round++) {
		unsigned char bytes[500] = { 0 };
		const size_t length = 1 + rand() % sizeof(bytes);
		const size_t width = 1 + rand() % 100;
		const size_t blocks = width < length ? width : length;
		struct block_map *map = new_map((struct byte_range){ 1000, length }, width);
		CLEANUP_FREE char *text = NULL;

		for (size_t start = 0; start < length;) {
			size_t part = 1 + rand() % 40;
			size_t kind = rand() % ARRAY_SIZE(kinds);

			if (part > length - start)
				part = length - start;
			if (kind)
				block_map_add(map, kind, (struct byte_range){ 1000 + start, part });
			memset(bytes + start, kind, part);
			start += part;
		}

		text = printed(map, false);
		assert_int_equal(strcspn(text, "\n"), blocks);
		for (size_t block = 0; block < blocks; block++) {
			size_t first = length * block / blocks;
			size_t end = length * (block + 1) / blocks;

			assert_int_equal(text[block], drawn(bytes + first, end - first));
		}
		block_map_free(map);
	}
}

TEST(test_height)
{
	struct block_map *map;

	assert_int_equal(block_map_new(&map, kinds, ARRAY_SIZE(kinds),
				       (struct byte_range){ 0, 100 }, 4, 3),
			 0);
	block_map_add(map, 1, (struct byte_range){ 0, 25 });
	block_map_add(map, 2, (struct byte_range){ 40, 60 });
	assert_printed(map, "xxx.\n1SSS\nSSSS\n" LEGEND);

	/* Fewer bytes than blocks: the last line is not full. */
	assert_int_equal(block_map_new(&map, kinds, ARRAY_SIZE(kinds), (struct byte_range){ 0, 5 },
				       4, 3),
			 0);
	block_map_add(map, 1, (struct byte_range){ 4, 1 });
	assert_printed(map, "....\nx\n" LEGEND);
}

static struct block_maps *new_maps(size_t height)
{
	struct block_maps *maps;

	assert_int_equal(block_maps_new(&maps, kinds, ARRAY_SIZE(kinds), height), 0);
	return maps;
}

/* A file of SIZE bytes, the ones from START on are of KIND. */
static void add_file(struct block_maps *maps, const char *path, uint64_t size, size_t kind,
		     uint64_t start, size_t height)
{
	struct block_map *map;

	assert_int_equal(block_map_new_for_file(&map, kinds, ARRAY_SIZE(kinds), WHOLE_FILE, size,
						height),
			 0);
	block_map_add(map, kind, (struct byte_range){ start, size - start });
	block_maps_add(maps, path, map);
	block_map_free(map);
}

static void assert_maps(struct block_maps *maps, const char *expected)
{
	const struct size_format raw = { .base = SIZE_RAW };
	CLEANUP_FREE char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	assert_int_equal(block_maps_print(maps, raw, stream, false), 0);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(text, expected);
	block_maps_free(maps);
}

/* Standard output is no terminal: 80 blocks a line. */
TEST(test_one_scale)
{
	struct block_maps *maps = new_maps(1);

	add_file(maps, "small\n", 250, 1, 150, 1);
	add_file(maps, "empty", 0, 1, 0, 1);
	add_file(maps, "tiny", 1, 2, 0, 1);
	add_file(maps, "large", 800, 2, 20, 1);
	add_file(maps, "odd", 101, 1, 100, 1);
	assert_maps(maps, "\nMaps: a block is 10\n"
			  "'small\\x0a': 250\n...............xxxxxxxxxx\n"
			  "'empty': 0\n"
			  "'tiny': 1\nS\n"
			  "'large': 800\n..SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS"
			  "SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS\n"
			  /* The middle of the last of its own 80 blocks is in the last one. */
			  "'odd': 101\n..........x\n" LEGEND);
}

TEST(test_several_lines_on_one_scale)
{
	struct block_maps *maps = new_maps(2);

	add_file(maps, "a", 1600, 0, 0, 2);
	add_file(maps, "b", 30, 1, 10, 2);
	assert_maps(
		maps,
		"\nMaps: a block is 10\n'a': 1600\n"
		"................................................................................\n"
		"................................................................................\n"
		"'b': 30\n.xx\n" LEGEND);
}

/* A shade is that of the larger block, whatever the smaller ones of the file's own map have. */
TEST(test_shades_on_one_scale)
{
	struct block_maps *maps = new_maps(1);

	add_file(maps, "small", 160, 2, 155, 1);
	add_file(maps, "large", 1600, 2, 1510, 1);
	assert_maps(maps, "\nMaps: a block is 20\n'small': 160\n.......2\n'large': 1600\n"
			  "................................................................."
			  "..........3SSSS\n" LEGEND);
}

TEST(test_no_or_little_maps)
{
	struct block_maps *maps = new_maps(1);

	assert_maps(maps, "");
	maps = new_maps(1);
	add_file(maps, "empty", 0, 1, 0, 1);
	assert_maps(maps, "\nMaps: a block is 1\n'empty': 0\n" LEGEND);
	maps = new_maps(1);
	add_file(maps, "a", 3, 1, 1, 1);
	add_file(maps, "b", 2, 2, 1, 1);
	assert_maps(maps, "\nMaps: a block is 1\n'a': 3\n.xx\n'b': 2\n.S\n" LEGEND);
}

/* Begins, reports and ends a file of SIZE bytes of data. */
static void report_file(struct file_maps *maps, bool several, const char *path, uint64_t size)
{
	assert_int_equal(file_maps_begin(maps, several, WHOLE_FILE, size, 1), 0);
	block_map_add(maps->map, 1, (struct byte_range){ 0, size });
	file_maps_report(maps, path);
	file_maps_end_file(maps);
	assert_null(maps->map);
}

static void assert_report(bool several, const char *expected)
{
	const struct size_format raw = { .base = SIZE_RAW };
	struct file_maps maps = { .kinds = kinds, .kind_count = ARRAY_SIZE(kinds) };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	report_file(&maps, several, "first", 2);
	printf("-\n");
	report_file(&maps, several, "second", 1);
	/* a file without a map */
	file_maps_report(&maps, "third");
	assert_int_equal(file_maps_report_all(&maps, raw), 0);
	file_maps_free(&maps);
	text = capture_end();
	assert_string_equal(text, expected);
}

TEST(test_maps_of_a_report)
{
	assert_report(false, "xx\n" LEGEND "-\nx\n" LEGEND);
	assert_report(true, "-\n\nMaps: a block is 1\n'first': 2\nxx\n'second': 1\nx\n" LEGEND);
}
