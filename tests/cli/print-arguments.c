// SPDX-License-Identifier: GPL-2.0-only
/* Prints its arguments, each ended by a NUL: what a program gets, with nothing in between. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		fwrite(argv[i], strlen(argv[i]) + 1, 1, stdout);
	return fflush(stdout) ? 1 : 0;
}
