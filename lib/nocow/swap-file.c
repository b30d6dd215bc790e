// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/fiemap.h"
#include "fs/filesystem.h"
#include "fs/inode-flags.h"
#include "fs/sysfs-attribute.h"
#include "nocow/swap-file.h"
#include "sys/cleanup.h"

/* In the first page, where mkswap(8) writes it. */
#define SIGNATURE "SWAPSPACE2"
#define SIGNATURE_SIZE (sizeof(SIGNATURE) - 1)
#define HEADER_OFFSET 1024

const char *swap_obstacle_name(enum swap_obstacle obstacle)
{
	static const char *const names[] = {
		[SWAP_ACTIVE] = "active",
		[SWAP_READ_ONLY] = "read_only",
		[SWAP_NOT_WRITABLE] = "not_writable",
		[SWAP_BUSY] = "exclusive_operation",
		[SWAP_COMPRESS] = "compress_flag",
		[SWAP_COPY_ON_WRITE] = "copy_on_write",
		[SWAP_CHECKSUMS] = "checksums",
		[SWAP_HOLE] = "holes",
		[SWAP_INLINE] = "inline",
		[SWAP_COMPRESSED] = "compressed",
		[SWAP_SHARED] = "shared",
		[SWAP_PROFILE] = "profile",
		[SWAP_DEVICES] = "devices",
		[SWAP_READ_ONLY_DEVICE] = "read_only_device",
		[SWAP_SIGNATURE] = "no_signature",
		[SWAP_TOO_SHORT] = "too_short",
	};

	return names[obstacle];
}

bool swap_findings_have_any(const struct swap_findings *findings)
{
	for (int i = 0; i < SWAP_OBSTACLE_COUNT; i++)
		if (findings->has[i])
			return true;
	return false;
}

/* -- the file as a whole -- */

static void add_blocks(enum write_block block, bool is_read_only, struct swap_findings *findings)
{
	findings->has[SWAP_ACTIVE] = block == WRITE_BLOCK_SWAP;
	findings->has[SWAP_READ_ONLY] = is_read_only || block == WRITE_BLOCK_SUBVOLUME;
	findings->has[SWAP_NOT_WRITABLE] = block == WRITE_BLOCK_IMMUTABLE ||
					   block == WRITE_BLOCK_APPEND_ONLY;
}

static int add_operation(const struct nocow_file *file, const char *sysfs,
			 struct swap_findings *findings)
{
	char operation[SYSFS_ATTRIBUTE_SIZE];
	uint8_t fsid[FSID_SIZE];
	int ret = filesystem_id_of(file->fd, fsid);

	if (ret < 0)
		return ret;
	/* It is empty before Linux 5.10. The activation of another swap file is over in a moment. */
	sysfs_attribute_get(sysfs, fsid, "exclusive_operation", operation);
	findings->has[SWAP_BUSY] = *operation && strcmp(operation, "none") != 0 &&
				   strcmp(operation, "swap activate") != 0;
	return 0;
}

static void add_flags(const struct nocow_file *file, struct swap_findings *findings)
{
	findings->has[SWAP_COMPRESS] = file->inode_flags & INODE_COMPRESS;
	findings->has[SWAP_COPY_ON_WRITE] = !(file->inode_flags & INODE_NODATACOW);
	findings->has[SWAP_CHECKSUMS] = file->searchable && !(file->inode_flags & INODE_NODATASUM);
}

/* A header of a machine with the other order of bytes is right, too. */
static int add_header(const struct nocow_file *file, struct swap_findings *findings)
{
	const long page_size = sysconf(_SC_PAGESIZE);
	/* Shortened by another process meanwhile, the file has none. */
	char signature[SIGNATURE_SIZE] = "";
	/* version, the last page, and the number of bad pages, which a file cannot have */
	uint32_t header[3] = { 0 };

	findings->has[SWAP_SIGNATURE] = true;
	if (file->size < (uint64_t)page_size)
		return 0;
	if (pread(file->fd, signature, sizeof(signature), page_size - sizeof(signature)) < 0 ||
	    pread(file->fd, header, sizeof(header), HEADER_OFFSET) < 0)
		return -errno;
	if (header[0] == __builtin_bswap32(1))
		header[1] = __builtin_bswap32(header[1]);
	else if (header[0] != 1)
		return 0;
	if (memcmp(signature, SIGNATURE, sizeof(signature)) != 0 || !header[1] || header[2])
		return 0;
	findings->has[SWAP_SIGNATURE] = false;
	findings->has[SWAP_TOO_SHORT] = header[1] >= file->size / page_size;
	return 0;
}

/* -- its extents -- */

static void add_range(struct swap_findings *findings, enum swap_obstacle obstacle, uint64_t offset,
		      uint64_t length)
{
	if (!findings->has[obstacle])
		findings->first[obstacle] = offset;
	findings->has[obstacle] = true;
	findings->bytes[obstacle] += length;
}

/* Where the extents are. */
struct placement {
	/* NULL: unknown */
	const struct chunk_list *chunks;
	const struct unwritable_chunks *unwritable;
	/* of the first extent, or 0 */
	uint64_t device_id;
};

static void add_chunk(struct swap_findings *findings, const struct mapped_extent *extent,
		      const struct chunk *chunk, struct placement *placement)
{
	if (!chunk) {
		findings->is_complete = false;
		return;
	}
	if (chunk->type & BTRFS_BLOCK_GROUP_PROFILE_MASK)
		add_range(findings, SWAP_PROFILE, extent->offset, extent->length);
	if (!placement->device_id)
		placement->device_id = chunk->device_id;
	if (chunk->device_id != placement->device_id)
		add_range(findings, SWAP_DEVICES, extent->offset, extent->length);
	if (unwritable_chunks_contain(placement->unwritable, extent->bytenr))
		add_range(findings, SWAP_READ_ONLY_DEVICE, extent->offset, extent->length);
}

static void add_extent(struct swap_findings *findings, const struct mapped_extent *extent)
{
	if (extent->flags & FIEMAP_EXTENT_DATA_INLINE)
		add_range(findings, SWAP_INLINE, extent->offset, extent->length);
	else if (extent->flags & FIEMAP_EXTENT_ENCODED)
		add_range(findings, SWAP_COMPRESSED, extent->offset, extent->length);
	if (extent->flags & FIEMAP_EXTENT_SHARED)
		add_range(findings, SWAP_SHARED, extent->offset, extent->length);
}

static bool has_address(const struct mapped_extent *extent)
{
	return extent->bytenr &&
	       !(extent->flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN));
}

/* In an extent that FIEMAP joined, each chunk is another part. */
static void add_chunks(struct swap_findings *findings, struct mapped_extent extent,
		       struct placement *placement)
{
	const struct chunk_list *chunks = placement->chunks;
	const struct chunk *chunk;
	struct mapped_extent part = extent;

	if (!(extent.flags & FIEMAP_EXTENT_ENCODED))
		while ((chunk = chunk_list_find(chunks, part.bytenr)) &&
		       chunk->bytenr + chunk->length - part.bytenr < part.length) {
			const uint64_t length = chunk->bytenr + chunk->length - part.bytenr;
			const struct mapped_extent first = { part.offset, part.bytenr, length, 0 };

			add_chunk(findings, &first, chunk, placement);
			part.offset += length;
			part.bytenr += length;
			part.length -= length;
		}
	add_chunk(findings, &part, chunk_list_find(chunks, part.bytenr), placement);
}

static int add_extents(const struct nocow_file *file, struct byte_range range,
		       const struct chunk_list *chunks, struct swap_findings *findings)
{
	CLEANUP(fiemap_iter_freep) struct fiemap_iter *iter = NULL;
	struct placement placement = { .chunks = chunks, .unwritable = file->unwritable };
	struct mapped_extent extent;
	uint64_t end = 0;
	int ret = fiemap_iter_new(&iter);

	if (ret < 0)
		return ret;
	fiemap_iter_start(iter, file->fd, range, FIEMAP_FLAG_SYNC);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, range))
			continue;
		if (extent.offset > end)
			add_range(findings, SWAP_HOLE, end, extent.offset - end);
		end = extent.offset + extent.length;
		add_extent(findings, &extent);
		if (chunks && has_address(&extent))
			add_chunks(findings, extent, &placement);
	}
	if (ret == 0 && end < range.length)
		add_range(findings, SWAP_HOLE, end, range.length - end);
	return ret;
}

int swap_file_examine(const struct nocow_file *file, enum write_block block, bool is_read_only,
		      const struct chunk_list *chunks, const char *sysfs,
		      struct swap_findings *ret_findings)
{
	struct swap_findings findings = { .is_complete = chunks && file->searchable };
	struct statfs status;
	struct byte_range range = { 0 };
	int ret;

	if (fstatfs(file->fd, &status) < 0)
		return -errno;
	if (status.f_bsize <= 0)
		return -EPROTO;
	/* The kernel uses whole sectors only. */
	range.length = file->size - file->size % status.f_bsize;
	add_blocks(block, is_read_only, &findings);
	add_flags(file, &findings);
	ret = add_operation(file, sysfs, &findings);
	if (ret == 0)
		ret = add_header(file, &findings);
	if (ret == 0)
		ret = add_extents(file, range, chunks, &findings);
	if (ret == 0)
		*ret_findings = findings;
	return ret;
}
