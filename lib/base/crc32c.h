/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CRC32C_H
#define FASTPATH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continue CRC, a CRC-32C (Castagnoli), over SIZE bytes of DATA, without inverting it before or
 * after. This is the checksum of send commands in btrfs, where it begins with 0. Uses the
 * instruction of the processor if there is one.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same without that instruction. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
