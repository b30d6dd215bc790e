// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/walk-readahead.h"
#include "path/open-beneath.h"
#include "test.h"

#define DIRECTORIES 300
#define FILES 100

static char root[32];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
/* that the threads opened */
static unsigned int directories;
static unsigned int files;
/* their parents whose access time would change */
static unsigned int with_atime;
/* The threads wait for the disk until it is over. */
static bool disk_is_stuck;
/* The threads do not wait for the disk. */
static atomic_bool is_in_memory;
static atomic_long waits;
static int root_fd;

int __wrap_getrusage(int who, struct rusage *usage);

int __wrap_getrusage(int who, struct rusage *usage)
{
	assert_int_equal(who, RUSAGE_THREAD);
	usage->ru_nvcsw = is_in_memory ? waits : ++waits;
	return 0;
}

int __wrap_open_beneath(int directory, const char *name, int flags);
int __real_open_beneath(int directory, const char *name, int flags);

int __wrap_open_beneath(int directory, const char *name, int flags)
{
	int fd = __real_open_beneath(directory, name, flags);

	pthread_mutex_lock(&lock);
	with_atime += !(fcntl(directory, F_GETFL) & O_NOATIME);
	while (disk_is_stuck)
		pthread_cond_wait(&opened, &lock);
	if (flags & O_DIRECTORY)
		directories++;
	else
		files++;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&lock);
	return fd;
}

static void wait_for(const unsigned int *count, unsigned int least)
{
	pthread_mutex_lock(&lock);
	while (*count < least)
		pthread_cond_wait(&opened, &lock);
	pthread_mutex_unlock(&lock);
}

/* How many it is when the threads have done what they can. */
static unsigned int settled(const unsigned int *count)
{
	unsigned int result;

	usleep(200000);
	pthread_mutex_lock(&lock);
	result = *count;
	pthread_mutex_unlock(&lock);
	return result;
}

static void unstick(void)
{
	pthread_mutex_lock(&lock);
	disk_is_stuck = false;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&lock);
}

static void make_file(const char *directory, int number)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "%s/file-%d", directory, number);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	char path[64];

	(void)state;
	strcpy(root, "/tmp/test-walk-readahead.XXXXXX");
	assert_non_null(mkdtemp(root));
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/directory-%d", root, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (int i = 0; i < FILES; i++) {
		make_file(root, i);
		make_file(path, i);
	}
	directories = files = with_atime = 0;
	is_in_memory = false;
	/* A thread that is missing would be waited for without end. */
	alarm(60);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	close(root_fd);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static struct readahead_directory *open_root(struct walk_readahead *readahead, dev_t device,
					     bool is_topmost)
{
	struct readahead_directory *directory;

	root_fd = open(root, O_RDONLY | O_DIRECTORY);
	directory = readahead_directory_new(readahead, root_fd, device, is_topmost);
	assert_non_null(directory);
	return directory;
}

static void walk(struct readahead_directory *directory, int count)
{
	while (count--)
		readahead_directory_advance(directory);
}

/* There are more subdirectories than the queue has room for. */
TEST_WITH(test_all_are_read, setup, teardown)
{
	struct walk_readahead *readahead = walk_readahead_new();
	struct readahead_directory *directory = open_root(readahead, 0, true);

	for (unsigned int read = 1; read <= DIRECTORIES; read++) {
		readahead_directory_advance(directory);
		wait_for(&directories, read);
	}
	/* Of both directories with files, but not each file. */
	wait_for(&files, 2);
	assert_true(settled(&files) < 2 * FILES);
	assert_int_equal(with_atime, 0);
	readahead_directory_free(directory);
	walk_readahead_free(readahead);
}

/* Neither for the disk, nor at the end: then only what the threads had begun is read. */
TEST_WITH(test_the_walk_does_not_wait, setup, teardown)
{
	struct walk_readahead *readahead = walk_readahead_new();
	struct readahead_directory *directory = open_root(readahead, 0, true);

	disk_is_stuck = true;
	walk(directory, DIRECTORIES + FILES + 10);
	readahead_directory_free(directory);
	walk_readahead_free(readahead);
	unstick();
	assert_true(settled(&directories) <= 16);
}

TEST_WITH(test_other_devices_are_not_read, setup, teardown)
{
	struct walk_readahead *readahead = walk_readahead_new();
	struct readahead_directory *directory = open_root(readahead, 1, false);

	readahead_directory_advance(directory);
	wait_for(&directories, 100);
	assert_int_equal(settled(&files), 0);
	readahead_directory_free(directory);
	walk_readahead_free(readahead);
}

/* How many directories are read if the walk reads COUNT entries. */
static unsigned int read_by_walk(struct walk_readahead *readahead, int count)
{
	struct readahead_directory *directory = readahead_directory_new(readahead, root_fd, 0,
									false);
	unsigned int before = settled(&directories);

	walk(directory, count);
	before = settled(&directories) - before;
	readahead_directory_free(directory);
	return before;
}

TEST_WITH(test_what_is_in_memory_is_tried, setup, teardown)
{
	struct walk_readahead *readahead = walk_readahead_new();
	struct readahead_directory *directory;
	unsigned int before;

	root_fd = open(root, O_RDONLY | O_DIRECTORY);
	is_in_memory = true;
	assert_true(read_by_walk(readahead, 1) >= 64);
	assert_true(read_by_walk(readahead, 64) < 50);
	/* as soon as one of them waits, the next directory is read */
	is_in_memory = false;
	assert_true(read_by_walk(readahead, 16) > 0);
	assert_true(read_by_walk(readahead, 1) > 100);

	/* also the rest of one that was in memory so far */
	is_in_memory = true;
	assert_true(read_by_walk(readahead, 1) >= 64);
	before = settled(&directories);
	directory = readahead_directory_new(readahead, root_fd, 0, false);
	walk(directory, 64);
	is_in_memory = false;
	walk(directory, 64);
	settled(&directories);
	walk(directory, 1);
	wait_for(&directories, before + 100);
	readahead_directory_free(directory);
	walk_readahead_free(readahead);
}

TEST(test_without)
{
	assert_null(readahead_directory_new(NULL, AT_FDCWD, 0, true));
	readahead_directory_advance(NULL);
	readahead_directory_free(NULL);
	walk_readahead_free(NULL);
	walk_readahead_free(walk_readahead_new());
}
