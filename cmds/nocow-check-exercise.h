/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_EXERCISE_H
#define FASTPATH_NOCOW_CHECK_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "nocow-check-file.h"
#include "nocow/scratch-file.h"
#include "nocow/write-exercise.h"
#include "ui/counter-delta.h"
#include "ui/json.h"

/* What writes: fio where it is installed, if nothing is said. */
enum exercise_engine { ENGINE_ANY, ENGINE_FIO, ENGINE_BUILTIN };

/* What --exercise is to do. */
struct exercise_plan {
	const char *directory;
	enum exercise_engine engine;
	enum scratch_kind scratch;
	uint64_t size;
	uint64_t seconds;
};

/* What was written, and where it went. */
struct exercise {
	const struct exercise_plan *plan;
	bool by_fio;
	struct written written;
	struct write_verdict verdict;
	/* whether the trees could be searched for the prediction */
	bool predicted;
	struct counter_delta counter_delta;
};

/*
 * Writes to a scratch file as PLAN says, which is announced with SIZES. Returns 0; or -1, and complains.
 */
int exercise_run(const struct exercise_plan *plan, struct known_subvolume *known,
		 struct size_format sizes, struct exercise *ret_exercise);

void exercise_print(const struct exercise *exercise, struct size_format sizes);

/* Adds the object "exercise". */
void exercise_json(const struct exercise *exercise, struct json_writer *json);

#endif
