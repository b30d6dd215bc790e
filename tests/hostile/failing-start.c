// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program does first fails: with $NO_FILES the root directory cannot be opened, with $NO_MEMORY
 * nothing can be put into the environment. Linked with -Wl,--wrap=open -Wl,--wrap=setenv.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../large-file.h"

int __real_open(const char *path, int flags, ...) LARGE_FILE_SYMBOL("__real_open");
int __wrap_open(const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_open");

int __wrap_open(const char *path, int flags, ...)
{
	va_list arguments;
	int mode;

	if (getenv("NO_FILES") && strcmp(path, "/") == 0) {
		errno = EMFILE;
		return -1;
	}
	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
	va_end(arguments);
	return __real_open(path, flags, mode);
}

int __real_setenv(const char *name, const char *value, int overwrite);
int __wrap_setenv(const char *name, const char *value, int overwrite);

int __wrap_setenv(const char *name, const char *value, int overwrite)
{
	if (!getenv("NO_MEMORY"))
		return __real_setenv(name, value, overwrite);
	errno = ENOMEM;
	return -1;
}
