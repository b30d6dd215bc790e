// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <btrfs/ioctl.h>

#include "send/send-subvolume.h"
#include "sys/cleanup.h"
#include "text/decimal.h"

/* What may wait in the pipe: as much as anybody may ask for, so that neither side waits often. */
#define PIPE_SIZE (1 << 20)
#define READ_SIZE (256 << 10)
/*
 * A stream without data comes a few bytes at a time, and waking up for each of them costs more than
 * they are worth: let this many gather, or this long. The pipe does not get full by that.
 */
#define ENOUGH (64 << 10)
#define PAUSE_NS 1000000

struct sender {
	int fd;
	int output;
	struct btrfs_ioctl_send_args arguments;
	int ret;
};

static void *sender_main(void *data)
{
	struct sender *sender = data;

	/* Once: a second stream would follow the data that is already in the pipe. */
	if (ioctl(sender->fd, BTRFS_IOC_SEND, &sender->arguments) < 0)
		sender->ret = -errno;
	/* the end of the stream, for the reader */
	close(sender->output);
	return NULL;
}

static struct btrfs_ioctl_send_args arguments_of(const struct send_request *request, int output)
{
	struct btrfs_ioctl_send_args arguments = {
		.send_fd = output,
		.clone_sources_count = request->clone_count,
		.clone_sources = (__u64 *)request->clone_sources,
		.parent_root = request->parent,
	};

	if (!request->data)
		arguments.flags |= BTRFS_SEND_FLAG_NO_FILE_DATA;
	if (request->compressed)
		arguments.flags |= BTRFS_SEND_FLAG_COMPRESSED;
	/* Kernels before 6.0 do not know the flag. */
	if (request->protocol != 1) {
		arguments.flags |= BTRFS_SEND_FLAG_VERSION;
		arguments.version = request->protocol;
	}
	return arguments;
}

static void pause_after(ssize_t size)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (size < ENOUGH)
		nanosleep(&pause, NULL);
}

static int read_stream(int input, send_reader *reader, void *data)
{
	CLEANUP_FREE char *buffer = malloc(READ_SIZE);

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t size = read(input, buffer, READ_SIZE);
		int ret;

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size < 0 ? -errno : 0;
		ret = reader(data, buffer, size);
		if (ret < 0)
			return ret;
		pause_after(size);
	}
}

/*
 * No signal on the sender's thread: the one for a pipe that nobody reads would end the program, and
 * all others are for the thread that was there before.
 */
static int start_quietly(pthread_t *thread, struct sender *sender)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, sender_main, sender);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

int send_subvolume(const struct send_request *request, send_reader *reader, void *data)
{
	struct sender sender = { .fd = request->fd };
	pthread_t thread;
	int ends[2];
	int ret;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* The usual size does, too. */
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE);
	sender.output = ends[1];
	sender.arguments = arguments_of(request, ends[1]);

	ret = start_quietly(&thread, &sender);
	if (ret < 0) {
		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	ret = read_stream(ends[0], reader, data);
	/* Where the reader gave up, this ends the sender. */
	close(ends[0]);
	pthread_join(thread, NULL);
	return ret < 0 ? ret : sender.ret;
}

int send_protocol_parse(const char *text, size_t size, uint32_t *ret_protocol)
{
	const char *end = text + size;
	uint64_t protocol;

	if (size && end[-1] == '\n')
		end--;
	if (end - text > 9 || !decimal_read(&text, end, &protocol) || text != end || !protocol)
		return -EPROTO;

	*ret_protocol = protocol;
	return 0;
}

uint32_t send_newest_protocol(void)
{
	CLEANUP_CLOSE int fd = open("/sys/fs/btrfs/features/send_stream_version",
				    O_RDONLY | O_CLOEXEC);
	uint32_t protocol;
	char text[32];
	ssize_t size;

	/* Kernels before 6.0 know the first one only, and have no such file. */
	size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (size < 0 || send_protocol_parse(text, size, &protocol) < 0)
		return 1;
	return protocol;
}
