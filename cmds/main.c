// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <locale.h>

#include "commands.h"
#include "ui/standard-files.h"

int main(int argc, char **argv)
{
	if (standard_files_reserve() < 0)
		return STATUS_ERROR;
	setlocale(LC_CTYPE, "");
	return dispatch(CALLER_OWN, argc, argv);
}
