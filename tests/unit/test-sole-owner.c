// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "sharing/sole-owner.h"
#include "test.h"

#define BYTENR MIB(13)

/* What the extent tree has, and the subvolume of the reference. */
static int found;
static struct extent_item answer;
static struct family_member subvolume;

int __wrap_extent_lookup_find(struct extent_lookup *lookup, uint64_t bytenr,
			      struct extent_item *ret_item);
int __wrap_extent_lookup_find(struct extent_lookup *lookup, uint64_t bytenr,
			      struct extent_item *ret_item)
{
	assert_null(lookup);
	assert_int_equal(bytenr, BYTENR);
	if (found > 0)
		*ret_item = answer;
	return found;
}

const struct family_member *__wrap_snapshot_families_find(const struct snapshot_families *families,
							  uint64_t subvolid);
const struct family_member *__wrap_snapshot_families_find(const struct snapshot_families *families,
							  uint64_t subvolid)
{
	assert_null(families);
	return subvolid == subvolume.subvolid ? &subvolume : NULL;
}

/* Two pieces of one file, written in transaction 8 after a snapshot in transaction 7. */
static void prepare(void)
{
	found = 1;
	answer = (struct extent_item){
		.ref_count = 2,
		.generation = 8,
		.has_sole_ref = true,
		.sole_ref = { .root = 256, .inode = 257, .offset = KIB(64) },
		.sole_ref_count = 2,
	};
	subvolume = (struct family_member){ .subvolid = 256, .last_snapshot = 7 };
}

static bool has_sole_owner(struct extent_ref *ret_ref)
{
	return find_sole_owner(NULL, NULL, BYTENR, ret_ref);
}

TEST(test_one_file)
{
	struct extent_ref ref;

	prepare();
	assert_true(has_sole_owner(&ref));
	assert_int_equal(ref.root, 256);
	assert_int_equal(ref.inode, 257);
	assert_int_equal(ref.offset, KIB(64));
}

TEST(test_others_can_refer_to_it)
{
	struct extent_ref ref;

	prepare();
	answer.ref_count = 3;
	assert_false(has_sole_owner(&ref));
	prepare();
	answer.has_sole_ref = false;
	assert_false(has_sole_owner(&ref));
	/* a snapshot in the transaction of the extent may have its block, too */
	prepare();
	subvolume.last_snapshot = 8;
	assert_false(has_sole_owner(&ref));
	/* it is being deleted */
	prepare();
	subvolume.subvolid = 258;
	assert_false(has_sole_owner(&ref));
}

TEST(test_not_in_the_tree)
{
	struct extent_ref ref;

	prepare();
	found = 0;
	assert_false(has_sole_owner(&ref));
	found = -EPERM;
	assert_false(has_sole_owner(&ref));
}
