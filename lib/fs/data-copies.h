/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DATA_COPIES_H
#define FASTPATH_DATA_COPIES_H

#include <stdint.h>

/*
 * How many copies of the data the file system of FD keeps: 1 with the profiles single and RAID0, 2
 * with DUP, RAID1 and RAID10, 3 or 4 with RAID1C3 and RAID1C4. It is 0 if that is not one number:
 * with parity (RAID5, RAID6), or if block groups of several profiles have data. Needs no privilege.
 * Returns 0, -ENOMEM, -EPROTO, or a negative errno. Rests on BTRFS_IOC_SPACE_INFO.
 */
int data_copies_of(int fd, unsigned int *ret_copies);

#endif
