// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>

#include "send/send-subvolume.h"
#include "test.h"

#define SUBVOLUME_FD 1000
#define PIECES 1000
#define PIECE_SIZE 10000

/* What the kernel was asked for, and what it is to answer: bytes, then an errno. */
static struct btrfs_ioctl_send_args asked;
static uint64_t asked_clones[4];
static int asked_count;
static int pieces_written;
static size_t pieces_to_write;
static int kernel_errno;

/* The kernel, on the sender's thread: it must not fail the test there. */
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	static char piece[PIECE_SIZE];
	va_list arguments;

	va_start(arguments, request);
	asked = *va_arg(arguments, struct btrfs_ioctl_send_args *);
	va_end(arguments);
	asked_count += fd == SUBVOLUME_FD && request == BTRFS_IOC_SEND;
	if (asked.clone_sources_count)
		memcpy(asked_clones, asked.clone_sources,
		       asked.clone_sources_count * sizeof(asked_clones[0]));
	for (; pieces_to_write; pieces_to_write--) {
		if (write(asked.send_fd, piece, PIECE_SIZE) != PIECE_SIZE)
			return -1;
		pieces_written++;
	}
	errno = kernel_errno;
	return kernel_errno ? -1 : 0;
}

static int setup(void **state)
{
	(void)state;
	asked_count = pieces_written = kernel_errno = 0;
	pieces_to_write = 0;
	return 0;
}

struct reader {
	uint64_t bytes;
	/* give up after this many */
	uint64_t most;
};

static int read_some(void *data, const void *bytes, size_t size)
{
	struct reader *reader = data;

	assert_non_null(bytes);
	assert_true(size > 0);
	reader->bytes += size;
	return reader->bytes > reader->most ? -ECANCELED : 0;
}

TEST_WITH(test_all_of_it, setup, NULL)
{
	const struct send_request request = { .fd = SUBVOLUME_FD, .protocol = 1 };
	struct reader reader = { .most = UINT64_MAX };

	pieces_to_write = PIECES;
	assert_int_equal(send_subvolume(&request, read_some, &reader), 0);
	assert_int_equal(asked_count, 1);
	assert_int_equal(reader.bytes, PIECES * PIECE_SIZE);
	/* protocol 1 as old kernels know it */
	assert_int_equal(asked.flags, BTRFS_SEND_FLAG_NO_FILE_DATA);
	assert_int_equal(asked.version, 0);
	assert_int_equal(asked.parent_root, 0);
	assert_int_equal(asked.clone_sources_count, 0);
}

TEST_WITH(test_what_is_asked_for, setup, NULL)
{
	const uint64_t clones[] = { 300, 301 };
	const struct send_request request = {
		.fd = SUBVOLUME_FD,
		.protocol = 2,
		.data = true,
		.compressed = true,
		.parent = 301,
		.clone_sources = clones,
		.clone_count = 2,
	};
	struct reader reader = { 0 };

	assert_int_equal(send_subvolume(&request, read_some, &reader), 0);
	assert_int_equal(reader.bytes, 0);
	assert_int_equal(asked.flags, BTRFS_SEND_FLAG_VERSION | BTRFS_SEND_FLAG_COMPRESSED);
	assert_int_equal(asked.version, 2);
	assert_int_equal(asked.parent_root, 301);
	assert_int_equal(asked.clone_sources_count, 2);
	assert_int_equal(asked_clones[0], 300);
	assert_int_equal(asked_clones[1], 301);
}

TEST_WITH(test_kernel_fails, setup, NULL)
{
	const struct send_request request = { .fd = SUBVOLUME_FD, .protocol = 1 };
	struct reader reader = { .most = UINT64_MAX };

	kernel_errno = EPERM;
	assert_int_equal(send_subvolume(&request, read_some, &reader), -EPERM);
	assert_int_equal(reader.bytes, 0);
	/* half way */
	kernel_errno = EIO;
	pieces_to_write = 3;
	assert_int_equal(send_subvolume(&request, read_some, &reader), -EIO);
	assert_int_equal(reader.bytes, 3 * PIECE_SIZE);
}

/* A second call would begin a second stream after the half of the first. */
TEST_WITH(test_interrupted_send_is_not_repeated, setup, NULL)
{
	const struct send_request request = { .fd = SUBVOLUME_FD, .protocol = 1 };
	struct reader reader = { .most = UINT64_MAX };

	kernel_errno = EINTR;
	pieces_to_write = 3;
	assert_int_equal(send_subvolume(&request, read_some, &reader), -EINTR);
	assert_int_equal(asked_count, 1);
	assert_int_equal(reader.bytes, 3 * PIECE_SIZE);
}

/* The kernel is told by a pipe that nobody reads, and no signal ends the program. */
TEST_WITH(test_reader_gives_up, setup, NULL)
{
	const struct send_request request = { .fd = SUBVOLUME_FD, .protocol = 1 };
	struct reader reader = { .most = 5 * PIECE_SIZE };

	pieces_to_write = PIECES;
	assert_int_equal(send_subvolume(&request, read_some, &reader), -ECANCELED);
	assert_true(pieces_written < PIECES);
}

TEST(test_protocol_parse)
{
	static const char *const wrong[] = { "", "\n", "0\n", "-1\n", "2 \n", "x", "9999999999\n" };
	uint32_t protocol = 99;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(send_protocol_parse(wrong[i], strlen(wrong[i]), &protocol),
				 -EPROTO);
	assert_int_equal(protocol, 99);
	assert_int_equal(send_protocol_parse("2\n", 2, &protocol), 0);
	assert_int_equal(protocol, 2);
	assert_int_equal(send_protocol_parse("17", 2, &protocol), 0);
	assert_int_equal(protocol, 17);
	assert_true(send_newest_protocol() >= 1);
}
