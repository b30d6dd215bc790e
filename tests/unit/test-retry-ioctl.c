// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "ioctl-mock.h"
#include "sys/retry-ioctl.h"
#include "test.h"

#define REQUEST 0x1234

static void expect(int error)
{
	const int asked = 0;
	const int answer = 7;

	ioctl_mock_expect(&(struct ioctl_call){
		.request = REQUEST,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

TEST_WITH(test_success, ioctl_mock_setup, ioctl_mock_teardown)
{
	int argument = 0;

	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), 0);
	assert_int_equal(argument, 7);
}

TEST_WITH(test_interrupted_call_is_made_again, ioctl_mock_setup, ioctl_mock_teardown)
{
	int argument = 0;

	expect(EINTR);
	expect(EINTR);
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), 0);
	assert_int_equal(argument, 7);
}

TEST_WITH(test_other_errors_are_final, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const int errors[] = { EPERM, ENOTTY, EAGAIN, EIO };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		int argument = 0;

		expect(errors[i]);
		assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)),
				 -errors[i]);
		assert_int_equal(argument, 0);
	}
}

TEST_WITH(test_error_after_interruption, ioctl_mock_setup, ioctl_mock_teardown)
{
	int argument = 0;

	expect(EINTR);
	expect(EPERM);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), -EPERM);
}

/* Of an argument that is only an answer nothing is read, not even to keep it. */
TEST_WITH(test_answer_without_input, ioctl_mock_setup, ioctl_mock_teardown)
{
	int argument = 0;

	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, 0), 0);
	assert_int_equal(argument, 7);
}

TEST_WITH(test_input_that_cannot_be_kept, ioctl_mock_setup, ioctl_mock_teardown)
{
	char argument[RETRY_IOCTL_INPUT_MAX + 1] = { 0 };

	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, argument, sizeof(argument)), -E2BIG);
	expect(EINTR);
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, argument, RETRY_IOCTL_INPUT_MAX), 0);
}
