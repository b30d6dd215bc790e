// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>

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

void counter_delta_report(const struct counter_delta *counter_delta, struct output *out)
{
	if (!counter_delta->ended)
		return;
	json_begin_object(&out->json, "counters");
	for (size_t i = 0; i < counter_delta->change.count; i++) {
		const struct counter *counter = &counter_delta->change.list[i];

		json_add_uint(&out->json, counter->name, counter->value);
		if (counter->value)
			record_say(out, "Counter: %s +%" PRIu64 "\n", counter->name,
				   counter->value);
	}
	json_end_object(&out->json);
}
