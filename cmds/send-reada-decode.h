/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_DECODE_H
#define FASTPATH_SEND_READA_DECODE_H

#include "send-reada-reading.h"

/*
 * Reads the stream in the file PATH, "-" for standard input, with READING. If the stream is
 * damaged, prints an error and sets *RET_FAULT to the damage, else to NULL; READING then has
 * counted the part before the damage. Returns 0, or -1 after printing an error if it cannot read.
 */
int send_reada_decode(const char *path, struct send_reading *reading, const char **ret_fault);

#endif
