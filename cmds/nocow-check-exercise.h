/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_EXERCISE_H
#define FASTPATH_NOCOW_CHECK_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "nocow-check-file.h"
#include "nocow/scratch-file.h"
#include "nocow/write-exercise.h"
#include "text/units.h"
#include "ui/counter-delta.h"
#include "ui/record.h"

/* The program that writes. ENGINE_ANY is fio if it is installed, else the builtin engine. */
enum exercise_engine { ENGINE_ANY, ENGINE_FIO, ENGINE_BUILTIN };

/* The options of --exercise. */
struct exercise_plan {
	const char *directory;
	enum exercise_engine engine;
	enum scratch_kind scratch;
	uint64_t size;
	uint64_t seconds;
};

/* The result of --exercise: the number of writes, and whether they went in place. */
struct exercise {
	const struct exercise_plan *plan;
	bool by_fio;
	struct written written;
	struct write_verdict verdict;
	/* the trees could be searched, so there is a prediction */
	bool predicted;
	struct counter_delta counter_delta;
};

/*
 * Warns, with sizes in the format SIZES, and then writes to a scratch file according to PLAN.
 * Returns 0, or -1 after printing an error.
 */
int exercise_run(const struct exercise_plan *plan, struct known_subvolume *known,
		 struct size_format sizes, struct exercise *ret_exercise);

/* Reports it, below the report on FILE_COUNT files. */
void exercise_report(const struct exercise *exercise, struct output *out, uint64_t file_count);

#endif
