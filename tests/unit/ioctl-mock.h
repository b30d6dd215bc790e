/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_IOCTL_MOCK_H
#define FASTPATH_IOCTL_MOCK_H

#include <stdbool.h>
#include <stddef.h>

/* The only descriptor on which a mocked ioctl may come. */
#define MOCK_FD 1000

/* One expected ioctl and its answer. */
struct ioctl_call {
	unsigned long request;
	/* what the argument must begin with */
	const void *expected;
	size_t expected_size;
	/* fail with this errno; nothing is written then, unless ANSWERS_ERROR */
	int error;
	bool answers_error;
	/* what is written to the argument */
	const void *answer;
	size_t answer_size;
	/* where the argument holds the address to write to instead; 0: it does not */
	size_t pointer_offset;
};

/*
 * The program is linked with -Wl,--wrap=ioctl: every ioctl of the code under test is looked up in
 * a table, in order, and one that differs fails the test. CALL is appended to the table, the bytes
 * it points to are copied.
 */
void ioctl_mock_expect(const struct ioctl_call *call);

/* For cmocka's setup: an empty table. */
int ioctl_mock_setup(void **state);

/* For cmocka's teardown: fails the test if calls are missing. */
int ioctl_mock_teardown(void **state);

#endif
