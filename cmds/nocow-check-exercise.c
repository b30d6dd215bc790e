// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nocow-check-exercise.h"
#include "nocow/nocow.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "text/units.h"
#include "ui/message.h"

static const char *scratch_name(enum scratch_kind kind)
{
	return kind == SCRATCH_NOCOW ? "nocow" : "prealloc";
}

/* -- running -- */

/* Complains, and returns -1. */
static int failed(const struct exercise_plan *plan, const char *action, int err)
{
	error_path(action, plan->directory, err);
	return -1;
}

/* Returns 0 with fio's path, NULL where our own writes are to be used; or -1, and complains. */
static int find_fio(enum exercise_engine engine, char **ret_path)
{
	int ret;

	*ret_path = NULL;
	if (engine == ENGINE_BUILTIN)
		return 0;
	ret = program_find("fio", ret_path);
	if (ret == -ENOENT && engine == ENGINE_ANY)
		return 0;
	if (ret == -ENOENT)
		error("fio is not installed; use --engine builtin");
	else if (ret < 0)
		error("cannot search for fio: %s", strerror(-ret));
	return ret < 0 ? -1 : 0;
}

static void announce(const struct exercise_plan *plan, struct size_format sizes)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(plan->directory);
	char size[UNITS_TEXT_SIZE];

	warning("writing for up to %" PRIu64 " second%s to an unnamed scratch file of %s in %s",
		plan->seconds, plan->seconds == 1 ? "" : "s", format_size(size, plan->size, sizes),
		quoted);
}

/* Returns 0 or a negative errno. */
static int predict(const struct nocow_file *file, struct write_exercise *writes)
{
	CLEANUP(nocow_iter_freep) struct nocow_iter *iter = NULL;
	struct nocow_range range;
	int ret;

	ret = nocow_iter_new(&iter);
	if (ret == 0)
		ret = nocow_iter_start(iter, file, WHOLE_FILE, 0);
	if (ret < 0)
		return ret;
	while ((ret = nocow_iter_next(iter, &range)) > 0)
		if (nocow_reason_fate(range.reason) == NOCOW_IN_PLACE)
			write_exercise_predict(writes,
					       (struct byte_range){ range.offset, range.length });
	return ret;
}

/* The scratch file before anything is written. Returns 0 or a negative errno. */
static int look_at_scratch(int fd, struct known_subvolume *known, struct write_exercise *writes,
			   struct exercise *exercise)
{
	struct nocow_file file;
	struct stat status;
	int ret;

	if (fstat(fd, &status))
		return -errno;
	ret = nocow_check_look_at_file(known, fd, &status, &file);
	if (ret < 0)
		return ret;
	exercise->predicted = file.searchable;
	return predict(&file, writes);
}

static int run_writes(struct write_exercise *writes, const char *fio, struct exercise *exercise)
{
	const struct exercise_plan *plan = exercise->plan;
	uint64_t duration = plan->seconds * NANOSECONDS_PER_SECOND;
	/* The second write to a preallocated block is always a copy. */
	bool once = plan->scratch == SCRATCH_PREALLOC;

	if (fio)
		return write_exercise_run_fio(writes, fio, duration, once, &exercise->written);
	return write_exercise_run(writes, duration, once, &exercise->written);
}

/* Returns 0; or -1, and complains. */
static int write_scratch(int fd, struct write_exercise *writes, const char *fio,
			 struct exercise *exercise)
{
	const struct exercise_plan *plan = exercise->plan;
	int ret;

	counter_delta_begin(&exercise->counter_delta, fd);
	ret = run_writes(writes, fio, exercise);
	counter_delta_end(&exercise->counter_delta);
	if (ret == -ESRCH && fio)
		return failed(plan,
			      "fio requires /proc, --engine builtin does not: cannot write to "
			      "the scratch file in",
			      0);
	if (ret == -EPROTO && fio)
		return failed(plan, "fio failed to write to the scratch file in", 0);
	if (ret < 0)
		return failed(plan, "cannot write to the scratch file in", ret);
	return 0;
}

/* Returns 0; or -1, and complains. */
static int exercise_scratch(int fd, struct known_subvolume *known, const char *fio,
			    struct exercise *exercise)
{
	CLEANUP(write_exercise_freep) struct write_exercise *writes = NULL;
	const struct exercise_plan *plan = exercise->plan;
	int ret;

	ret = write_exercise_new(&writes, fd, plan->size);
	if (ret == 0)
		ret = look_at_scratch(fd, known, writes, exercise);
	if (ret < 0)
		return failed(plan, "cannot examine the scratch file in", ret);
	if (write_scratch(fd, writes, fio, exercise) < 0)
		return -1;
	ret = write_exercise_judge(writes, &exercise->written, &exercise->verdict);
	return ret < 0 ? failed(plan, "cannot examine the scratch file in", ret) : 0;
}

int exercise_run(const struct exercise_plan *plan, struct known_subvolume *known,
		 struct size_format sizes, struct exercise *ret_exercise)
{
	CLEANUP_FREE char *fio = NULL;
	CLEANUP_CLOSE int fd = -1;
	int ret;

	if (find_fio(plan->engine, &fio) < 0)
		return -1;
	fd = scratch_file_new(plan->directory);
	if (fd == -ENOTTY)
		return failed(plan, "not a btrfs filesystem:", 0);
	if (fd < 0)
		return failed(plan, "cannot create a scratch file in", fd);
	announce(plan, sizes);
	ret = scratch_file_fill(fd, plan->scratch, plan->size);
	if (ret < 0)
		return failed(plan, "cannot create a scratch file in", ret);
	*ret_exercise = (struct exercise){ .plan = plan, .by_fio = fio };
	return exercise_scratch(fd, known, fio, ret_exercise);
}

/* -- reporting -- */

static const char *engine_name(const struct exercise *exercise)
{
	return exercise->by_fio ? "fio" : "builtin";
}

static void say_result(const struct exercise *exercise, const struct output *out)
{
	const struct write_verdict *verdict = &exercise->verdict;
	const struct written *written = &exercise->written;
	const struct size_format sizes = out->sizes;
	char bytes[UNITS_TEXT_SIZE], rate[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	record_say(out, "Exercise: %s by %s\n", scratch_name(exercise->plan->scratch),
		   engine_name(exercise));
	record_say(out, "Written: %" PRIu64 " writes, %s in %s: %s/s, %" PRIu64 " IOPS\n",
		   written->count, format_size(bytes, written->bytes, sizes),
		   format_time(time, written->elapsed_ns),
		   format_size(rate, per_second(written->bytes, written->elapsed_ns), sizes),
		   per_second(written->count, written->elapsed_ns));
	if (!exercise->predicted)
		record_say(out, "Predicted: unknown\n");
	else if (verdict->writes_known)
		record_say(out, "Predicted: %" PRIu64 " writes in place\n",
			   verdict->predicted_writes);
	else
		record_say(out, "Predicted: %s of the file in place\n",
			   format_size(bytes, verdict->predicted_bytes, sizes));
	if (verdict->writes_known)
		record_say(out, "Proved: %" PRIu64 " writes in place, ", verdict->proved_writes);
	else
		record_say(out, "Proved: ");
	record_say(out, "%s of the file moved\n", format_size(bytes, verdict->moved_bytes, sizes));
}

static void add_result(const struct exercise *exercise, struct json_writer *json)
{
	const struct exercise_plan *plan = exercise->plan;
	const struct write_verdict *verdict = &exercise->verdict;
	const struct written *written = &exercise->written;

	json_add_name(json, "directory", plan->directory);
	json_add_string(json, "scratch", scratch_name(plan->scratch));
	json_add_string(json, "engine", engine_name(exercise));
	json_add_uint(json, "size_bytes", plan->size);
	json_add_uint(json, "writes", written->count);
	json_add_uint(json, "written_bytes", written->bytes);
	json_add_uint(json, "elapsed_ns", written->elapsed_ns);
	json_add_uint(json, "bytes_per_second", per_second(written->bytes, written->elapsed_ns));
	json_add_uint(json, "writes_per_second", per_second(written->count, written->elapsed_ns));
	json_add_uint(json, "moved_bytes", verdict->moved_bytes);
	json_add_known_uint(json, "predicted_nocow_bytes", exercise->predicted,
			    verdict->predicted_bytes);
	json_add_known_uint(json, "proved_writes_in_place", verdict->writes_known,
			    verdict->proved_writes);
	json_add_known_uint(json, "predicted_writes_in_place",
			    verdict->writes_known && exercise->predicted,
			    verdict->predicted_writes);
}

void exercise_report(const struct exercise *exercise, struct output *out, uint64_t file_count)
{
	record_say(out, "%s", file_count ? "\n" : "");
	say_result(exercise, out);
	json_begin_object(&out->json, "exercise");
	add_result(exercise, &out->json);
	counter_delta_report(&exercise->counter_delta, out);
	json_end_object(&out->json);
}
