/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COMMIT_COUNTERS_H
#define FASTPATH_COMMIT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/filesystem.h"

/*
 * The figures about transactions that every user can read. BTRFS_IOC_FS_INFO (Linux 5.9) has the
 * generation, which is the number of the newest transaction. commit_stats in sysfs (Linux 6.0) has
 * the number of commits since the mount, and the times of the last one, the longest one and all of
 * them. A commit is counted at its very end. In the middle of a commit its transaction is closed;
 * the first change after that begins the next transaction.
 */
struct commit_counters {
	bool generation_known;
	/* whether the members after GENERATION are known */
	bool stats_known;
	uint64_t generation;
	uint64_t commits;
	uint64_t last_commit_ms;
	uint64_t max_commit_ms;
	uint64_t total_commit_ms;
};

/*
 * Read them for the file system of FD. ROOT replaces /sys/fs/btrfs if it is not NULL. Figures that
 * the kernel does not have are not known. Returns 0, or a negative errno: -ENOTTY if the file
 * system is not btrfs.
 */
int commit_counters_read(const char *root, int fd, struct commit_counters *ret_counters);

/*
 * Read those of the file system FSID that sysfs has, which needs no descriptor of it. The generation
 * is not known.
 */
void commit_counters_read_stats(const char *root, const uint8_t fsid[FSID_SIZE],
				struct commit_counters *ret_counters);

/* Read only the generation again, in less than a microsecond. Returns as above. */
int commit_counters_read_generation(int fd, struct commit_counters *counters);

/* The commits between two readings. */
struct commit_change {
	bool known;
	uint64_t count;
	uint64_t total_ns;
};

/* The commits from BEFORE to AFTER. They are unknown if the counters are, or have decreased. */
struct commit_change commit_counters_change(const struct commit_counters *before,
					    const struct commit_counters *after);

/*
 * The difference between the generation and the number of commits, while a transaction is running
 * and all commits before it are counted. It is constant after the mount. 0 means not known yet.
 */
struct generation_offset {
	uint64_t generations;
};

/*
 * Learn it from COUNTERS. Their generation must have been read after the other members, and while
 * its transaction was running, such as right after a change. Commits that are not counted yet make
 * the difference too large, so the least difference is kept.
 */
void generation_offset_learn(struct generation_offset *offset,
			     const struct commit_counters *counters);

enum fsync_kind {
	/* the fsync wrote only the log */
	FSYNC_LOG,
	/* the fsync committed the transaction, or waited for a commit of it */
	FSYNC_FULL,
	/* there was a commit, perhaps of another program; or nothing is known */
	FSYNC_UNCERTAIN,
};

#define FSYNC_KINDS 3

/* "log", "full" or "uncertain" */
const char *fsync_kind_name(enum fsync_kind kind);

/* The counters around one fsync. */
struct fsync_evidence {
	/* with the generation of the last change before the fsync */
	struct commit_counters before;
	/* right after the fsync */
	struct commit_counters after;
	/* with the generation of a change right after that */
	struct commit_counters later;
	uint64_t duration_ns;
};

/*
 * The kind of an fsync.
 *
 * If the transaction of BEFORE is still running in LATER, it was not committed, so the fsync
 * certainly wrote only the log. If it was committed, and the commit was done when the fsync
 * returned, the fsync was full. The reason: while an fsync writes the log in a transaction, this
 * transaction cannot be committed, so a commit by another program ends after the fsync. There is
 * one exception: a commit that begins in the microseconds between the change and the fsync. Then
 * the fsync waits for it, and writes its log in the next transaction. A commit that took longer
 * than the fsync, or that was followed by other commits, is not taken as that of the fsync. All
 * other cases are uncertain.
 */
enum fsync_kind fsync_kind_of(const struct fsync_evidence *evidence,
			      const struct generation_offset *offset);

#endif
