// SPDX-License-Identifier: GPL-2.0-only
/* btrfs-fastpath with so little memory that it sorts in a temporary file from the start. */
#include "num/record-sort.h"

int __real_record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops,
			   size_t memory);
int __wrap_record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops,
			   size_t memory);

int __wrap_record_sort_new(struct record_sort **ret_sort, const struct record_sort_ops *ops,
			   size_t memory)
{
	(void)memory;
	return __real_record_sort_new(ret_sort, ops, 1);
}
