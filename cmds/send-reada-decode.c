// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "send-reada-decode.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/quoted-name.h"

#define READ_SIZE (256 << 10)

static int read_all(struct send_reading *reading, int fd)
{
	CLEANUP_FREE char *buffer = malloc(READ_SIZE);

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t size = read(fd, buffer, READ_SIZE);
		int ret;

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size < 0 ? -errno : send_stream_end(&reading->stream);
		ret = send_reading_take(reading, buffer, size);
		if (ret < 0)
			return ret;
	}
}

/* What could be read of a damaged stream is reported. */
static void complain_of_damage(const char *path, const struct send_stream *stream)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	error("damaged stream %s at byte %" PRIu64 ": %s", quoted, stream->fault_position,
	      send_fault_text(stream->fault));
}

static int decode(const char *path, int fd, struct send_reading *reading, const char **ret_fault)
{
	struct stat status;
	int ret;

	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		reading->expected_bytes = status.st_size;
	reading->started_ns = monotonic_ns();
	ret = read_all(reading, fd);
	progress_clear();
	*ret_fault = NULL;
	if (ret == -EPROTO) {
		complain_of_damage(path, &reading->stream);
		*ret_fault = send_fault_text(reading->stream.fault);
		return 0;
	}
	if (ret < 0)
		error_path("cannot read", path, ret);
	return ret < 0 ? -1 : 0;
}

int send_reada_decode(const char *path, struct send_reading *reading, const char **ret_fault)
{
	CLEANUP_CLOSE int fd = -1;

	if (strcmp(path, "-") == 0)
		return decode(path, STDIN_FILENO, reading, ret_fault);
	fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		error_path("cannot open", path, -errno);
		return -1;
	}
	return decode(path, fd, reading, ret_fault);
}
