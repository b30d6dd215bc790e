/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COMMIT_COUNTERS_H
#define FASTPATH_COMMIT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a file system tells of its transactions, to everybody: the generation, which is the number
 * of the transaction begun last, by BTRFS_IOC_FS_INFO (Linux 5.9); how many commits are done since
 * it was mounted, and how long the last one, the longest and all of them took, by commit_stats in
 * sysfs (Linux 6.0). A commit is counted at its very end; a transaction begins with the first
 * change after the last one was closed, which a commit does half way.
 */
struct commit_counters {
	bool generation_known;
	/* the members below the next one */
	bool stats_known;
	uint64_t generation;
	uint64_t commits;
	uint64_t last_commit_ms;
	uint64_t max_commit_ms;
	uint64_t total_commit_ms;
};

/*
 * Read them for the file system of FD; ROOT stands for /sys/fs/btrfs if not NULL. What the kernel
 * does not have is not known. Returns 0, or a negative errno: -ENOTTY where it is not btrfs.
 */
int commit_counters_read(const char *root, int fd, struct commit_counters *ret_counters);

/* Read the generation alone again, which takes less than a microsecond. Returns as above. */
int commit_counters_read_generation(int fd, struct commit_counters *counters);

/*
 * How far the generation is ahead of the number of commits while a transaction is running and all
 * before it are counted. That is the same from the mount on. 0 is not known yet.
 */
struct generation_offset {
	uint64_t generations;
};

/*
 * Learn it from COUNTERS whose generation was read after the rest of them and while that
 * transaction was running, as it is right after a change. Commits that are not counted yet make
 * the offset too large, so the least one counts.
 */
void generation_offset_learn(struct generation_offset *offset,
			     const struct commit_counters *counters);

enum fsync_kind {
	/* the log alone was written */
	FSYNC_LOG,
	/* it came with a commit of the transaction, its own or one that it waited for */
	FSYNC_FULL,
	/* a commit went by that may as well have been somebody else's, or nothing is known */
	FSYNC_UNCERTAIN,
};

#define FSYNC_KINDS 3

/* "log", "full" or "uncertain" */
const char *fsync_kind_name(enum fsync_kind kind);

/* What was seen of one fsync. */
struct fsync_evidence {
	/* the generation is of the last change of what was fsynced */
	struct commit_counters before;
	/* right after the fsync */
	struct commit_counters after;
	/* the generation is of a change right after that */
	struct commit_counters later;
	uint64_t duration_ns;
};

/*
 * What kind of fsync that was.
 *
 * If the transaction of the change before is still running later, it was not committed: a log
 * commit, for certain. If it was committed, and this commit was done when the fsync had returned,
 * the fsync came with it: as long as an fsync is writing the log in a transaction, that cannot be
 * committed, so that somebody else's commit is done after the fsync; unless it began in the
 * microseconds between the change and the fsync, which then waited for it and wrote its log in the
 * next transaction. One that lasted longer than the fsync, or with others after it, is not
 * taken for the fsync's. Everything that is neither is uncertain.
 */
enum fsync_kind fsync_kind_of(const struct fsync_evidence *evidence,
			      const struct generation_offset *offset);

#endif
