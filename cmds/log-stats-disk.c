// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "log-stats-disk.h"
#include "num/saturating.h"
#include "sys/clock.h"

/* Spread over the run, and fewer of large writes. */
#define MEASURES_MAX 100
#define MEASURED_SIZE_MAX (256 << 20)

/* Of the data before an fsync. */
static uint64_t data_size_of(const struct fsync_plan *plan)
{
	uint64_t size;

	return __builtin_mul_overflow(plan->size, plan->every, &size) ? UINT64_MAX : size;
}

void disk_measure_begin(struct disk_measure *disk, const struct fsync_exercise *exercise)
{
	disk->error = disk_flush_new(&disk->flush, exercise->folder.fd,
				     data_size_of(&exercise->plan));
}

void disk_measure_end(struct disk_measure *disk)
{
	disk_flush_free(disk->flush);
	disk->flush = NULL;
}

/* How many fsyncs there are from one measurement to the next. */
static uint64_t step_of(const struct fsync_plan *plan)
{
	uint64_t data_size = data_size_of(plan), most = MEASURES_MAX;

	if (data_size > MEASURED_SIZE_MAX / MEASURES_MAX)
		most = MEASURED_SIZE_MAX / data_size + 1;
	return plan->operations / plan->every / most + 1;
}

void disk_measure_next(struct disk_measure *disk, struct fsync_exercise *exercise)
{
	int fsyncs = exercise->plan.workload == FSYNC_RENAME ? 2 : 1;
	uint64_t started_at = monotonic_ns(), took_ns;

	if (!disk->flush || disk->error || (exercise->latency.count - 1) % step_of(&exercise->plan))
		return;
	disk->error = disk_flush_time(disk->flush, fsyncs, &took_ns);
	if (disk->error == 0)
		latency_record(&disk->latency, took_ns);
	exercise->started_at += monotonic_ns() - started_at;
}

struct part_row {
	const char *path;
	const char *workload;
	uint64_t disk_fsync_ns;
	struct fsync_parts parts;
	const char *verdict;
};

#define PART(member) offsetof(struct part_row, member)

static const struct metric part_metric = {
	"btrfs_fastpath_fsync_part_seconds", METRIC_GAUGE, "seconds",
	"Time of the fsyncs of one run that the disk, the log and commits of the transaction took."
};

static const struct field part_fields[] = {
	{ PART(path), FIELD_PATH, .label.name = "path" },
	{ PART(workload), FIELD_TEXT, .label.name = "workload" },
	{ PART(disk_fsync_ns), FIELD_TIME, .key = "disk_fsync_ns",
	  .help = "The time that the disk alone needs for an fsync." },
	{ PART(parts.disk_ns), FIELD_TIME, .key = "disk_ns", .metric = &part_metric,
	  .label = { "part", "disk" }, .help = "The same for all fsyncs." },
	{ PART(parts.log_ns), FIELD_TIME, .key = "log_ns", .metric = &part_metric,
	  .label = { "part", "log" }, .help = "The other time of fsyncs that wrote the log." },
	{ PART(parts.commit_ns), FIELD_TIME, .key = "commit_ns", .metric = &part_metric,
	  .label = { "part", "commit" }, .help = "The other time of other fsyncs." },
	{ PART(verdict), FIELD_TEXT, .key = "verdict", .help = "The largest part." },
	{ 0 },
};

static const char *verdict_of(const struct fsync_parts *parts)
{
	if (parts->disk_ns >= parts->log_ns && parts->disk_ns >= parts->commit_ns)
		return "disk";
	return parts->log_ns >= parts->commit_ns ? "log" : "commits";
}

static void say_reason(const struct disk_measure *disk, struct output *out)
{
	if (disk->error == -EACCES || disk->error == -EPERM)
		record_say(out, "Verdict: requires root, to read the block device\n");
	else if (disk->error)
		record_say(out, "Verdict: unknown, without the time of the disk: %s\n",
			   strerror(-disk->error));
}

static unsigned int percent_of(uint64_t part, uint64_t total)
{
	return mul_div(part, 100, total);
}

static void say_parts(const struct part_row *row, uint64_t total_ns, struct output *out)
{
	char text[UNITS_TEXT_SIZE];

	record_say(out, "Disk: %s for an fsync without btrfs\n",
		   format_time(text, row->disk_fsync_ns));
	record_say(out, "Verdict: the largest part is %s (%u%% disk, %u%% log, %u%% commits)\n",
		   row->verdict, percent_of(row->parts.disk_ns, total_ns),
		   percent_of(row->parts.log_ns, total_ns),
		   percent_of(row->parts.commit_ns, total_ns));
}

void disk_measure_report(const struct disk_measure *disk, const struct fsync_exercise *exercise,
			 struct output *out, const char *path, const char *workload)
{
	struct part_row row = { .path = path, .workload = workload };

	if (!disk->latency.count || !exercise->latency.total) {
		record_object(out, "parts", part_fields, NULL);
		say_reason(disk, out);
		return;
	}
	row.disk_fsync_ns = latency_figures_of(&disk->latency).p50;
	row.parts = fsync_parts_of(exercise->kinds, row.disk_fsync_ns);
	row.verdict = verdict_of(&row.parts);
	record_object(out, "parts", part_fields, &row);
	record_samples(out, part_fields, &row);
	say_parts(&row, exercise->latency.total, out);
}
