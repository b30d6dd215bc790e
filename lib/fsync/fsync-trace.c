// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsync/fsync-trace.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/detached-mount.h"

#ifdef HAVE_TRACEFS

#include <tracefs.h>

#define INSTANCE_PREFIX "btrfs-fastpath."
#define ATTEMPTS 100
/* of each processor */
#define BUFFER_KIB 512
#define EVENTS_MAX 65536

struct traced_type {
	const char *system;
	const char *name;
	enum fsync_event_type type;
	/* of the file system with an fsid */
	bool of_btrfs;
};

static const struct traced_type traced_types[] = {
	{ "btrfs", "btrfs_sync_file", FSYNC_EVENT_BEGIN, true },
	{ "btrfs", "btrfs_transaction_commit", FSYNC_EVENT_COMMIT, true },
	{ "syscalls", "sys_enter_fsync", FSYNC_EVENT_CALL, false },
	{ "syscalls", "sys_enter_fdatasync", FSYNC_EVENT_CALL, false },
	{ "syscalls", "sys_enter_msync", FSYNC_EVENT_CALL, false },
	{ "syscalls", "sys_enter_sync", FSYNC_EVENT_CALL, false },
	{ "syscalls", "sys_enter_syncfs", FSYNC_EVENT_CALL, false },
	{ "syscalls", "sys_exit_fsync", FSYNC_EVENT_END, false },
	{ "syscalls", "sys_exit_fdatasync", FSYNC_EVENT_END, false },
	{ "syscalls", "sys_exit_msync", FSYNC_EVENT_END, false },
	{ "sched", "sched_process_exit", FSYNC_EVENT_EXIT, false },
};

#define TRACED_TYPES (sizeof(traced_types) / sizeof(traced_types[0]))

struct fsync_trace {
	uint8_t fsid[FSID_SIZE];
	/* a mount of tracefs that is attached nowhere */
	int mount_fd;
	struct tracefs_instance *instance;
	/* keeps other processes from removing the instance */
	int instance_fd;
	struct tep_handle *formats;
	struct tep_event *types[TRACED_TYPES];
	uint64_t lost;
	/* of the last call, before those to come */
	size_t taken;
	size_t count;
	struct fsync_event events[EVENTS_MAX];
};

/* -- tracefs -- */

static int mount_tracefs(struct fsync_trace *trace)
{
	int fd = detached_mount_open("tracefs", NULL);
	char path[32];

	if (fd < 0)
		return fd == -ENODEV ? -EOPNOTSUPP : fd;
	trace->mount_fd = fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return tracefs_set_tracing_dir(path) < 0 ? -ENOMEM : 0;
}

/* The kernel refuses it for an instance in which a process has a file open. */
static int remove_left_instance(const char *name, void *data)
{
	struct tracefs_instance *instance;

	(void)data;
	if (strncmp(name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
		return 0;
	instance = tracefs_instance_create(name);
	if (instance) {
		tracefs_instance_destroy(instance);
		tracefs_instance_free(instance);
	}
	return 0;
}

/* Fails with -EBUSY for an instance of another process, which would read half of the events. */
static int try_instance(struct fsync_trace *trace, const char *name)
{
	struct tracefs_instance *instance = tracefs_instance_create(name);
	int fd = -1;

	if (!instance)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	/* Until a file is open, another run takes it for that of a killed one. */
	if (tracefs_instance_is_new(instance))
		fd = tracefs_instance_file_open(instance, "tracing_on", O_RDWR);
	if (fd < 0) {
		tracefs_instance_free(instance);
		return -EBUSY;
	}
	trace->instance = instance;
	trace->instance_fd = fd;
	return 0;
}

static int make_instance(struct fsync_trace *trace)
{
	char name[sizeof(INSTANCE_PREFIX) + 3 * sizeof(pid_t) + 3 * sizeof(int)];
	int ret = -EBUSY;

	tracefs_instances_walk(remove_left_instance, NULL);
	/* A process in another PID namespace can have the same ID. */
	for (int i = 0; ret == -EBUSY && i < ATTEMPTS; i++) {
		snprintf(name, sizeof(name), INSTANCE_PREFIX "%d.%d", getpid(), i);
		ret = try_instance(trace, name);
	}
	if (ret < 0)
		return ret;
	if (tracefs_instance_file_write(trace->instance, "trace_clock", "mono") < 0 ||
	    tracefs_instance_set_buffer_size(trace->instance, BUFFER_KIB, -1) < 0)
		return -errno;
	return 0;
}

static int read_header(struct fsync_trace *trace)
{
	CLEANUP_FREE char *header = NULL;
	int size;

	trace->formats = tep_alloc();
	if (!trace->formats)
		return -ENOMEM;
	header = tracefs_instance_file_read(NULL, "events/header_page", &size);
	return header && tep_parse_header_page(trace->formats, header, size, sizeof(long)) == 0 ?
		       0 :
		       -EOPNOTSUPP;
}

/* Of these events alone: the library would read the formats of all system calls, which takes longer. */
static int read_formats(struct fsync_trace *trace)
{
	int ret = read_header(trace);

	for (size_t i = 0; ret == 0 && i < TRACED_TYPES; i++) {
		const struct traced_type *type = &traced_types[i];
		CLEANUP_FREE char *format = NULL;
		int size;

		format = tracefs_event_file_read(trace->instance, type->system, type->name,
						 "format", &size);
		if (format && tep_parse_event(trace->formats, format, size, type->system) == 0)
			trace->types[i] = tep_find_event_by_name(trace->formats, type->system,
								 type->name);
		/* Without system calls no fsync has an end, and its time is unknown. */
		if (!trace->types[i] && type->of_btrfs)
			ret = -EOPNOTSUPP;
	}
	return ret;
}

static int enable_events(struct fsync_trace *trace)
{
	for (size_t i = 0; i < TRACED_TYPES; i++)
		if (trace->types[i] && tracefs_event_enable(trace->instance, traced_types[i].system,
							    traced_types[i].name) < 0)
			return -errno;
	return 0;
}

void fsync_trace_end(struct fsync_trace **trace)
{
	if (!*trace)
		return;
	close_fd(&(*trace)->instance_fd);
	if ((*trace)->instance) {
		tracefs_instance_destroy((*trace)->instance);
		tracefs_instance_free((*trace)->instance);
	}
	tep_free((*trace)->formats);
	tracefs_set_tracing_dir(NULL);
	close_fd(&(*trace)->mount_fd);
	free(*trace);
	*trace = NULL;
}

int fsync_trace_begin(const uint8_t fsid[FSID_SIZE], struct fsync_trace **ret_trace)
{
	struct fsync_trace *trace = calloc(1, sizeof(*trace));
	int ret;

	if (!trace)
		return -ENOMEM;
	memcpy(trace->fsid, fsid, FSID_SIZE);
	trace->mount_fd = -1;
	trace->instance_fd = -1;
	/* Some formats are beyond the library, and it prints that. */
	tracefs_set_loglevel(TEP_LOG_NONE);
	ret = mount_tracefs(trace);
	if (ret == 0)
		ret = make_instance(trace);
	if (ret == 0)
		ret = read_formats(trace);
	if (ret == 0)
		ret = enable_events(trace);
	if (ret < 0) {
		fsync_trace_end(&trace);
		return ret;
	}
	*ret_trace = trace;
	return 0;
}

/* -- events -- */

/* The SIZE bytes of the field NAME. Returns NULL if RECORD does not have them. */
static const void *bytes_of(struct tep_event *event, const struct tep_record *record,
			    const char *name, size_t size)
{
	const struct tep_format_field *field = tep_find_any_field(event, name);

	if (!field || field->offset < 0 || (size_t)field->size != size || record->size < 0 ||
	    (size_t)field->offset + size > (size_t)record->size)
		return NULL;
	return (const char *)record->data + field->offset;
}

static uint64_t number_of(struct tep_event *event, const struct tep_record *record,
			  const char *name)
{
	uint64_t number = 0;
	const void *bytes = bytes_of(event, record, name, sizeof(number));

	if (bytes)
		memcpy(&number, bytes, sizeof(number));
	return number;
}

static const struct traced_type *type_of(const struct fsync_trace *trace,
					 const struct tep_event *event)
{
	for (size_t i = 0; i < TRACED_TYPES; i++)
		if (trace->types[i] && trace->types[i]->id == event->id)
			return &traced_types[i];
	return NULL;
}

static int take_record(struct tep_event *event, struct tep_record *record, int cpu, void *data)
{
	struct fsync_trace *trace = data;
	const struct traced_type *type = type_of(trace, event);
	struct fsync_event *taken = &trace->events[trace->count];
	const void *bytes;

	(void)cpu;
	/* The kernel does not always know how many. */
	if (record->missed_events)
		trace->lost += record->missed_events > 0 ? record->missed_events : 1;
	if (!type)
		return 0;
	bytes = type->of_btrfs ? bytes_of(event, record, "fsid", FSID_SIZE) : NULL;
	if (type->of_btrfs && (!bytes || memcmp(bytes, trace->fsid, FSID_SIZE) != 0))
		return 0;
	if (trace->count == EVENTS_MAX) {
		trace->lost++;
		return 0;
	}
	*taken = (struct fsync_event){
		.at_ns = record->ts,
		.type = type->type,
		.tid = tep_data_pid(trace->formats, record),
	};
	if (type->type == FSYNC_EVENT_BEGIN) {
		taken->subvolid = number_of(event, record, "root_objectid");
		taken->inode = number_of(event, record, "ino");
		taken->directory = number_of(event, record, "parent");
	}
	bytes = type->type == FSYNC_EVENT_EXIT ? bytes_of(event, record, "comm", EVENT_NAME_SIZE) :
						 NULL;
	if (bytes)
		memcpy(taken->name, bytes, EVENT_NAME_SIZE);
	trace->count++;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct fsync_event *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

int fsync_trace_read(struct fsync_trace *trace, const struct fsync_event **ret_events,
		     size_t *ret_count, size_t *ret_known)
{
	const uint64_t start_ns = monotonic_ns();

	trace->count -= trace->taken;
	memmove(trace->events, trace->events + trace->taken, trace->count * sizeof(*trace->events));
	trace->taken = 0;
	errno = 0;
	if (tracefs_iterate_raw_events(trace->formats, trace->instance, NULL, 0, take_record,
				       trace) < 0)
		return errno ? -errno : -EIO;
	qsort(trace->events, trace->count, sizeof(*trace->events), compare_times);
	/* The processors are read one after the other: what came during that can be incomplete. */
	while (trace->taken < trace->count && trace->events[trace->taken].at_ns < start_ns)
		trace->taken++;

	*ret_events = trace->events;
	*ret_count = trace->taken;
	*ret_known = trace->count;
	return 0;
}

uint64_t fsync_trace_lost(const struct fsync_trace *trace)
{
	return trace->lost;
}

#else

int fsync_trace_begin(const uint8_t fsid[FSID_SIZE], struct fsync_trace **ret_trace)
{
	(void)fsid;
	(void)ret_trace;
	return -ENOSYS;
}

void fsync_trace_end(struct fsync_trace **trace)
{
	(void)trace;
}

int fsync_trace_read(struct fsync_trace *trace, const struct fsync_event **ret_events,
		     size_t *ret_count, size_t *ret_known)
{
	(void)trace;
	(void)ret_events;
	(void)ret_count;
	(void)ret_known;
	return -ENOSYS;
}

uint64_t fsync_trace_lost(const struct fsync_trace *trace)
{
	(void)trace;
	return 0;
}

#endif
