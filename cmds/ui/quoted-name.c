// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "base/name-escape.h"
#include "ui/quoted-name.h"

static const char no_name[] = "?";

const char *quoted_name(const char *name)
{
	const char *quoted = name ? quote_name(name) : NULL;

	return quoted ? quoted : no_name;
}

void quoted_name_free(const char *quoted)
{
	if (quoted != no_name)
		free((char *)quoted);
}

void quoted_name_freep(const char **quoted)
{
	quoted_name_free(*quoted);
}
