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

#define KIB(number) ((uint64_t)(number) << 10)
#define MIB(number) ((uint64_t)(number) << 20)

#endif
