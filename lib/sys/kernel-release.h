/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_KERNEL_RELEASE_H
#define FASTPATH_KERNEL_RELEASE_H

/* The two numbers in a kernel's release that name the release of mainline that it is based on. */
struct kernel_release {
	unsigned int version;
	unsigned int patchlevel;
};

/*
 * Parse the release from uname(2), as "6.1.0-37-amd64" or "6.12-rc1". Any text can follow the two
 * numbers.
 * Returns 0, or -EINVAL if TEXT does not begin with two numbers.
 */
int kernel_release_parse(const char *text, struct kernel_release *ret_release);

/* Less than, equal to or greater than 0 as A came before, is or came after B. */
int kernel_release_compare(struct kernel_release a, struct kernel_release b);

#endif
