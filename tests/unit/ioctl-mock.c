// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl-mock.h"
#include "test.h"

static struct ioctl_call *table;
static size_t table_size;
static size_t next_call;

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size + 1);

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

void ioctl_mock_expect(const struct ioctl_call *call)
{
	struct ioctl_call *entry;

	table = reallocarray(table, table_size + 1, sizeof(*table));
	assert_non_null(table);
	entry = &table[table_size++];
	*entry = *call;
	entry->expected = copy_of(call->expected, call->expected_size);
	entry->answer = copy_of(call->answer, call->answer_size);
}

int ioctl_mock_setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < table_size; i++) {
		free((void *)table[i].expected);
		free((void *)table[i].answer);
	}
	free(table);
	table = NULL;
	table_size = 0;
	next_call = 0;
	return 0;
}

int ioctl_mock_teardown(void **state)
{
	size_t missing = table_size - next_call;

	ioctl_mock_setup(state);
	if (missing)
		print_error("%zu expected ioctl calls did not come\n", missing);
	return missing ? -1 : 0;
}

static void write_answer(const struct ioctl_call *call, void *argument)
{
	void *target = argument;

	if (call->pointer_offset) {
		uint64_t address;

		memcpy(&address, (char *)argument + call->pointer_offset, sizeof(address));
		target = (void *)(uintptr_t)address;
	}
	memcpy(target, call->answer, call->answer_size);
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const struct ioctl_call *call;
	void *argument;
	va_list arguments;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (next_call == table_size)
		fail_msg("unexpected ioctl %#lx after %zu calls", request, next_call);
	call = &table[next_call++];
	assert_int_equal(fd, MOCK_FD);
	assert_int_equal(request, call->request);
	assert_memory_equal(argument, call->expected, call->expected_size);

	/* What an interrupted call has left in the argument is anybody's guess. */
	if (call->error == EINTR)
		memset(argument, 0xff, call->expected_size);
	if (!call->error || call->answers_error)
		write_answer(call, argument);
	if (!call->error)
		return 0;
	errno = call->error;
	return -1;
}
