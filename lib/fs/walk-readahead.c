// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/walk-readahead.h"
#include "path/open-beneath.h"
#include "sys/cleanup.h"

/* A disk that seeks for 4 ms is busy with 16 reads; more give an SSD little. */
#define THREADS 16
#define QUEUE_LENGTH 128
/* How far a walk looks ahead in a directory, and a thread looks into a subdirectory. */
#define ENTRIES_AHEAD 4096
/* A leaf of 16 KiB has the items of 40 to 80 files. */
#define INODES_PER_READ 32
/* After so many reads in a row that did not wait, the rest is probably in memory, too: only some are tried. */
#define READS_IN_MEMORY 64
#define ENTRIES_PER_TRY 16

/* An open directory, which the walk and what waits in the queue share. */
struct shared_stream {
	atomic_uint holders;
	DIR *stream;
	/* of the subdirectories that are read; 0: any */
	dev_t device;
};

/* An entry of a directory that a thread shall look up. */
struct task {
	struct shared_stream *parent;
	unsigned char type;
	char name[NAME_MAX + 1];
};

struct walk_readahead {
	/* the walk and the threads; the last one frees it */
	atomic_uint holders;
	pthread_mutex_t lock;
	pthread_cond_t task_ready;
	/* a ring; TAKEN and ADDED only grow */
	struct task queue[QUEUE_LENGTH];
	unsigned long taken;
	unsigned long added;
	atomic_bool closing;
	/* in a row */
	atomic_uint reads_without_wait;
	/* of the walk's thread */
	unsigned int entries_in_memory;
};

struct readahead_directory {
	struct walk_readahead *readahead;
	int fd;
	dev_t device;
	/* NULL as long as nothing has to be read */
	struct shared_stream *shared;
	/* entries that the walk has read, and that were looked at here */
	uint64_t walked;
	uint64_t looked_at;
	/* waits for room in the queue; readdir() keeps it */
	const struct dirent *waiting;
	bool at_end;
	bool is_topmost;
	ino_t last_inode;
};

static void stream_release(struct shared_stream *shared)
{
	if (atomic_fetch_sub(&shared->holders, 1) > 1)
		return;
	closedir(shared->stream);
	free(shared);
}

/* Takes FD over. A new atime would change what the caller examines. Returns NULL on failure. */
static DIR *open_stream(int fd)
{
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (!stream)
		close_fd(&fd);
	else
		fcntl(fd, F_SETFL, O_NOATIME);
	return stream;
}

/* Whether the items of the inode are probably not in the leaf that those of *LAST brought. */
static bool is_distant(ino_t inode, ino_t *last)
{
	ino_t distance = inode > *last ? inode - *last : *last - inode;

	if (distance < INODES_PER_READ)
		return false;
	*last = inode;
	return true;
}

static void readahead_release(struct walk_readahead *readahead)
{
	if (atomic_fetch_sub(&readahead->holders, 1) > 1)
		return;
	while (readahead->taken != readahead->added)
		stream_release(readahead->queue[readahead->taken++ % QUEUE_LENGTH].parent);
	pthread_cond_destroy(&readahead->task_ready);
	pthread_mutex_destroy(&readahead->lock);
	free(readahead);
}

static bool is_in_memory(const struct walk_readahead *readahead)
{
	return readahead->reads_without_wait >= READS_IN_MEMORY;
}

/* -- on the threads -- */

static void read_inode(int directory, const char *name)
{
	int fd = open_beneath(directory, name, O_PATH | O_CLOEXEC);

	close_fd(&fd);
}

static bool is_on(int fd, dev_t device)
{
	struct stat status;

	return !device || (fstat(fd, &status) == 0 && status.st_dev == device);
}

static void read_directory(const struct walk_readahead *readahead, const struct task *task)
{
	int fd = open_beneath(dirfd(task->parent->stream), task->name,
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ino_t last_inode = 0;
	struct dirent *entry;
	DIR *stream;

	if (fd >= 0 && !is_on(fd, task->parent->device))
		close_fd(&fd);
	stream = open_stream(fd);
	if (!stream)
		return;
	for (int i = 0; i < ENTRIES_AHEAD && !readahead->closing && (entry = readdir(stream)); i++)
		if (entry->d_type == DT_REG && is_distant(entry->d_ino, &last_inode))
			read_inode(fd, entry->d_name);
	closedir(stream);
}

/* Returns false at the end. */
static bool take_task(struct walk_readahead *readahead, struct task *ret_task)
{
	bool is_open;

	pthread_mutex_lock(&readahead->lock);
	while (readahead->taken == readahead->added && !readahead->closing)
		pthread_cond_wait(&readahead->task_ready, &readahead->lock);
	is_open = !readahead->closing;
	if (is_open)
		*ret_task = readahead->queue[readahead->taken++ % QUEUE_LENGTH];
	pthread_mutex_unlock(&readahead->lock);
	return is_open;
}

/* How often this thread has waited: for a disk, or for a lock, after which it reads ahead for no reason. */
static long waits_of_thread(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void *thread_main(void *data)
{
	struct walk_readahead *readahead = data;
	struct task task;

	while (take_task(readahead, &task)) {
		long waits = waits_of_thread();

		if (task.type == DT_DIR)
			read_directory(readahead, &task);
		else
			read_inode(dirfd(task.parent->stream), task.name);
		if (waits_of_thread() != waits)
			readahead->reads_without_wait = 0;
		else if (!is_in_memory(readahead))
			readahead->reads_without_wait++;
		stream_release(task.parent);
	}
	readahead_release(readahead);
	return NULL;
}

/* -- on the thread of the walk -- */

/* Returns false if it cannot be started. */
static bool start_thread(struct walk_readahead *readahead, const pthread_attr_t *attributes)
{
	pthread_t thread;

	atomic_fetch_add(&readahead->holders, 1);
	if (pthread_create(&thread, attributes, thread_main, readahead) == 0)
		return true;
	atomic_fetch_sub(&readahead->holders, 1);
	return false;
}

/* Where threads are scarce, those of the walk need them more. */
static bool start_all_threads(struct walk_readahead *readahead)
{
	pthread_attr_t attributes;
	unsigned int count = 0;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (count < THREADS && start_thread(readahead, &attributes))
		count++;
	pthread_attr_destroy(&attributes);
	return count == THREADS;
}

struct walk_readahead *walk_readahead_new(void)
{
	struct walk_readahead *readahead = calloc(1, sizeof(*readahead));

	if (!readahead)
		return NULL;
	atomic_init(&readahead->holders, 1);
	pthread_mutex_init(&readahead->lock, NULL);
	pthread_cond_init(&readahead->task_ready, NULL);
	if (start_all_threads(readahead))
		return readahead;
	walk_readahead_free(readahead);
	return NULL;
}

void walk_readahead_free(struct walk_readahead *readahead)
{
	if (!readahead)
		return;
	pthread_mutex_lock(&readahead->lock);
	readahead->closing = true;
	pthread_cond_broadcast(&readahead->task_ready);
	pthread_mutex_unlock(&readahead->lock);
	readahead_release(readahead);
}

/* Takes FD over. */
static struct shared_stream *stream_new(int fd, dev_t device)
{
	struct shared_stream *shared = malloc(sizeof(*shared));

	if (!shared) {
		close_fd(&fd);
		return NULL;
	}
	atomic_init(&shared->holders, 1);
	shared->device = device;
	shared->stream = open_stream(fd);
	if (shared->stream)
		return shared;
	free(shared);
	return NULL;
}

struct readahead_directory *readahead_directory_new(struct walk_readahead *readahead, int fd,
						    dev_t device, bool is_topmost)
{
	struct readahead_directory *directory;

	if (!readahead)
		return NULL;
	directory = calloc(1, sizeof(*directory));
	if (!directory)
		return NULL;
	directory->readahead = readahead;
	directory->fd = fd;
	directory->device = device;
	directory->is_topmost = is_topmost;
	return directory;
}

void readahead_directory_free(struct readahead_directory *directory)
{
	if (!directory)
		return;
	if (directory->shared)
		stream_release(directory->shared);
	free(directory);
}

/* Returns false if there is nothing to read in it. */
static bool open_directory(struct readahead_directory *directory)
{
	if (!directory->shared && !directory->at_end)
		directory->shared =
			stream_new(openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				   directory->device);
	directory->at_end = directory->at_end || !directory->shared;
	return !directory->at_end;
}

/* Where nothing waits for a disk, reading ahead costs more than it gains. */
static bool is_left_out(struct walk_readahead *readahead)
{
	return is_in_memory(readahead) && ++readahead->entries_in_memory % ENTRIES_PER_TRY;
}

/* What was left out is not looked at again, so not far ahead. */
static unsigned int entries_ahead(const struct walk_readahead *readahead)
{
	return is_in_memory(readahead) ? ENTRIES_PER_TRY : ENTRIES_AHEAD;
}

/* Returns false if there is no room. */
static bool add_task(struct readahead_directory *directory, const struct dirent *entry)
{
	struct walk_readahead *readahead = directory->readahead;
	bool has_room;

	pthread_mutex_lock(&readahead->lock);
	has_room = readahead->added - readahead->taken < QUEUE_LENGTH;
	if (has_room) {
		struct task *task = &readahead->queue[readahead->added++ % QUEUE_LENGTH];

		task->parent = directory->shared;
		task->type = entry->d_type;
		strcpy(task->name, entry->d_name);
		atomic_fetch_add(&directory->shared->holders, 1);
		pthread_cond_signal(&readahead->task_ready);
	}
	pthread_mutex_unlock(&readahead->lock);
	return has_room;
}

static bool is_worth_reading(struct readahead_directory *directory, const struct dirent *entry)
{
	/* The walk has passed it. */
	if (directory->looked_at < directory->walked)
		return false;
	if (entry->d_type == DT_DIR)
		return !is_dot_dotdot(entry->d_name);
	/* A thread has looked up the first files, except in the topmost directory. */
	return entry->d_type == DT_REG &&
	       (directory->is_topmost || directory->looked_at > ENTRIES_AHEAD) &&
	       is_distant(entry->d_ino, &directory->last_inode);
}

void readahead_directory_advance(struct readahead_directory *directory)
{
	if (!directory)
		return;
	directory->walked++;
	if (!directory->shared && is_left_out(directory->readahead))
		return;
	if (!open_directory(directory))
		return;
	while (!directory->at_end &&
	       directory->looked_at < directory->walked + entries_ahead(directory->readahead)) {
		const struct dirent *entry = directory->waiting;

		if (!entry) {
			entry = readdir(directory->shared->stream);
			directory->at_end = !entry;
			directory->looked_at++;
			if (!entry || !is_worth_reading(directory, entry) ||
			    is_left_out(directory->readahead))
				continue;
		}
		directory->waiting = add_task(directory, entry) ? NULL : entry;
		if (directory->waiting)
			return;
	}
}
