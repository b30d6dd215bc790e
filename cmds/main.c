// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <locale.h>

#include "commands.h"

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	return dispatch(CALLER_OWN, argc, argv);
}
