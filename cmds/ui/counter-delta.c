// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "ui/counter-delta.h"

void counter_delta_begin(struct counter_delta *counter_delta, int fd)
{
	counter_delta->ended = false;
	counter_delta->begun = filesystem_id_of(fd, counter_delta->fsid) == 0 &&
			       counters_read(NULL, counter_delta->fsid, &counter_delta->before) ==
				       0;
}

void counter_delta_end(struct counter_delta *counter_delta)
{
	struct counters after;

	if (!counter_delta->begun || counters_read(NULL, counter_delta->fsid, &after) < 0)
		return;
	counters_subtract(&after, &counter_delta->before, &counter_delta->change);
	counter_delta->ended = true;
}

void counter_delta_report(const struct counter_delta *counter_delta, struct json_writer *json)
{
	if (!counter_delta->ended)
		return;
	if (json)
		json_begin_object(json, "counters");
	for (size_t i = 0; i < counter_delta->change.count; i++) {
		const struct counter *counter = &counter_delta->change.list[i];

		if (json)
			json_add_uint(json, counter->name, counter->value);
		else if (counter->value)
			printf("Counter: %s +%" PRIu64 "\n", counter->name, counter->value);
	}
	if (json)
		json_end_object(json);
}
