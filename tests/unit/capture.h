/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CAPTURE_H
#define FASTPATH_CAPTURE_H

/*
 * What a function prints: standard output and standard error go to one file from capture_begin()
 * to capture_end(), which returns it; the caller frees it. Both belong to the test protocol, so
 * nothing may be asserted in between.
 */
void capture_begin(void);
char *capture_end(void);

#endif
