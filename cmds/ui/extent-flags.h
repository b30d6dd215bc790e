/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_FLAGS_H
#define FASTPATH_EXTENT_FLAGS_H

#include <stdint.h>

#include "ui/json.h"

#define EXTENT_FLAGS_TEXT_SIZE 160

/* The names of FIEMAP_EXTENT_*, as "shared,encoded"; a number for unknown flags; "-" for none. */
const char *format_extent_flags(char text[EXTENT_FLAGS_TEXT_SIZE], uint32_t flags);

/* The same as a JSON array. */
void json_add_extent_flags(struct json_writer *json, const char *key, uint32_t flags);

#endif
