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

static void test_success(void **state)
{
	int argument = 0;

	(void)state;
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), 0);
	assert_int_equal(argument, 7);
}

static void test_interrupted_call_is_made_again(void **state)
{
	int argument = 0;

	(void)state;
	expect(EINTR);
	expect(EINTR);
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), 0);
	assert_int_equal(argument, 7);
}

static void test_other_errors_are_final(void **state)
{
	static const int errors[] = { EPERM, ENOTTY, EAGAIN, EIO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		int argument = 0;

		expect(errors[i]);
		assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)),
				 -errors[i]);
		assert_int_equal(argument, 0);
	}
}

static void test_error_after_interruption(void **state)
{
	int argument = 0;

	(void)state;
	expect(EINTR);
	expect(EPERM);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, sizeof(argument)), -EPERM);
}

/* Of an argument that is only an answer nothing is read, not even to keep it. */
static void test_answer_without_input(void **state)
{
	int argument = 0;

	(void)state;
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument, 0), 0);
	assert_int_equal(argument, 7);
}

static void test_input_that_cannot_be_kept(void **state)
{
	char argument[RETRY_IOCTL_INPUT_MAX + 1] = { 0 };

	(void)state;
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, argument, sizeof(argument)), -E2BIG);
	expect(EINTR);
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, argument, RETRY_IOCTL_INPUT_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOCKED_TEST(test_success),
		MOCKED_TEST(test_interrupted_call_is_made_again),
		MOCKED_TEST(test_other_errors_are_final),
		MOCKED_TEST(test_error_after_interruption),
		MOCKED_TEST(test_answer_without_input),
		MOCKED_TEST(test_input_that_cannot_be_kept),
	};

	return cmocka_run_group_tests_name("retry-ioctl", tests, NULL, NULL);
}
