// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "test.h"
#include "text/units.h"

TEST(test_format_size)
{
	static const struct {
		uint64_t bytes;
		struct size_format format;
		const char *text;
	} cases[] = {
		{ 0, { SIZE_IEC, 0 }, "0.00B" },
		{ 1, { SIZE_IEC, 0 }, "1.00B" },
		{ 1023, { SIZE_IEC, 0 }, "1023.00B" },
		{ 1024, { SIZE_IEC, 0 }, "1.00KiB" },
		{ 1536, { SIZE_IEC, 0 }, "1.50KiB" },
		{ MIB(1), { SIZE_IEC, 0 }, "1.00MiB" },
		{ MIB(1024), { SIZE_IEC, 0 }, "1.00GiB" },
		{ 1ULL << 40, { SIZE_IEC, 0 }, "1.00TiB" },
		{ 1ULL << 50, { SIZE_IEC, 0 }, "1.00PiB" },
		{ 1ULL << 60, { SIZE_IEC, 0 }, "1.00EiB" },
		{ UINT64_MAX, { SIZE_IEC, 0 }, ">=16.00EiB" },
		{ UINT64_MAX - 1, { SIZE_IEC, 0 }, "16.00EiB" },
		{ 999, { SIZE_SI, 0 }, "999.00B" },
		{ 1000, { SIZE_SI, 0 }, "1.00kB" },
		{ 1000000, { SIZE_SI, 0 }, "1.00MB" },
		{ 1500000000, { SIZE_SI, 0 }, "1.50GB" },
		{ UINT64_MAX, { SIZE_SI, 0 }, ">=18.45EB" },
		{ MIB(1), { SIZE_IEC, 1 }, "1024.00KiB" },
		{ 512, { SIZE_IEC, 1 }, "0.50KiB" },
		{ KIB(1), { SIZE_IEC, 4 }, "0.00TiB" },
		{ UINT64_MAX, { SIZE_IEC, 1 }, ">=18014398509481984.00KiB" },
		{ 1000000, { SIZE_SI, 1 }, "1000.00kB" },
		{ 0, { SIZE_RAW, 0 }, "0" },
		{ UINT64_MAX, { SIZE_RAW, 0 }, "18446744073709551615" },
		/* a bare number has no unit to fix */
		{ MIB(1), { SIZE_RAW, 2 }, "1048576" },
	};
	char text[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_ptr_equal(format_size(text, cases[i].bytes, cases[i].format), text);
		assert_string_equal(text, cases[i].text);
	}
}

/* Each of them as printf() rounds it, halves and what is too large to be exact included. */
TEST(test_format_size_rounds_as_printf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

	for (uint64_t i = 0; i < 64 * 4096; i++) {
		struct size_format format = { SIZE_IEC, 1 + i % 4 };
		uint64_t bytes = (i / 64 << i % 64) - i % 3;
		char text[UNITS_TEXT_SIZE], expected[UNITS_TEXT_SIZE];
		double value = bytes;

		/* a sum that is too large */
		if (bytes == UINT64_MAX)
			bytes--;
		for (unsigned int power = 0; power < format.power; power++)
			value /= 1024;
		snprintf(expected, sizeof(expected), "%.2f%s", value, units[format.power]);
		assert_string_equal(format_size(text, bytes, format), expected);
	}
}

TEST(test_format_time)
{
	static const struct {
		uint64_t nanoseconds;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },
		{ 999, "999ns" },
		{ 1000, "1.00us" },
		{ 1250000, "1.25ms" },
		{ 1000000000, "1.00s" },
		{ 90000000000, "90.00s" },
		{ 3600000000000, "3600.00s" },
		{ UINT64_MAX, "18446744073.71s" },
	};
	char text[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_time(text, cases[i].nanoseconds), cases[i].text);
}

TEST(test_parse_size)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "007", 7 },
		{ "7B", 7 },
		{ "7b", 7 },
		{ "1k", KIB(1) },
		{ "1K", KIB(1) },
		{ "1kB", 1000 },
		{ "1KB", 1000 },
		{ "20MB", 20000000 },
		{ "20mib", MIB(20) },
		{ "18EB", 18000000000000000000ULL },
		{ "0EB", 0 },
		{ "1KiB", KIB(1) },
		{ "1kib", KIB(1) },
		{ "3M", MIB(3) },
		{ "3MiB", MIB(3) },
		{ "2g", MIB(2048) },
		{ "1T", 1ULL << 40 },
		{ "1P", 1ULL << 50 },
		{ "15E", 15ULL << 60 },
		{ "15EiB", 15ULL << 60 },
		{ "0E", 0 },
		{ "18014398509481983K", UINT64_MAX - 1023 },
		{ "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = 99;

		assert_int_equal(parse_size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

TEST(test_parse_size_errors)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "", EINVAL },
		{ " 1", EINVAL },
		{ "-1", EINVAL },
		{ "+1", EINVAL },
		{ "k", EINVAL },
		{ "1 k", EINVAL },
		{ "1k ", EINVAL },
		{ "1kk", EINVAL },
		{ "1ki", EINVAL },
		{ "1BB", EINVAL },
		{ "1Z", EINVAL },
		{ "1.5k", EINVAL },
		{ "0x10", EINVAL },
		{ "1iB", EINVAL },
		{ "1e3", EINVAL },
		{ "1,5", EINVAL },
		{ "1\n", EINVAL },
		{ "\xd9\xa1", EINVAL },
		{ "16E", ERANGE },
		{ "16384P", ERANGE },
		{ "19EB", ERANGE },
		{ "18446744073709552KB", ERANGE },
		{ "18014398509481984K", ERANGE },
		{ "18446744073709551616", ERANGE },
		{ "99999999999999999999999999", ERANGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = 99;

		assert_int_equal(parse_size(cases[i].text, &bytes), -cases[i].error);
		assert_int_equal(bytes, 99);
	}
}

TEST(test_parse_range)
{
	static const struct {
		const char *text;
		struct byte_range range;
	} cases[] = {
		{ "0", { 0, UINT64_MAX } },
		{ "4096", { 4096, UINT64_MAX } },
		{ "4k:", { KIB(4), UINT64_MAX } },
		{ "0:1", { 0, 1 } },
		{ "1M:64KiB", { MIB(1), KIB(64) } },
		{ "18446744073709551615:18446744073709551615", { UINT64_MAX, UINT64_MAX } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct byte_range range;

		assert_int_equal(parse_range(cases[i].text, &range), 0);
		assert_int_equal(range.offset, cases[i].range.offset);
		assert_int_equal(range.length, cases[i].range.length);
	}
}

TEST(test_parse_range_errors)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "", EINVAL },	    { ":", EINVAL },	 { ":5", EINVAL },    { "5:0", EINVAL },
		{ "5:0k", EINVAL }, { "1:2:3", EINVAL }, { "1-2", EINVAL },   { "a:1", EINVAL },
		{ "1:a", EINVAL },  { "1: 2", EINVAL },	 { "16E:1", ERANGE }, { "1:16E", ERANGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct byte_range range = { 98, 99 };

		assert_int_equal(parse_range(cases[i].text, &range), -cases[i].error);
		assert_int_equal(range.offset, 98);
		assert_int_equal(range.length, 99);
	}
}
