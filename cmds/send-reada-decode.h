/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_DECODE_H
#define FASTPATH_SEND_READA_DECODE_H

#include "send-reada-reading.h"

/*
 * Reads the stream in the file PATH, "-" for standard input, by READING. RET_FAULT is what is wrong
 * with it, of which it complains, or NULL; what came before was counted.
 * Returns 0; or -1 if it could not be read, and complains.
 */
int send_reada_decode(const char *path, struct send_reading *reading, const char **ret_fault);

#endif
