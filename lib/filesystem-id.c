// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>

#include "filesystem-id.h"

char *filesystem_id_text(char text[FSID_TEXT_SIZE], const uint8_t fsid[FSID_SIZE])
{
	char *out = text;

	for (int i = 0; i < FSID_SIZE; i++)
		out += sprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			       fsid[i]);
	return text;
}
