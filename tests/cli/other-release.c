// SPDX-License-Identifier: GPL-2.0-only
/* uname as a kernel of another release has it: $RELEASE. The program is linked with -Wl,--wrap=uname. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

int __real_uname(struct utsname *name);
int __wrap_uname(struct utsname *name);

int __wrap_uname(struct utsname *name)
{
	const char *release = getenv("RELEASE");
	int ret = __real_uname(name);

	if (release)
		snprintf(name->release, sizeof(name->release), "%s", release);
	return ret;
}
