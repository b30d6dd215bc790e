// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num/digest.h"
#include "sys/cleanup.h"
#include "sys/marked-process.h"

void process_mark_of(const char *subject, char ret_mark[PROCESS_MARK_SIZE])
{
	snprintf(ret_mark, PROCESS_MARK_SIZE, "fpcheck%08" PRIx32,
		 crc32c(0, subject, strlen(subject)));
}

void process_mark_self(const char mark[PROCESS_MARK_SIZE])
{
	prctl(PR_SET_NAME, mark);
}

static bool read_text(int directory, const char *name, char *text, size_t size)
{
	CLEANUP_CLOSE int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	if (length < 0)
		return false;
	text[length] = '\0';
	return true;
}

/* "PID (NAME) STATE …"; the name has no limits, so it is skipped from its end. */
static bool is_zombie(int process)
{
	char text[256];
	const char *state;

	if (!read_text(process, "stat", text, sizeof(text)))
		return true;
	state = strrchr(text, ')');
	return state && (state[1] && state[2] == 'Z');
}

/* Each thread has a directory in there, and a directory has a link more for each one below it. */
static bool has_threads(int process)
{
	struct stat status;

	return fstatat(process, "task", &status, 0) == 0 && status.st_nlink > 3;
}

/* The name of the program has its newlines escaped there, so only the kernel begins such a line. */
static bool has_own_user(int process)
{
	unsigned int real, effective, saved, of_files;
	const unsigned int own = geteuid();
	char text[1024];
	const char *line;

	if (!read_text(process, "status", text, sizeof(text)))
		return false;
	line = strstr(text, "\nUid:");
	return line &&
	       sscanf(line, "\nUid: %u %u %u %u", &real, &effective, &saved, &of_files) == 4 &&
	       real == own && effective == own && saved == own && of_files == own;
}

/* Without what the kernel adds once another file has the name, as after an upgrade. */
static bool read_program(int directory, const char *link, char program[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	ssize_t length = readlinkat(directory, link, program, PATH_MAX - 1);

	if (length < 0)
		return false;
	program[length] = '\0';
	length -= sizeof(deleted) - 1;
	if (length > 0 && strcmp(program + length, deleted) == 0)
		program[length] = '\0';
	return true;
}

static bool has_same_name(int process)
{
	char own[PATH_MAX], other[PATH_MAX];

	return read_program(AT_FDCWD, "/proc/self/exe", own) &&
	       read_program(process, "exe", other) && strcmp(own, other) == 0;
}

/* Unknown without the privilege, and after the first thread has ended. */
static bool is_other_program(int process)
{
	struct stat own, other;

	if (stat("/proc/self/exe", &own) < 0 || fstatat(process, "exe", &other, 0) < 0)
		return false;
	return (own.st_dev != other.st_dev || own.st_ino != other.st_ino) &&
	       !has_same_name(process);
}

static bool has_mark(int process, const char *mark)
{
	char name[PROCESS_MARK_SIZE + 1];

	if (!read_text(process, "comm", name, sizeof(name)))
		return false;
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, mark) == 0;
}

/*
 * Anybody can start a setuid program by a link that has the mark as its name: this has another real
 * user, or at least it is another program.
 */
static bool is_marked(int proc, const char *id, const char *mark)
{
	CLEANUP_CLOSE int process = openat(proc, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return process >= 0 && has_mark(process, mark) && has_own_user(process) &&
	       !is_other_program(process) && (!is_zombie(process) || has_threads(process));
}

pid_t process_find_marked(const char *root, const char mark[PROCESS_MARK_SIZE])
{
	DIR *proc = opendir(root ? root : "/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		pid_t id = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (id > 0 && id != getpid() && is_marked(dirfd(proc), entry->d_name, mark))
			found = id;
	}
	if (proc)
		closedir(proc);
	return found;
}
