// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "num/digest.h"

/* reflected, as the checksum is */
#define POLYNOMIAL 0x82f63b78
#define STEP 8

/* tables[n][b]: what byte b adds with n more bytes behind it. */
static uint32_t tables[STEP][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][byte] = crc;
	}
	for (int n = 1; n < STEP; n++)
		for (int byte = 0; byte < 256; byte++)
			tables[n][byte] = tables[n - 1][byte] >> 8 ^
					  tables[0][tables[n - 1][byte] & 0xff];
}

static uint64_t load(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	pthread_once(&tables_once, make_tables);
	for (; size >= STEP; size -= STEP, bytes += STEP) {
		uint64_t value = load(bytes) ^ crc;

		crc = 0;
		for (int n = 0; n < STEP; n++)
			crc ^= tables[STEP - 1 - n][value >> 8 * n & 0xff];
	}
	while (size--)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 0xff];
	return crc;
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
							       size_t size)
{
	const uint8_t *bytes = data;
	uint64_t wide = crc;

	for (; size >= STEP; size -= STEP, bytes += STEP)
		wide = __builtin_ia32_crc32di(wide, load(bytes));
	crc = wide;
	while (size--)
		crc = __builtin_ia32_crc32qi(crc, *bytes++);
	return crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, data, size);
	return crc32c_portable(crc, data, size);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	return crc32c_portable(crc, data, size);
}

#endif
