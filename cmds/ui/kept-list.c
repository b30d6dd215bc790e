// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "path/temporary-file.h"
#include "sys/cleanup.h"
#include "ui/kept-list.h"

/* Without the copy the list can still be read once. */
static void give_up_copy(struct kept_list *list, int error)
{
	close_fd(&list->copy);
	list->copy = error;
}

static ssize_t read_and_keep(void *cookie, char *buffer, size_t size)
{
	struct kept_list *list = cookie;
	ssize_t got;
	int ret;

	do
		got = read(fileno(list->source), buffer, size);
	while (got < 0 && errno == EINTR);
	if (got <= 0 || list->copy < 0)
		return got;
	ret = write_at(list->copy, buffer, got, list->size);
	if (ret < 0)
		give_up_copy(list, ret);
	list->size += got;
	return got;
}

FILE *kept_list_open(struct kept_list *list, FILE *source)
{
	FILE *stream;

	*list = (struct kept_list){
		.source = source,
		.copy = temporary_file_open(temporary_directory()),
	};
	stream = fopencookie(list, "r", (cookie_io_functions_t){ .read = read_and_keep });
	if (!stream)
		kept_list_free(list);
	return stream;
}

FILE *kept_list_reopen(const struct kept_list *list)
{
	FILE *stream = NULL;
	int fd;

	if (list->copy < 0) {
		errno = -list->copy;
		return NULL;
	}
	fd = fcntl(list->copy, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		stream = fdopen(fd, "r");
	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

void kept_list_free(struct kept_list *list)
{
	if (!list->source)
		return;
	if (list->source != stdin)
		fclose(list->source);
	close_fd(&list->copy);
	*list = (struct kept_list){ 0 };
}
