// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mul-div.h"
#include "ui/histogram.h"
#include "ui/table.h"

#define COUNT_WIDTH 10
#define BAR_WIDTH 40
/* One column of both: a column of bars alone, without a heading, would end lines in blanks. */
#define COUNT_AND_BAR_SIZE 64

static void print_bin(struct table *table, const struct latency_bin *bin, uint64_t largest)
{
	char bar[BAR_WIDTH + 1] = "";
	char text[UNITS_TEXT_SIZE];
	char count_and_bar[COUNT_AND_BAR_SIZE];

	/* A bin with a call in it has a block at least. */
	memset(bar, '#', mul_div_up(BAR_WIDTH, bin->count, largest));
	snprintf(count_and_bar, sizeof(count_and_bar), "%*" PRIu64 "%s%s", COUNT_WIDTH, bin->count,
		 *bar ? " " : "", bar);
	table_begin_row(table);
	table_cell(table, format_time(text, bin->low_ns));
	table_cell(table, format_time(text, bin->high_ns));
	table_cell(table, count_and_bar);
}

int histogram_print(const struct latency *latency, const char *what)
{
	char heading[COUNT_AND_BAR_SIZE];
	const struct table_column columns[] = {
		{ "From", 9, false },
		{ "To", 9, false },
		{ heading, 0, true },
	};
	CLEANUP(table_freep) struct table *table = NULL;
	uint64_t largest = 0;
	int ret;

	snprintf(heading, sizeof(heading), "%*s", COUNT_WIDTH, what);
	ret = TABLE_NEW(&table, columns);
	if (ret < 0)
		return ret;
	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(latency, i);

		largest = bin.count > largest ? bin.count : largest;
	}
	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(latency, i);

		if (latency->count && bin.high_ns > latency->min && bin.low_ns <= latency->max)
			print_bin(table, &bin, largest);
	}
	return table_flush(table);
}

void histogram_json(const struct latency *latency, struct json_writer *json)
{
	if (!latency) {
		json_add_null(json, "histogram");
		return;
	}
	json_begin_array(json, "histogram");
	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(latency, i);

		if (!bin.count)
			continue;
		json_begin_object(json, NULL);
		json_add_uint(json, "low_ns", bin.low_ns);
		json_add_uint(json, "high_ns", bin.high_ns);
		json_add_uint(json, "count", bin.count);
		json_end_object(json);
	}
	json_end_array(json);
}
