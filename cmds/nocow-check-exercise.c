// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
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

struct exercise_row {
	const char *directory;
	const char *scratch;
	const char *engine;
	uint64_t size;
	struct written written;
	uint64_t bytes_per_second;
	uint64_t writes_per_second;
	struct write_verdict verdict;
	bool predicted;
	bool writes_predicted;
};

#define EXERCISE(member) offsetof(struct exercise_row, member)

static const struct field exercise_fields[] = {
	{ EXERCISE(directory), FIELD_PATH, .key = "directory", .help = "Where the file was made." },
	{ EXERCISE(scratch), FIELD_TEXT, .key = "scratch", .help = "How the file was made." },
	{ EXERCISE(engine), FIELD_TEXT, .key = "engine", .help = "What wrote." },
	{ EXERCISE(size), FIELD_SIZE, .key = "size_bytes", .help = "The size of the file." },
	{ EXERCISE(written.count), FIELD_NUMBER, .key = "writes", .help = "The number of writes." },
	{ EXERCISE(written.bytes), FIELD_SIZE, .key = "written_bytes",
	  .help = "The bytes that were written." },
	{ EXERCISE(written.elapsed_ns), FIELD_TIME, .key = "elapsed_ns",
	  .help = "How long that took." },
	{ EXERCISE(bytes_per_second), FIELD_SIZE, .key = "bytes_per_second",
	  .help = "The bandwidth." },
	{ EXERCISE(writes_per_second), FIELD_NUMBER, .key = "writes_per_second",
	  .help = "The rate of writes." },
	{ EXERCISE(verdict.moved_bytes), FIELD_SIZE, .key = "moved_bytes",
	  .help = "The bytes of the file that were moved." },
	{ EXERCISE(verdict.predicted_bytes), FIELD_SIZE, .key = "predicted_nocow_bytes",
	  .known = EXERCISE(predicted),
	  .help = "The bytes that were predicted to be written in place; null if unknown." },
	{ EXERCISE(verdict.proved_writes), FIELD_NUMBER, .key = "proved_writes_in_place",
	  .known = EXERCISE(verdict.writes_known),
	  .help = "The writes that were proved to be in place; null if unknown." },
	{ EXERCISE(verdict.predicted_writes), FIELD_NUMBER, .key = "predicted_writes_in_place",
	  .known = EXERCISE(writes_predicted),
	  .help = "The writes that were predicted to be in place; null if unknown." },
	{ 0 },
};

static struct exercise_row exercise_row_of(const struct exercise *exercise)
{
	const struct written *written = &exercise->written;

	return (struct exercise_row){
		.directory = exercise->plan->directory,
		.scratch = scratch_name(exercise->plan->scratch),
		.engine = exercise->by_fio ? "fio" : "builtin",
		.size = exercise->plan->size,
		.written = *written,
		.bytes_per_second = per_second(written->bytes, written->elapsed_ns),
		.writes_per_second = per_second(written->count, written->elapsed_ns),
		.verdict = exercise->verdict,
		.predicted = exercise->predicted,
		.writes_predicted = exercise->verdict.writes_known && exercise->predicted,
	};
}

static void say_result(const struct exercise_row *row, const struct output *out)
{
	const struct write_verdict *verdict = &row->verdict;
	char bytes[UNITS_TEXT_SIZE], rate[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	record_say(out, "Exercise: %s by %s\n", row->scratch, row->engine);
	record_say(out, "Written: %" PRIu64 " writes, %s in %s: %s/s, %" PRIu64 " IOPS\n",
		   row->written.count, format_size(bytes, row->written.bytes, out->sizes),
		   format_time(time, row->written.elapsed_ns),
		   format_size(rate, row->bytes_per_second, out->sizes), row->writes_per_second);
	if (!row->predicted)
		record_say(out, "Predicted: unknown\n");
	else if (verdict->writes_known)
		record_say(out, "Predicted: %" PRIu64 " writes in place\n",
			   verdict->predicted_writes);
	else
		record_say(out, "Predicted: %s of the file in place\n",
			   format_size(bytes, verdict->predicted_bytes, out->sizes));
	if (verdict->writes_known)
		record_say(out, "Proved: %" PRIu64 " writes in place, ", verdict->proved_writes);
	else
		record_say(out, "Proved: ");
	record_say(out, "%s of the file moved\n",
		   format_size(bytes, verdict->moved_bytes, out->sizes));
}

void exercise_report(const struct exercise *exercise, struct output *out, uint64_t file_count)
{
	const struct exercise_row row = exercise_row_of(exercise);

	record_say(out, "%s", file_count ? "\n" : "");
	say_result(&row, out);
	json_begin_object(&out->json, "exercise");
	record_members(out, exercise_fields, &row);
	counter_delta_report(&exercise->counter_delta, out);
	json_end_object(&out->json);
}
