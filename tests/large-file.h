/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LARGE_FILE_H
#define FASTPATH_LARGE_FILE_H

/*
 * Where off_t is larger than long, the C library calls lseek() and its like lseek64, and so must
 * the functions do that the linker puts in their place: -Wl,--wrap=lseek$(LARGE_FILE).
 */
#if SIZEOF_OFF_T > SIZEOF_LONG
#define LARGE_FILE_SYMBOL(name) __asm__(name "64")
#else
#define LARGE_FILE_SYMBOL(name)
#endif

#endif
