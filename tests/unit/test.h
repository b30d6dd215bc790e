/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TEST_H
#define FASTPATH_TEST_H

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* libbtrfs' headers have one too. */
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

/* Begins a test, which main.c runs after cmocka's SETUP and before TEARDOWN, or NULL. */
// clang-format off
#define TEST_WITH(test, setup, teardown)                                        \
	static void test(void **state);                                         \
	__attribute__((used, section("unit_tests"), aligned(sizeof(void *))))   \
	static const struct CMUnitTest test##_entry = { #test, test, setup, teardown, NULL }; \
	static void test(void **state __attribute__((unused)))
// clang-format on
#define TEST(test) TEST_WITH(test, NULL, NULL)

/* A file of tests can define these: why none can run here, or NULL; and what is done before and after all of them. */
__attribute__((weak)) const char *reason_to_skip(void);
__attribute__((weak)) int setup_all(void **state);
__attribute__((weak)) int teardown_all(void **state);

#define KIB(number) ((uint64_t)(number) << 10)
#define MIB(number) ((uint64_t)(number) << 20)

#endif
