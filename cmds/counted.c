// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "counted.h"

void counted_begin(struct counted *counted, int fd)
{
	counted->ended = false;
	counted->begun = filesystem_id_of(fd, counted->fsid) == 0 &&
			 counters_read(NULL, counted->fsid, &counted->before) == 0;
}

void counted_end(struct counted *counted)
{
	struct counters after;

	if (!counted->begun || counters_read(NULL, counted->fsid, &after) < 0)
		return;
	counters_subtract(&after, &counted->before, &counted->change);
	counted->ended = true;
}

void counted_report(const struct counted *counted, struct json_writer *json)
{
	if (!counted->ended)
		return;
	if (json)
		json_begin_object(json, "counters");
	for (size_t i = 0; i < counted->change.count; i++) {
		const struct counter *counter = &counted->change.list[i];

		if (json)
			json_add_uint(json, counter->name, counter->value);
		else if (counter->value)
			printf("Counter: %s +%" PRIu64 "\n", counter->name, counter->value);
	}
	if (json)
		json_end_object(json);
}
