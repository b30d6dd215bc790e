// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <btrfs/ctree.h>

#include "fs/backref.h"
#include "fs/filesystem.h"
#include "fs/tree-search.h"
#include "fsync/fsync-tally.h"
#include "fsync/fsync-trace.h"
#include "log-stats-causes.h"
#include "sharing/owner-names.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/process-name.h"
#include "text/units.h"
#include "ui/message.h"

/* Causes of one interval; all others are one row. */
#define CAUSES_MAX 4096
/* Rows of a table; the others are one row. */
#define ROWS_MAX 20
/* A thread that ends after an fsync does so within this many events of other threads. */
#define EVENTS_UNTIL_EXIT 4096

static const char *const kind_names[] = {
	"process",
	"directory",
	"file",
	NULL,
};

int cause_kind_parse(const char *text, enum cause_kind *ret_kind)
{
	int word = parse_word("--by", text, kind_names);

	*ret_kind = CAUSE_PROCESS + word;
	return word < 0 ? EINVAL : 0;
}

const char *cause_kind_name(enum cause_kind kind)
{
	return kind_names[kind - CAUSE_PROCESS];
}

/* -- what is counted -- */

struct cause {
	/* of the process or the file; NULL: it was gone before it could be looked up */
	char *name;
	/* processes of this name; 0: unknown */
	uint64_t pid;
	bool has_one_pid;
	uint64_t fsyncs;
	uint64_t log;
	uint64_t full;
	uint64_t uncertain;
	/* also those outside an fsync */
	uint64_t commits;
	/* fsyncs whose end was traced */
	uint64_t timed;
	uint64_t total_ns;
	uint64_t max_ns;
};

struct causes {
	enum cause_kind kind;
	/* /proc has the processes of the trace */
	bool has_processes;
	int fd;
	struct fsync_trace *trace;
	struct fsync_tally *tally;
	uint64_t reported_ns;
	uint64_t reported_lost;
	struct cause sum;
	struct cause others;
	/* sorted by name */
	size_t count;
	struct cause list[CAUSES_MAX];
};

void causes_end(struct causes **causes)
{
	if (!*causes)
		return;
	fsync_trace_end(&(*causes)->trace);
	fsync_tally_free((*causes)->tally);
	for (size_t i = 0; i < (*causes)->count; i++)
		free((*causes)->list[i].name);
	free(*causes);
	*causes = NULL;
}

int causes_begin(struct causes **ret_causes, enum cause_kind kind, int fd)
{
	struct causes *causes = calloc(1, sizeof(*causes));
	uint8_t fsid[FSID_SIZE];
	int ret;

	if (!causes)
		return -ENOMEM;
	causes->kind = kind;
	causes->has_processes = in_first_pid_namespace();
	causes->fd = fd;
	ret = filesystem_id_of(fd, fsid);
	if (ret == 0)
		ret = fsync_tally_new(&causes->tally);
	if (ret == 0)
		ret = fsync_trace_begin(fsid, &causes->trace);
	if (ret < 0) {
		causes_end(&causes);
		return ret;
	}
	if (kind == CAUSE_PROCESS && !causes->has_processes)
		warning("in a PID namespace, the names of running processes are unknown");
	*ret_causes = causes;
	return 0;
}

/* -- names -- */

/* The events after a call, and how many there are. */
struct later_events {
	const struct fsync_event *events;
	size_t count;
};

/* The name of a process that has ended stands in an event. Returns NULL if it is unknown. */
static char *process_name(const struct causes *causes, pid_t tid, const struct later_events *later,
			  pid_t *ret_pid)
{
	char name[PROCESS_NAME_SIZE];

	*ret_pid = tid;
	if (causes->has_processes && process_of_thread(tid, ret_pid, name) == 0)
		return strdup(name);
	for (size_t i = 0; i < later->count && i < EVENTS_UNTIL_EXIT; i++)
		if (later->events[i].type == FSYNC_EVENT_EXIT && later->events[i].tid == tid)
			return strndup(later->events[i].name, EVENT_NAME_SIZE);
	return NULL;
}

static bool is_directory(const struct causes *causes, uint64_t subvolid, uint64_t inode)
{
	struct btrfs_inode_item item;

	return tree_search_copy_first(causes->fd, subvolid, inode, BTRFS_INODE_ITEM_KEY, 0, 0,
				      &item, sizeof(item)) == 0 &&
	       S_ISDIR(le32toh(item.mode));
}

/* Where the subvolume is mounted, else its path in the file system. */
static char *inode_path(const struct causes *causes, struct owner_names *owners, uint64_t subvolid,
			uint64_t inode)
{
	struct owner_name subvolume;
	const char *top;
	char **names = NULL;
	char *path = NULL;

	if (owner_names_find_subvolume(owners, subvolid, &subvolume) < 0)
		return NULL;
	top = subvolume.directory ? subvolume.directory : subvolume.subvolume;
	if (!top)
		return NULL;
	if (inode == BTRFS_FIRST_FREE_OBJECTID)
		return strdup(top);
	if (backref_inode_one_name(causes->fd, subvolid, inode, &names) == 0 &&
	    asprintf(&path, "%s%s%s", top, top[strlen(top) - 1] == '/' ? "" : "/", names[0]) < 0)
		path = NULL;
	free_names(names);
	return path;
}

/* A commit outside an fsync has no file. */
static char *file_name(const struct causes *causes, struct owner_names *owners,
		       const struct traced_call *call)
{
	uint64_t inode = call->inode;

	if (!call->is_fsync)
		return NULL;
	if (causes->kind == CAUSE_DIRECTORY && !is_directory(causes, call->subvolid, inode))
		inode = call->directory;
	return inode_path(causes, owners, call->subvolid, inode);
}

/* -- counting -- */

/* Processes without a name are told apart by their IDs. */
static int compare_names(const struct cause *a, const struct cause *b)
{
	if (a->name && b->name)
		return strcmp(a->name, b->name);
	if (a->name || b->name)
		return a->name ? 1 : -1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* The cause of this NAME, which it takes over. */
static struct cause *find(struct causes *causes, char *name, uint64_t pid)
{
	const struct cause wanted = { .name = name, .pid = pid, .has_one_pid = pid };
	size_t low = 0, high = causes->count;
	struct cause *cause;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_names(&causes->list[middle], &wanted);

		if (order == 0) {
			free(name);
			causes->list[middle].has_one_pid &= causes->list[middle].pid == pid;
			return &causes->list[middle];
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (causes->count == CAUSES_MAX) {
		free(name);
		return &causes->others;
	}
	cause = &causes->list[low];
	memmove(cause + 1, cause, (causes->count - low) * sizeof(*cause));
	causes->count++;
	*cause = wanted;
	return cause;
}

static void add_call(struct cause *cause, const struct traced_call *call)
{
	cause->commits += call->has_committed;
	if (!call->is_fsync)
		return;
	cause->fsyncs++;
	cause->log += call->kind == FSYNC_LOG;
	cause->full += call->kind == FSYNC_FULL;
	cause->uncertain += call->kind == FSYNC_UNCERTAIN;
	cause->timed += call->has_time;
	cause->total_ns += call->time_ns;
	if (call->time_ns > cause->max_ns)
		cause->max_ns = call->time_ns;
}

static void add_cause(struct cause *sum, const struct cause *cause)
{
	sum->fsyncs += cause->fsyncs;
	sum->log += cause->log;
	sum->full += cause->full;
	sum->uncertain += cause->uncertain;
	sum->commits += cause->commits;
	sum->timed += cause->timed;
	sum->total_ns += cause->total_ns;
	if (cause->max_ns > sum->max_ns)
		sum->max_ns = cause->max_ns;
}

int causes_count(struct causes *causes)
{
	/* Kept, they would become wrong after a rename, and hold a descriptor in another mount. */
	CLEANUP(owner_names_freep) struct owner_names *owners = NULL;
	const struct fsync_event *events;
	size_t count, known;
	int ret = causes->kind == CAUSE_PROCESS ? 0 : owner_names_new(&owners, causes->fd);

	if (ret == 0)
		ret = fsync_trace_read(causes->trace, &events, &count, &known);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		const struct later_events later = { events + i, known - i };
		struct traced_call call;
		pid_t pid = 0;
		char *name;

		if (fsync_tally_add(causes->tally, &events[i], &call) == 0)
			continue;
		if (causes->kind == CAUSE_PROCESS)
			name = process_name(causes, call.tid, &later, &pid);
		else
			name = file_name(causes, owners, &call);
		add_call(find(causes, name, pid), &call);
		add_call(&causes->sum, &call);
	}
	return ret;
}

/* -- the report -- */

struct cause_row {
	const char *process;
	const char *path;
	uint64_t pid;
	bool has_pid;
	uint64_t fsyncs;
	uint64_t per_second;
	uint64_t log;
	uint64_t full;
	uint64_t uncertain;
	uint64_t commits;
	uint64_t total_ns;
	uint64_t mean_ns;
	uint64_t max_ns;
	bool has_times;
	/* of the sum */
	uint64_t lost_events;
};

/* Columns on request. */
#define COLUMNS_OF_PROCESS (1U << CAUSE_PROCESS)
#define COLUMNS_OF_PATHS (1U << CAUSE_DIRECTORY | 1U << CAUSE_FILE)

#define ROW(member) offsetof(struct cause_row, member)

static const struct field row_fields[] = {
	{ ROW(fsyncs), FIELD_NUMBER, .key = "fsyncs", .title = "Fsyncs", .width = 6,
	  .help = "The number of fsyncs." },
	{ ROW(per_second), FIELD_NUMBER, .title = "Per second", .short_title = "/s", .width = 6 },
	{ ROW(log), FIELD_NUMBER, .key = "log_commits",
	  .help = "The number of those without a commit of the transaction." },
	{ ROW(full), FIELD_NUMBER, .key = "full_commits", .title = "Full", .width = 4,
	  .help = "The number of those that committed the transaction." },
	{ ROW(uncertain), FIELD_NUMBER, .key = "uncertain", .title = "Uncertain",
	  .short_title = "Unc.", .width = 4,
	  .help = "The number of those during which something else committed the transaction." },
	{ ROW(commits), FIELD_NUMBER, .key = "commits", .title = "Commits", .width = 4,
	  .help = "The number of commits, also those outside an fsync." },
	{ ROW(total_ns), FIELD_TIME, .key = "total_ns", .title = "Total", .known = ROW(has_times),
	  .help = "The time of the fsyncs; null if the end of none was traced." },
	{ ROW(mean_ns), FIELD_TIME, .key = "mean_ns", .title = "Mean", .known = ROW(has_times),
	  .help = "The mean time of an fsync; null if the end of none was traced." },
	{ ROW(max_ns), FIELD_TIME, .key = "max_ns", .title = "Max", .known = ROW(has_times),
	  .help = "The slowest fsync; null if the end of none was traced." },
	{ ROW(pid), FIELD_NUMBER, .key = "pid", .title = "PID", .width = 7, .known = ROW(has_pid),
	  .option = COLUMNS_OF_PROCESS,
	  .help = "The process; null if there are several of the name, and without --by process." },
	{ ROW(process), FIELD_TEXT, .key = "process", .title = "Process",
	  .option = COLUMNS_OF_PROCESS,
	  .help = "The name of the process; null if it is unknown, and without --by process." },
	{ ROW(path), FIELD_PATH, .key = "path", .title = "Path", .option = COLUMNS_OF_PATHS,
	  .help = "The directory or file; null if it is unknown, for commits outside an fsync, and with --by process." },
	{ 0 },
};

/* Of all causes together; the commits are counted by the file system, too. */
static const struct field sum_fields[] = {
	{ ROW(fsyncs), FIELD_NUMBER, .key = "fsyncs",
	  .help = "Only with --by: the number of fsyncs." },
	{ ROW(log), FIELD_NUMBER, .key = "log_commits",
	  .help = "Only with --by: the number of those without a commit of the transaction." },
	{ ROW(full), FIELD_NUMBER, .key = "full_commits",
	  .help = "Only with --by: the number of those that committed the transaction." },
	{ ROW(uncertain), FIELD_NUMBER, .key = "uncertain",
	  .help = "Only with --by: the number of those during which something else committed the transaction." },
	{ ROW(lost_events), FIELD_NUMBER, .key = "lost_events",
	  .help = "Only with --by: the number of events that are missing in the figures." },
	{ 0 },
};

static struct cause_row row_of(const struct causes *causes, const struct cause *cause,
			       const char *name, uint64_t interval_ns)
{
	return (struct cause_row){
		.process = causes->kind == CAUSE_PROCESS ? name : NULL,
		.path = causes->kind == CAUSE_PROCESS ? NULL : name,
		.pid = cause->pid,
		.has_pid = cause->has_one_pid,
		.fsyncs = cause->fsyncs,
		.per_second = per_second(cause->fsyncs, interval_ns),
		.log = cause->log,
		.full = cause->full,
		.uncertain = cause->uncertain,
		.commits = cause->commits,
		.total_ns = cause->total_ns,
		.mean_ns = cause->timed ? cause->total_ns / cause->timed : 0,
		.max_ns = cause->max_ns,
		.has_times = cause->timed,
	};
}

/* The most time first. An fsync of unknown time counts as one of mean time. */
static int compare_causes(const void *a, const void *b, void *data)
{
	const struct cause *x = a, *y = b;
	const struct cause *sum = data;
	uint64_t mean_ns = sum->timed ? sum->total_ns / sum->timed : 1;
	uint64_t x_ns = x->total_ns + (x->fsyncs - x->timed) * mean_ns;
	uint64_t y_ns = y->total_ns + (y->fsyncs - y->timed) * mean_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (x->commits != y->commits)
		return x->commits < y->commits ? 1 : -1;
	return compare_names(x, y);
}

static int report_rows(struct causes *causes, uint64_t interval_ns, struct output *out)
{
	size_t most = out->format == FORMAT_TEXT ? ROWS_MAX : CAUSES_MAX;
	struct rows *rows = NULL;
	struct cause_row row;
	int ret;

	qsort_r(causes->list, causes->count, sizeof(*causes->list), compare_causes, &causes->sum);
	ret = rows_new(&rows, out, "causes", row_fields, 1U << causes->kind);
	for (size_t i = 0; ret == 0 && i < causes->count; i++) {
		if (i >= most) {
			add_cause(&causes->others, &causes->list[i]);
			continue;
		}
		row = row_of(causes, &causes->list[i], causes->list[i].name, interval_ns);
		ret = rows_add(rows, &row);
	}
	if (ret == 0 && (causes->others.fsyncs || causes->others.commits)) {
		row = row_of(causes, &causes->others, "(others)", interval_ns);
		ret = rows_add(rows, &row);
	}
	return rows_end(&rows) < 0 && ret == 0 ? -ENOMEM : ret;
}

static void begin_interval(struct causes *causes)
{
	for (size_t i = 0; i < causes->count; i++)
		free(causes->list[i].name);
	causes->count = 0;
	causes->others = causes->sum = (struct cause){ 0 };
}

static void warn_of_lost_events(const struct causes *causes, uint64_t lost)
{
	if (lost > causes->reported_lost)
		warning("%" PRIu64 " events were lost: the figures of this interval are too low",
			lost - causes->reported_lost);
}

int causes_report(struct causes *causes, uint64_t elapsed_ns, struct output *out)
{
	const uint64_t interval_ns = elapsed_ns - causes->reported_ns;
	struct cause_row sum = row_of(causes, &causes->sum, NULL, interval_ns);
	const uint64_t lost = fsync_trace_lost(causes->trace);
	char from[UNITS_TEXT_SIZE], to[UNITS_TEXT_SIZE];
	int ret = 0;

	record_say(out,
		   "%s%s - %s: %" PRIu64 " fsyncs, %" PRIu64 " full, %" PRIu64
		   " uncertain; %" PRIu64 " commits\n",
		   causes->reported_ns ? "\n" : "", format_time(from, causes->reported_ns),
		   format_time(to, elapsed_ns), sum.fsyncs, sum.full, sum.uncertain, sum.commits);
	sum.lost_events = lost - causes->reported_lost;
	record_members(out, sum_fields, &sum);
	if (causes->count || out->format != FORMAT_TEXT)
		ret = report_rows(causes, interval_ns, out);
	warn_of_lost_events(causes, lost);
	causes->reported_ns = elapsed_ns;
	causes->reported_lost = lost;
	begin_interval(causes);
	return ret;
}
