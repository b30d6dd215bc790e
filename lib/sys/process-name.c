// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/cleanup.h"
#include "sys/process-name.h"

/* Returns 0 with a text of at most SIZE - 1 bytes, or a negative errno. */
static int read_proc(pid_t pid, const char *file, char *text, size_t size)
{
	char path[48];
	CLEANUP_CLOSE int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	length = read(fd, text, size - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	return 0;
}

int process_of_thread(pid_t tid, pid_t *ret_pid, char ret_name[PROCESS_NAME_SIZE])
{
	/* Tgid is in one of the first lines. Of the name, the kernel escapes newlines there. */
	char status[512], name[PROCESS_NAME_SIZE];
	const char *line;
	pid_t pid;
	int ret;

	ret = read_proc(tid, "status", status, sizeof(status));
	if (ret < 0)
		return ret;
	line = strstr(status, "\nTgid:");
	if (!line || sscanf(line, "\nTgid: %d", &pid) != 1)
		return -EPROTO;
	ret = read_proc(pid, "comm", name, sizeof(name));
	if (ret < 0)
		return ret;
	/* The last newline is the file's. */
	if (*name && name[strlen(name) - 1] == '\n')
		name[strlen(name) - 1] = '\0';

	*ret_pid = pid;
	strcpy(ret_name, name);
	return 0;
}

bool in_first_pid_namespace(void)
{
	char name[32];
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	if (length < 0)
		return false;
	name[length] = '\0';
	return strcmp(name, "pid:[4026531836]") == 0;
}
