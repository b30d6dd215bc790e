/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_KERNEL_RELEASE_H
#define FASTPATH_KERNEL_RELEASE_H

/* The two numbers of a kernel's release that tell which release of mainline it is made of. */
struct kernel_release {
	unsigned int version;
	unsigned int patchlevel;
};

/*
 * Parse what uname(2) says, as "6.1.0-37-amd64" or "6.12-rc1"; what follows the numbers is
 * anything.
 * Returns 0, or -EINVAL where it does not begin with them.
 */
int kernel_release_parse(const char *text, struct kernel_release *ret_release);

/* Less than, equal to or greater than 0 as A came before, is or came after B. */
int kernel_release_compare(struct kernel_release a, struct kernel_release b);

#endif
