// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "../large-file.h"
#include "fs/backref.h"
#include "fs/fiemap.h"
#include "fs/file-look.h"
#include "fs/steady-look.h"
#include "kernel-answers.h"
#include "sys/cleanup.h"
#include "test.h"

#define FSID_TEXT "01010101-0101-0101-0101-010101010101"
#define MERGE_ROOM 4096
#define ROOTS_ROOM (64 * 1024)
#define DEVICE 7
/* after so many failures in a row the watch has failed */
#define FAILURES 100
#define BYTENR MIB(13)
#define ANSWER_SIZE 4096

int __wrap_fcntl(int fd, int command, ...) LARGE_FILE_SYMBOL("__wrap_fcntl");

/* The look keeps a descriptor of its own; ioctl() comes on that of the test. */
int __wrap_fcntl(int fd, int command, ...)
{
	(void)command;
	return fd;
}

static char sysfs[] = "/tmp/steady-look.XXXXXX";
static struct steady_look *steady;

static void write_attribute(const char *name, const char *text)
{
	char path[128];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/" FSID_TEXT "/%s", sysfs, name);
	stream = fopen(path, "w");
	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

/* What poll() finds in sysfs. */
static struct {
	bool has_event;
	/* the operation ends just after it */
	bool ends;
} polled;

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	assert_int_equal(count, 1);
	assert_int_equal(timeout, 0);
	fds->revents = polled.has_event ? POLLPRI | POLLERR : 0;
	if (polled.ends)
		write_attribute("exclusive_operation", "none\n");
	return polled.has_event;
}

int setup_all(void **state)
{
	char path[64];

	(void)state;
	if (!mkdtemp(sysfs))
		return -1;
	snprintf(path, sizeof(path), "%s/" FSID_TEXT, sysfs);
	return mkdir(path, 0700);
}

int teardown_all(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", sysfs);
	return system(command);
}

static int setup(void **state)
{
	write_attribute("exclusive_operation", "none\n");
	write_attribute("generation", "100\n");
	memset(&polled, 0, sizeof(polled));
	return ioctl_mock_setup(state);
}

static int teardown(void **state)
{
	steady_look_free(steady);
	steady = NULL;
	return ioctl_mock_teardown(state);
}

/* -- the kernel's answers -- */

static void expect_fsid(void)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };

	memset(info.fsid, 1, sizeof(info.fsid));
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO, .answer = &info, .answer_size = sizeof(info) });
}

static void expect_merging(bool merging, int error)
{
	const struct tree_key min = { BTRFS_TREE_RELOC_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key max = { BTRFS_TREE_RELOC_OBJECTID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	const struct tree_item item = {
		BTRFS_TREE_RELOC_OBJECTID, BTRFS_ROOT_ITEM_KEY, 256, 1, "root", 4
	};

	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, min, max, 1, MERGE_ROOM },
		     &item, merging, error);
}

static void expect_commit(void)
{
	ioctl_mock_expect(&(struct ioctl_call){ .request = BTRFS_IOC_START_SYNC });
	ioctl_mock_expect(&(struct ioctl_call){ .request = BTRFS_IOC_WAIT_SYNC });
}

/* A subvolume in the root tree. */
struct made {
	uint64_t id;
	uint64_t generation;
	uint32_t refs;
};

static void expect_roots(const struct made *made, size_t count)
{
	const struct tree_key max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	struct tree_key next = { BTRFS_FS_TREE_OBJECTID, 0, 0 };
	struct btrfs_root_item raw[4] = { 0 };
	struct tree_item items[4];

	for (size_t i = 0; i < count; i++) {
		raw[i].refs = htole32(made[i].refs);
		raw[i].generation = htole64(made[i].generation);
		items[i] = (struct tree_item){ made[i].id, BTRFS_ROOT_ITEM_KEY, 0, 1,
					       &raw[i],	   sizeof(raw[i]) };
	}
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, max, UINT32_MAX,
					  ROOTS_ROOM },
		     items, count, 0);
	next = (struct tree_key){ made[count - 1].id, BTRFS_ROOT_ITEM_KEY, 1 };
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, max, UINT32_MAX,
					  ROOTS_ROOM },
		     NULL, 0, 0);
}

static const struct made two[] = { { 5, 10, 1 }, { 256, 20, 1 } };

static void expect_state(const struct made *made, size_t count, bool commits)
{
	expect_merging(false, 0);
	if (commits)
		expect_commit();
	expect_roots(made, count);
}

/* -- the look -- */

static struct relocation_watch *begin(enum look_purpose purpose)
{
	struct relocation_watch *watch;

	assert_int_equal(steady_look_new(&steady, sysfs, purpose), 0);
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE, &watch), 0);
	return watch;
}

static void assert_outcome(enum steadiness steadiness, const char *operation, bool has_moved)
{
	struct look_outcome outcome;

	assert_int_equal(steady_look_end(steady, &outcome), 0);
	assert_int_equal(outcome.steadiness, steadiness);
	assert_string_equal(outcome.operation, operation);
	assert_int_equal(outcome.has_moved, has_moved);
}

static void assert_end(enum steadiness steadiness, const char *operation)
{
	assert_outcome(steadiness, operation, *operation != 0);
}

/* Something moved extents, and is over. */
static void assert_moved(void)
{
	assert_outcome(LOOK_MOVING, "", true);
}

/* FIEMAP, with a relocation to merge after each of the first COUNT answers. */
static void disturb_fiemap(struct relocation_watch *watch, unsigned int count)
{
	struct mapped_extent extent;
	struct fiemap_iter *iter;

	assert_int_equal(fiemap_iter_new(&iter), 0);
	for (unsigned int i = 0; i <= count; i++) {
		expect_merging(false, 0);
		expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, NULL, 0, 0);
		if (i < count)
			expect_merging(true, 0);
	}
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	fiemap_iter_watch(iter, watch);
	assert_int_equal(fiemap_iter_next(iter, &extent), 0);
	fiemap_iter_free(iter);
}

TEST_WITH(test_nothing_changes, setup, teardown)
{
	struct relocation_watch *watch;

	expect_fsid();
	expect_state(two, 2, true);
	assert_null(begin(LOOK_FOR_REFERENCES));
	/* it has begun, also for another subvolume */
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE, &watch), 0);
	expect_fsid();
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE + 1, &watch), 0);
	expect_state(two, 2, true);
	assert_end(LOOK_STEADY, "");
}

TEST_WITH(test_a_tree_changes, setup, teardown)
{
	const struct made changed[] = { { 5, 10, 1 }, { 256, 21, 1 } };

	expect_fsid();
	expect_state(two, 2, true);
	begin(LOOK_FOR_REFERENCES);
	expect_state(changed, 2, true);
	assert_end(LOOK_CHANGED, "");
}

TEST_WITH(test_without_references_only_the_list_counts, setup, teardown)
{
	const struct made changed[] = { { 5, 10, 1 }, { 256, 21, 1 } };
	const struct made more[] = { { 5, 10, 1 }, { 256, 20, 1 }, { 257, 20, 1 } };
	const struct made deleted[] = { { 5, 10, 1 }, { 256, 20, 0 } };

	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_ADDRESSES);
	expect_state(changed, 2, false);
	assert_end(LOOK_STEADY, "");
	expect_state(more, 3, false);
	assert_end(LOOK_CHANGED, "");
	expect_state(deleted, 2, false);
	assert_end(LOOK_CHANGED, "");
}

TEST_WITH(test_the_cleaner_works, setup, teardown)
{
	const struct made deleted[] = { { 5, 10, 1 }, { 256, 20, 0 } };

	expect_fsid();
	expect_state(deleted, 2, true);
	begin(LOOK_FOR_REFERENCES);
	expect_state(deleted, 2, true);
	assert_end(LOOK_CHANGED, "");
}

TEST_WITH(test_a_balance_is_watched, setup, teardown)
{
	const struct made changed[] = { { 5, 10, 1 }, { 256, 21, 1 } };
	uint8_t fsid[FSID_SIZE];

	write_attribute("exclusive_operation", "balance\n");
	expect_fsid();
	expect_state(two, 2, true);
	expect_fsid();
	memset(fsid, 1, sizeof(fsid));
	assert_non_null(begin(LOOK_FOR_EXTENTS));
	assert_non_null(steady_look_watch(steady, fsid));
	memset(fsid, 2, sizeof(fsid));
	assert_null(steady_look_watch(steady, fsid));
	/* it copies data, and has changed no tree */
	expect_state(two, 2, true);
	assert_end(LOOK_STEADY, "balance");
	expect_state(changed, 2, true);
	assert_end(LOOK_CHANGED, "balance");
	expect_merging(true, 0);
	expect_commit();
	expect_roots(two, 2);
	assert_end(LOOK_CHANGED, "balance");
}

TEST_WITH(test_a_balance_without_lookups, setup, teardown)
{
	const struct made changed[] = { { 5, 10, 1 }, { 256, 21, 1 } };

	write_attribute("exclusive_operation", "balance\n");
	expect_fsid();
	expect_state(two, 2, true);
	expect_fsid();
	begin(LOOK_FOR_ADDRESSES);
	expect_state(two, 2, true);
	assert_end(LOOK_STEADY, "balance");
	expect_state(changed, 2, true);
	assert_end(LOOK_MOVING, "balance");
}

TEST_WITH(test_an_operation_begins_meanwhile, setup, teardown)
{
	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_EXTENTS);
	/* FIEMAP was not watched from the begin on */
	write_attribute("exclusive_operation", "device remove\n");
	expect_state(two, 2, true);
	assert_end(LOOK_MOVING, "device remove");
}

TEST_WITH(test_others_move_nothing, setup, teardown)
{
	static const char *const others[] = { "balance paused", "device add", "device replace",
					      "swap activate" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		write_attribute("exclusive_operation", others[i]);
		expect_fsid();
		expect_state(two, 2, false);
		begin(LOOK_FOR_EXTENTS);
		expect_state(two, 2, false);
		assert_end(LOOK_STEADY, "");
		teardown(state);
		setup(state);
	}
}

TEST_WITH(test_an_operation_ends_meanwhile, setup, teardown)
{
	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_EXTENTS);
	polled.has_event = true;
	expect_state(two, 2, true);
	assert_moved();
}

TEST_WITH(test_an_operation_ends_during_the_end, setup, teardown)
{
	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_EXTENTS);
	write_attribute("exclusive_operation", "balance\n");
	polled.ends = true;
	expect_state(two, 2, true);
	assert_end(LOOK_MOVING, "balance");
}

/* The kernel does not notify a pause. */
TEST_WITH(test_a_balance_is_paused_meanwhile, setup, teardown)
{
	static const char *const others[] = { "balance paused", "device add" };

	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_EXTENTS);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		write_attribute("exclusive_operation", others[i]);
		expect_state(two, 2, true);
		assert_moved();
	}
}

TEST_WITH(test_a_balance_is_resumed_and_paused_again, setup, teardown)
{
	write_attribute("exclusive_operation", "balance paused\n");
	expect_fsid();
	expect_state(two, 2, false);
	begin(LOOK_FOR_EXTENTS);
	write_attribute("generation", "101\n");
	expect_state(two, 2, true);
	assert_moved();
}

TEST_WITH(test_without_privilege, setup, teardown)
{
	expect_fsid();
	expect_merging(false, EPERM);
	begin(LOOK_FOR_EXTENTS);
	expect_merging(false, EPERM);
	assert_end(LOOK_STEADY, "");
	write_attribute("generation", "101\n");
	expect_merging(false, EPERM);
	assert_end(LOOK_CHANGED, "");
	write_attribute("exclusive_operation", "resize\n");
	expect_merging(false, EPERM);
	assert_end(LOOK_MOVING, "resize");
}

TEST_WITH(test_a_kernel_without_the_files, setup, teardown)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" FSID_TEXT "/exclusive_operation", sysfs);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/" FSID_TEXT "/generation", sysfs);
	assert_int_equal(unlink(path), 0);
	expect_fsid();
	expect_merging(false, EPERM);
	begin(LOOK_FOR_EXTENTS);
	expect_merging(false, EPERM);
	assert_end(LOOK_CHANGED, "");
}

TEST_WITH(test_a_balance_without_the_generation, setup, teardown)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" FSID_TEXT "/generation", sysfs);
	assert_int_equal(unlink(path), 0);
	write_attribute("exclusive_operation", "balance\n");
	expect_fsid();
	expect_state(two, 2, true);
	expect_fsid();
	disturb_fiemap(begin(LOOK_FOR_EXTENTS), 0);
	expect_state(two, 2, true);
	assert_end(LOOK_MOVING, "balance");
}

TEST_WITH(test_failures, setup, teardown)
{
	struct look_outcome outcome;
	struct relocation_watch *watch;

	assert_int_equal(steady_look_new(&steady, sysfs, LOOK_FOR_REFERENCES), 0);
	ioctl_mock_expect(&(struct ioctl_call){ .request = BTRFS_IOC_FS_INFO, .error = EIO });
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE, &watch), -EIO);
	/* the next file there is not watched */
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE, &watch), 0);
	assert_int_equal(steady_look_end(steady, &outcome), -EIO);
}

TEST_WITH(test_failed_begin, setup, teardown)
{
	struct look_outcome outcome;
	struct relocation_watch *watch;

	assert_int_equal(steady_look_new(&steady, sysfs, LOOK_FOR_REFERENCES), 0);
	expect_fsid();
	expect_merging(false, EIO);
	assert_int_equal(steady_look_add(steady, MOCK_FD, DEVICE, &watch), -EIO);
	assert_int_equal(steady_look_end(steady, &outcome), -EIO);
}

/* -- the watch -- */

TEST_WITH(test_the_watch_waits, setup, teardown)
{
	struct relocation_watch *watch;
	struct relocation_mark mark = { 0 };
	uint8_t fsid[FSID_SIZE];

	memset(fsid, 1, sizeof(fsid));
	assert_int_equal(relocation_watch_new(&watch, sysfs, MOCK_FD, fsid), 0);
	expect_merging(true, 0);
	expect_merging(true, 0);
	expect_merging(false, 0);
	assert_int_equal(relocation_watch_begin(watch, &mark), 0);
	/* the mark stays valid, so that nothing is asked */
	expect_merging(false, 0);
	assert_true(relocation_watch_holds(watch, &mark));
	assert_int_equal(relocation_watch_begin(watch, &mark), 0);
	/* one that has begun */
	expect_merging(true, 0);
	assert_false(relocation_watch_holds(watch, &mark));
	expect_merging(false, 0);
	assert_int_equal(relocation_watch_begin(watch, &mark), 0);
	/* and one that began and ended, in a later transaction */
	write_attribute("generation", "101\n");
	expect_merging(false, 0);
	assert_false(relocation_watch_holds(watch, &mark));
	expect_merging(false, EIO);
	assert_int_equal(relocation_watch_begin(watch, &mark), -EIO);
	relocation_watch_free(watch);
}

static struct relocation_watch *new_watch(void)
{
	struct relocation_watch *watch;
	uint8_t fsid[FSID_SIZE];

	memset(fsid, 1, sizeof(fsid));
	assert_int_equal(relocation_watch_new(&watch, sysfs, MOCK_FD, fsid), 0);
	return watch;
}

TEST_WITH(test_fiemap_is_always_disturbed, setup, teardown)
{
	struct relocation_watch *watch = new_watch();

	disturb_fiemap(watch, FAILURES);
	assert_true(relocation_watch_has_failed(watch));
	relocation_watch_free(watch);
}

TEST_WITH(test_a_lookup_is_always_disturbed, setup, teardown)
{
	struct relocation_watch *watch = new_watch();
	struct backref_query *query;
	struct extent_ref *refs;
	bool complete;
	size_t count;

	assert_int_equal(backref_query_new(&query), 0);
	backref_query_watch(query, watch);
	for (unsigned int i = 0; i <= FAILURES; i++) {
		expect_merging(false, 0);
		expect_logical_ino(BYTENR, ANSWER_SIZE, NULL, 0, 0, 0, 0);
		if (i < FAILURES)
			expect_merging(true, 0);
	}
	assert_int_equal(backref_query_extent(query, MOCK_FD, BYTENR, &refs, &count, &complete), 0);
	assert_true(relocation_watch_has_failed(watch));
	backref_query_free(query);
	relocation_watch_free(watch);
}

TEST_WITH(test_failures_between_successes_do_not_count, setup, teardown)
{
	struct relocation_watch *watch = new_watch();
	struct relocation_mark mark;

	for (int i = 0; i < 2; i++) {
		mark = (struct relocation_mark){ 0 };
		expect_merging(false, 0);
		assert_int_equal(relocation_watch_begin(watch, &mark), 0);
		for (int j = 1; j < FAILURES; j++) {
			expect_merging(true, 0);
			assert_false(relocation_watch_holds(watch, &mark));
		}
		expect_merging(false, 0);
		assert_true(relocation_watch_holds(watch, &mark));
	}
	assert_false(relocation_watch_has_failed(watch));
	relocation_watch_free(watch);
}

TEST_WITH(test_without_a_watch, setup, teardown)
{
	struct relocation_mark mark = { 0 };

	assert_int_equal(relocation_watch_begin(NULL, &mark), 0);
	assert_true(relocation_watch_holds(NULL, &mark));
}

TEST_WITH(test_the_next_merge, setup, teardown)
{
	struct relocation_watch *watch;
	uint8_t fsid[FSID_SIZE];

	memset(fsid, 1, sizeof(fsid));
	assert_int_equal(relocation_watch_new(&watch, sysfs, MOCK_FD, fsid), 0);
	expect_merging(false, 0);
	expect_merging(true, 0);
	expect_merging(true, 0);
	expect_merging(false, 0);
	relocation_watch_await_merge(watch);
	relocation_watch_free(watch);
}

/* -- a look at one file -- */

static void begin_at_file(struct file_look *look, const char *operation)
{
	write_attribute("exclusive_operation", operation);
	expect_fsid();
	assert_int_equal(file_look_begin(look, sysfs, MOCK_FD), 0);
	assert_int_equal(file_look_was_watched(look), look->watch != NULL);
}

TEST_WITH(test_file, setup, teardown)
{
	CLEANUP(file_look_end) struct file_look look;

	begin_at_file(&look, "none\n");
	assert_null(look.watch);
	write_attribute("generation", "101\n");
	assert_false(file_look_may_have_moved(&look));
	write_attribute("exclusive_operation", "device remove\n");
	assert_true(file_look_may_have_moved(&look));
	assert_false(file_look_was_watched(&look));
}

/* What was over before the end sends an event. */
TEST_WITH(test_file_and_short_balance, setup, teardown)
{
	CLEANUP(file_look_end) struct file_look look;

	begin_at_file(&look, "none\n");
	polled.has_event = true;
	assert_true(file_look_may_have_moved(&look));
}

TEST_WITH(test_file_and_balance, setup, teardown)
{
	CLEANUP(file_look_end) struct file_look look;

	begin_at_file(&look, "balance\n");
	write_attribute("exclusive_operation", "none\n");
	assert_true(file_look_may_have_moved(&look));
	assert_true(file_look_was_watched(&look));
}

/* It can go on, and pause again. */
TEST_WITH(test_file_and_paused_balance, setup, teardown)
{
	CLEANUP(file_look_end) struct file_look look;

	begin_at_file(&look, "balance paused\n");
	assert_false(file_look_may_have_moved(&look));
	write_attribute("generation", "101\n");
	assert_true(file_look_may_have_moved(&look));
	assert_true(file_look_was_watched(&look));
}

TEST_WITH(test_file_without_filesystem, setup, teardown)
{
	CLEANUP(file_look_end) struct file_look look;

	ioctl_mock_expect(&(struct ioctl_call){ .request = BTRFS_IOC_FS_INFO, .error = EIO });
	assert_int_equal(file_look_begin(&look, sysfs, MOCK_FD), -EIO);
}
