/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DIGEST_H
#define FASTPATH_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START 0xcbf29ce484222325

/* Adds SIZE bytes of DATA to DIGEST, which begins as DIGEST_START. FNV-1a: not against an attacker. */
static inline uint64_t digest_add(uint64_t digest, const void *data, size_t size)
{
	for (const unsigned char *byte = data; size--; byte++)
		digest = (digest ^ *byte) * 0x100000001b3;
	return digest;
}

static inline uint64_t digest_add_number(uint64_t digest, uint64_t number)
{
	return digest_add(digest, &number, sizeof(number));
}

/*
 * Continue CRC, a CRC-32C (Castagnoli), over SIZE bytes of DATA, without inverting it before or
 * after. This is the checksum of send commands in btrfs, where it begins with 0. Uses the
 * instruction of the processor if there is one.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same without that instruction. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
