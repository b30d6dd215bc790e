// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "ioctl-mock.h"
#include "retry-ioctl.h"
#include "test.h"

#define REQUEST 0x1234

static void expect(int error)
{
	const int answer = 7;

	ioctl_mock_expect(&(struct ioctl_call){
		.request = REQUEST,
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
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument), 0);
	assert_int_equal(argument, 7);
}

static void test_interrupted_call_is_made_again(void **state)
{
	int argument = 0;

	(void)state;
	expect(EINTR);
	expect(EINTR);
	expect(0);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument), 0);
	assert_int_equal(argument, 7);
}

static void test_other_errors_are_final(void **state)
{
	static const int errors[] = { EPERM, ENOTTY, EAGAIN, EIO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		int argument = 0;

		expect(errors[i]);
		assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument), -errors[i]);
		assert_int_equal(argument, 0);
	}
}

static void test_error_after_interruption(void **state)
{
	int argument = 0;

	(void)state;
	expect(EINTR);
	expect(EPERM);
	assert_int_equal(retry_ioctl(MOCK_FD, REQUEST, &argument), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOCKED_TEST(test_success),
		MOCKED_TEST(test_interrupted_call_is_made_again),
		MOCKED_TEST(test_other_errors_are_final),
		MOCKED_TEST(test_error_after_interruption),
	};

	return cmocka_run_group_tests_name("retry-ioctl", tests, NULL, NULL);
}
