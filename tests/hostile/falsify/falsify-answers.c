// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a command: asks the kernel, and then falsifies some of its answers at random, as
 * no sound kernel would answer but a broken or hostile one could.
 *
 *   FALSIFY_SEED   decides which answers, and how
 *   FALSIFY_TALLY  a file of struct tally, one for each kind, where answers are counted
 *
 * The same seed and command see the same lies: each depends on what is asked, and on how often it
 * was asked before, not on which thread asks first. Nothing is written beyond what a call may
 * write, so that what a sanitizer finds is the command's own fault.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum kind {
	FIEMAP,
	TREE_SEARCH,
	LOGICAL_INO,
	INO_PATHS,
	INO_LOOKUP,
	SUBVOL_INFO,
	INODE_FLAGS,
	FS_INFO,
	OTHER_IOCTL,
	SEEK,
	STATUS,
	STATFS,
	KERNEL_FILE,
	PIPE,
	OTHER_FILE,
	DIRECTORY,
	RELEASE,
	ANY,
	KIND_COUNT,
};

struct tally {
	char name[16];
	_Atomic uint64_t answers;
	_Atomic uint64_t lies;
	/* processes in which such an answer was falsified */
	_Atomic uint64_t runs;
};

static const char kind_names[KIND_COUNT][16] = {
	[FIEMAP] = "fiemap",
	[TREE_SEARCH] = "tree-search",
	[LOGICAL_INO] = "logical-ino",
	[INO_PATHS] = "ino-paths",
	[INO_LOOKUP] = "ino-lookup",
	[SUBVOL_INFO] = "subvol-info",
	[INODE_FLAGS] = "inode-flags",
	[FS_INFO] = "fs-info",
	[OTHER_IOCTL] = "other-ioctl",
	[SEEK] = "lseek",
	[STATUS] = "stat",
	[STATFS] = "statfs",
	[KERNEL_FILE] = "proc-sys",
	[PIPE] = "pipe",
	[OTHER_FILE] = "file",
	[DIRECTORY] = "directory",
	[RELEASE] = "uname",
	[ANY] = "any",
};

static uint64_t seed;
static bool is_armed;
/* A lie of a kind is told once in so many answers; 0: never. */
static unsigned int odds[KIND_COUNT];
/* Whether all lies of a kind are of one shape. */
static bool is_stubborn[KIND_COUNT];
static struct tally *tallies;
static _Atomic unsigned int interruptions;
static _Atomic bool lied_about[KIND_COUNT];
static _Atomic uint32_t times_asked[1 << 16];

/* -- chance -- */

/* splitmix64 */
static uint64_t mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static uint64_t draw(uint64_t *chance)
{
	return *chance = mix(*chance);
}

/* Below LIMIT, which is not 0. */
static uint64_t below(uint64_t *chance, uint64_t limit)
{
	return draw(chance) % limit;
}

/* A number that parsers like to get wrong; NEAR is the true one. */
static uint64_t odd_number(uint64_t *chance, uint64_t near)
{
	const uint64_t numbers[] = {
		0,
		1,
		near + 1,
		near - 1,
		2 * near,
		near / 2,
		near ^ 1ULL << below(chance, 64),
		INT32_MAX,
		UINT32_MAX,
		1ULL << 32,
		INT64_MAX,
		1ULL << 63,
		UINT64_MAX,
		UINT64_MAX - 4095,
		draw(chance),
		draw(chance) >> 32,
		draw(chance) >> 48,
	};

	return numbers[below(chance, ARRAY_SIZE(numbers))];
}

static void flip_bits(uint64_t *chance, void *bytes, size_t size)
{
	if (!size)
		return;
	for (uint64_t count = 1 + below(chance, 8); count; count--)
		((uint8_t *)bytes)[below(chance, size)] ^= 1 << below(chance, 8);
}

static int false_error(uint64_t *chance)
{
	static const int errors[] = { EINTR,	 ENOTTY, EPERM,	 EIO,	 ENOMEM,
				      EOVERFLOW, EAGAIN, EINVAL, ENOENT, EACCES };

	int error = errors[below(chance, ARRAY_SIZE(errors))];

	/* A call that is interrupted for ever may be repeated for ever. */
	return error == EINTR && atomic_fetch_add(&interruptions, 1) >= 50 ? EIO : error;
}

/* -- whether -- */

static void set_up_tallies(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t size = KIND_COUNT * sizeof(*tallies);

	if (fd < 0 || ftruncate(fd, size) < 0)
		abort();
	tallies = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tallies == MAP_FAILED)
		abort();
	close(fd);
	for (int kind = 0; kind < KIND_COUNT; kind++)
		memcpy(tallies[kind].name, kind_names[kind], sizeof(tallies[kind].name));
}

/* What every command asks first: a lie about it ends most runs before they ask more. */
static bool is_asked_first(enum kind kind)
{
	return kind == STATUS || kind == STATFS || kind == DIRECTORY || kind == FS_INFO ||
	       kind == INO_LOOKUP;
}

__attribute__((constructor)) static void arm(void)
{
	static const unsigned int often[] = { 0, 1, 1, 2, 3, 10 };
	static const unsigned int rarely[] = { 0, 0, 0, 1, 10, 40 };
	const char *text = getenv("FALSIFY_SEED");
	const char *path = getenv("FALSIFY_TALLY");

	if (!text || !path)
		return;
	seed = strtoull(text, NULL, 10);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		uint64_t chance = mix(seed ^ mix(kind));

		odds[kind] = is_asked_first(kind) ? rarely[below(&chance, ARRAY_SIZE(rarely))] :
						    often[below(&chance, ARRAY_SIZE(often))];
		is_stubborn[kind] = !below(&chance, 4);
	}
	set_up_tallies(path);
	is_armed = true;
}

static void count_answer(enum kind kind)
{
	atomic_fetch_add(&tallies[kind].answers, 1);
	atomic_fetch_add(&tallies[ANY].answers, 1);
}

static void count_lie(enum kind kind)
{
	atomic_fetch_add(&tallies[kind].lies, 1);
	if (!atomic_exchange(&lied_about[kind], true))
		atomic_fetch_add(&tallies[kind].runs, 1);
}

/*
 * Whether the answer of KIND to QUESTION is to be falsified, by *RET_CHANCE then. A question that
 * is repeated gets another answer.
 */
static bool is_lie(enum kind kind, uint64_t question, uint64_t *ret_chance)
{
	uint64_t key = mix(seed ^ mix(question ^ (uint64_t)kind << 56));
	uint64_t chance;

	if (!is_armed)
		return false;
	chance = mix(key + atomic_fetch_add(&times_asked[key % ARRAY_SIZE(times_asked)], 1));
	count_answer(kind);
	if (!odds[kind] || below(&chance, odds[kind]))
		return false;
	count_lie(kind);
	count_lie(ANY);
	*ret_chance = is_stubborn[kind] ? mix(seed ^ mix(~kind)) : chance;
	return true;
}

/* -- the answers of ioctls -- */

/* As many extents as there is room for, all of them sound. */
static void fill_extents(struct fiemap *answer, uint32_t count)
{
	struct fiemap_extent *extents = answer->fm_extents;

	for (; count && count < answer->fm_extent_count; count++) {
		extents[count] = extents[count - 1];
		extents[count].fe_logical += extents[count].fe_length;
		extents[count].fe_length = 4096;
		extents[count].fe_flags &= ~FIEMAP_EXTENT_LAST;
	}
	answer->fm_mapped_extents = answer->fm_extent_count;
}

static void falsify_fiemap(uint64_t *chance, struct fiemap *answer)
{
	struct fiemap_extent *extents = answer->fm_extents;
	uint32_t room = answer->fm_extent_count;
	uint32_t count = answer->fm_mapped_extents < room ? answer->fm_mapped_extents : room;
	struct fiemap_extent *one = count ? &extents[below(chance, count)] : NULL;
	struct fiemap_extent *other = count ? &extents[below(chance, count)] : NULL;
	struct fiemap_extent saved;

	switch (below(chance, one ? 10 : 2)) {
	case 0:
		fill_extents(answer, count);
		answer->fm_mapped_extents = odd_number(chance, room);
		return;
	case 1:
		answer->fm_mapped_extents = count ? below(chance, count) : room;
		return;
	case 2:
		saved = *one;
		*one = *other;
		*other = saved;
		return;
	case 3:
		one->fe_length = odd_number(chance, one->fe_length);
		return;
	case 4:
		one->fe_logical = odd_number(chance, one->fe_logical);
		return;
	case 5:
		one->fe_physical = odd_number(chance, one->fe_physical);
		return;
	case 6:
		one->fe_flags = draw(chance);
		return;
	case 7:
		fill_extents(answer, count);
		return;
	case 8:
		/* an answer without an end, or with one too many */
		one->fe_flags ^= FIEMAP_EXTENT_LAST;
		extents[count - 1].fe_flags &= ~FIEMAP_EXTENT_LAST;
		return;
	default:
		flip_bits(chance, extents, count * sizeof(*extents));
	}
}

/* The items of an answer: where one of them is, and the last one, and what they take. */
struct items {
	char *one;
	char *last;
	size_t used;
};

static struct items find_items(uint64_t *chance, char *bytes, size_t size, uint32_t count)
{
	struct btrfs_ioctl_search_header header;
	uint64_t wanted = count ? below(chance, count) : 0;
	struct items items = { 0 };

	for (uint32_t i = 0; i < count && size - items.used >= sizeof(header); i++) {
		memcpy(&header, bytes + items.used, sizeof(header));
		if (header.len > size - items.used - sizeof(header))
			break;
		items.last = bytes + items.used;
		if (i == wanted)
			items.one = items.last;
		items.used += sizeof(header) + header.len;
	}
	return items;
}

/* Repeats the last item up to the end of the buffer, where one is cut. Returns how many. */
static uint32_t fill_items(const struct items *items, char *bytes, size_t size)
{
	struct btrfs_ioctl_search_header header;
	size_t used = items->used;
	uint32_t count = 0;

	memcpy(&header, items->last, sizeof(header));
	while (size - used >= sizeof(header)) {
		size_t room = size - used - sizeof(header);

		header.offset += 4096;
		memcpy(bytes + used, &header, sizeof(header));
		used += sizeof(header);
		memcpy(bytes + used, items->last + sizeof(header),
		       header.len < room ? header.len : room);
		used += header.len < room ? header.len : room;
		count++;
	}
	return count;
}

static void falsify_items(uint64_t *chance, uint32_t *item_count, char *bytes, size_t size)
{
	struct btrfs_ioctl_search_header header;
	struct items items = find_items(chance, bytes, size, *item_count);
	char *item = items.one;

	if (!item || !below(chance, 5)) {
		*item_count = odd_number(chance, *item_count);
		return;
	}
	if (!below(chance, 5)) {
		*item_count += fill_items(&items, bytes, size);
		return;
	}
	memcpy(&header, item, sizeof(header));
	switch (below(chance, 7)) {
	case 0:
		header.len = odd_number(chance, header.len);
		break;
	case 1:
		header.objectid = odd_number(chance, header.objectid);
		break;
	case 2:
		header.offset = odd_number(chance, header.offset);
		break;
	case 3:
		header.type = draw(chance);
		break;
	case 4:
		header.transid = odd_number(chance, header.transid);
		break;
	case 5:
		flip_bits(chance, item + sizeof(header), header.len);
		return;
	default:
		flip_bits(chance, bytes, items.used);
		return;
	}
	memcpy(item, &header, sizeof(header));
}

static void falsify_container(uint64_t *chance, uint64_t address, uint64_t size)
{
	struct btrfs_data_container *container = (void *)(uintptr_t)address;
	size_t values = size > sizeof(*container) ? (size - sizeof(*container)) / 8 : 0;
	size_t filled = container->elem_cnt < values ? container->elem_cnt : values;
	__u64 *value;

	switch (below(chance, filled ? 7 : 4)) {
	case 0:
		container->elem_cnt = odd_number(chance, container->elem_cnt);
		return;
	case 1:
		container->elem_missed = odd_number(chance, container->elem_missed);
		return;
	case 2:
		container->bytes_missing = odd_number(chance, container->bytes_missing);
		return;
	case 3:
		container->bytes_left = odd_number(chance, container->bytes_left);
		return;
	case 4:
	case 5:
		value = &container->val[below(chance, filled)];
		*value = odd_number(chance, *value);
		return;
	default:
		flip_bits(chance, container->val, values * 8);
	}
}

/* A name or a path in an array of SIZE bytes. */
static void falsify_text(uint64_t *chance, char *text, size_t size)
{
	static const char *const names[] = { "",
					     ".",
					     "..",
					     "/",
					     "../../etc/passwd",
					     "a\nb\033[2J",
					     "\xff\xfe\xc2\x9b",
					     "a//b/",
					     "\u202etxt" };
	const char *name = names[below(chance, ARRAY_SIZE(names))];

	switch (below(chance, 3)) {
	case 0:
		/* without an end */
		memset(text, 'a', size);
		return;
	case 1:
		memcpy(text, name, strlen(name) + 1);
		return;
	default:
		flip_bits(chance, text, strnlen(text, size));
	}
}

static void falsify_ino_lookup(uint64_t *chance, struct btrfs_ioctl_ino_lookup_args *answer)
{
	if (below(chance, 4))
		falsify_text(chance, answer->name, sizeof(answer->name));
	else
		answer->treeid = odd_number(chance, answer->treeid);
}

static void falsify_fs_info(uint64_t *chance, struct btrfs_ioctl_fs_info_args *answer)
{
	switch (below(chance, 6)) {
	case 0:
		answer->max_id = odd_number(chance, answer->max_id);
		return;
	case 1:
		answer->num_devices = odd_number(chance, answer->num_devices);
		return;
	case 2:
		answer->nodesize = odd_number(chance, answer->nodesize);
		return;
	case 3:
		answer->sectorsize = odd_number(chance, answer->sectorsize);
		return;
	default:
		flip_bits(chance, answer, sizeof(*answer));
	}
}

static enum kind kind_of(unsigned long request)
{
	switch (request) {
	case FS_IOC_FIEMAP:
		return FIEMAP;
	case BTRFS_IOC_TREE_SEARCH:
	case BTRFS_IOC_TREE_SEARCH_V2:
		return TREE_SEARCH;
	case BTRFS_IOC_LOGICAL_INO:
	case BTRFS_IOC_LOGICAL_INO_V2:
		return LOGICAL_INO;
	case BTRFS_IOC_INO_PATHS:
		return INO_PATHS;
	case BTRFS_IOC_INO_LOOKUP:
	case BTRFS_IOC_INO_LOOKUP_USER:
		return INO_LOOKUP;
	case BTRFS_IOC_GET_SUBVOL_INFO:
		return SUBVOL_INFO;
	case FS_IOC_GETFLAGS:
		return INODE_FLAGS;
	case BTRFS_IOC_FS_INFO:
		return FS_INFO;
	default:
		return OTHER_IOCTL;
	}
}

static void falsify_ioctl(uint64_t *chance, unsigned long request, void *argument)
{
	struct btrfs_ioctl_search_args *search = argument;
	struct btrfs_ioctl_search_args_v2 *search_v2 = argument;
	struct btrfs_ioctl_logical_ino_args *logical = argument;
	struct btrfs_ioctl_ino_path_args *paths = argument;
	struct btrfs_ioctl_ino_lookup_user_args *lookup_user = argument;

	switch (request) {
	case FS_IOC_FIEMAP:
		falsify_fiemap(chance, argument);
		return;
	case BTRFS_IOC_TREE_SEARCH:
		falsify_items(chance, &search->key.nr_items, search->buf, sizeof(search->buf));
		return;
	case BTRFS_IOC_TREE_SEARCH_V2:
		falsify_items(chance, &search_v2->key.nr_items, (char *)search_v2->buf,
			      search_v2->buf_size);
		return;
	case BTRFS_IOC_LOGICAL_INO:
	case BTRFS_IOC_LOGICAL_INO_V2:
		falsify_container(chance, logical->inodes, logical->size);
		return;
	case BTRFS_IOC_INO_PATHS:
		falsify_container(chance, paths->fspath, paths->size);
		return;
	case BTRFS_IOC_INO_LOOKUP:
		falsify_ino_lookup(chance, argument);
		return;
	case BTRFS_IOC_INO_LOOKUP_USER:
		falsify_text(chance, below(chance, 2) ? lookup_user->name : lookup_user->path, 256);
		return;
	case FS_IOC_GETFLAGS:
		/* an int, whatever the request's number says */
		*(uint32_t *)argument = below(chance, 2) ? draw(chance) : 1U << below(chance, 32);
		return;
	case BTRFS_IOC_FS_INFO:
		falsify_fs_info(chance, argument);
		return;
	default:
		if (_IOC_DIR(request) & _IOC_READ)
			flip_bits(chance, argument, _IOC_SIZE(request));
	}
}

/* -- the calls -- */

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static ino_t inode_of(int fd)
{
	struct stat status;

	return REAL(fstat)(fd, &status) == 0 ? status.st_ino : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	bool is_ours = _IOC_TYPE(request) == BTRFS_IOCTL_MAGIC || _IOC_TYPE(request) == 'f';
	uint64_t question = request ^ mix(inode_of(fd)), chance, start = 0;
	va_list arguments;
	void *argument;
	int ret;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (!is_ours)
		return REAL(ioctl)(fd, request, argument);
	/* where it starts: a position, a tree, an inode */
	if (_IOC_SIZE(request) >= sizeof(start) && request != FS_IOC_GETFLAGS &&
	    request != FS_IOC_SETFLAGS && kind_of(request) != OTHER_IOCTL)
		memcpy(&start, argument, sizeof(start));
	ret = REAL(ioctl)(fd, request, argument);
	if (!is_lie(kind_of(request), question ^ mix(start), &chance))
		return ret;
	if (ret < 0 || !below(&chance, 4))
		return fail(false_error(&chance));
	falsify_ioctl(&chance, request, argument);
	return ret;
}

static off_t false_position(uint64_t *chance, off_t asked, off_t answer)
{
	const off_t positions[] = {
		asked,	   asked - 1, answer + 1, answer - 1,	      0,
		INT64_MAX, INT64_MIN, -2,	  answer + (1 << 20), draw(chance) >> 1
	};

	return positions[below(chance, ARRAY_SIZE(positions))];
}

off_t lseek(int fd, off_t offset, int whence)
{
	off_t answer = REAL(lseek)(fd, offset, whence);
	uint64_t chance;
	int saved = errno;

	if ((whence != SEEK_DATA && whence != SEEK_HOLE) ||
	    !is_lie(SEEK, mix(offset) ^ whence, &chance)) {
		errno = saved;
		return answer;
	}
	if (!below(&chance, 3))
		return fail(below(&chance, 2) ? ENXIO : false_error(&chance));
	return false_position(&chance, offset, answer);
}

#if SIZEOF_OFF_T == SIZEOF_LONG
/* Where it is larger, the function above has this name already, and so below. */
off64_t lseek64(int fd, off64_t offset, int whence) __attribute__((alias("lseek")));
#endif

static void falsify_status(uint64_t *chance, struct stat *status)
{
	switch (below(chance, 7)) {
	case 0:
	case 1:
		status->st_size = odd_number(chance, status->st_size);
		return;
	case 2:
		status->st_mode = (draw(chance) & S_IFMT) | (status->st_mode & ~S_IFMT);
		return;
	case 3:
		status->st_ino = odd_number(chance, status->st_ino);
		return;
	case 4:
		status->st_dev = odd_number(chance, status->st_dev);
		return;
	case 5:
		status->st_nlink = odd_number(chance, status->st_nlink);
		return;
	default:
		flip_bits(chance, status, sizeof(*status));
	}
}

static int answer_status(int ret, struct stat *status)
{
	uint64_t chance;

	if (ret < 0 || !is_lie(STATUS, status->st_ino, &chance))
		return ret;
	if (!below(&chance, 4))
		return fail(false_error(&chance));
	falsify_status(&chance, status);
	/* What is said to be removed is not removed again, and no command could know better. */
	if (!status->st_nlink)
		status->st_nlink = 1;
	return ret;
}

int fstat(int fd, struct stat *status)
{
	return answer_status(REAL(fstat)(fd, status), status);
}

int stat(const char *path, struct stat *status)
{
	return answer_status(REAL(stat)(path, status), status);
}

int fstatat(int fd, const char *path, struct stat *status, int flags)
{
	return answer_status(REAL(fstatat)(fd, path, status, flags), status);
}

static int answer_statx(int ret, struct statx *status)
{
	uint64_t chance;

	if (ret < 0 || !is_lie(STATUS, mix(status->stx_ino), &chance))
		return ret;
	if (!below(&chance, 3))
		return fail(false_error(&chance));
	flip_bits(&chance, status, sizeof(*status));
	return ret;
}

/* What the program asks of the kernel without a function of the C library */
long syscall(long number, ...)
{
	long a[6], ret;
	va_list arguments;

	va_start(arguments, number);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	ret = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return number == SYS_statx ? answer_statx(ret, (struct statx *)a[4]) : ret;
}

static int answer_statfs(int ret, struct statfs *status)
{
	uint64_t chance;

	if (ret < 0 || !is_lie(STATFS, 0, &chance))
		return ret;
	if (!below(&chance, 3))
		return fail(false_error(&chance));
	flip_bits(&chance, status, sizeof(*status));
	return ret;
}

int fstatfs(int fd, struct statfs *status)
{
	return answer_statfs(REAL(fstatfs)(fd, status), status);
}

int statfs(const char *path, struct statfs *status)
{
	return answer_statfs(REAL(statfs)(path, status), status);
}

/* -- bytes -- */

static enum kind kind_of_file(int fd)
{
	struct statfs filesystem;
	struct stat status;

	if (REAL(fstat)(fd, &status) == 0 && S_ISFIFO(status.st_mode))
		return PIPE;
	if (REAL(fstatfs)(fd, &filesystem) == 0 &&
	    (filesystem.f_type == SYSFS_MAGIC || filesystem.f_type == PROC_SUPER_MAGIC))
		return KERNEL_FILE;
	return OTHER_FILE;
}

/* What was read, SIZE bytes in a buffer of ROOM; returns how many they are said to be. */
static ssize_t falsify_bytes(uint64_t *chance, char *bytes, size_t size, size_t room)
{
	switch (below(chance, 5)) {
	case 0:
		return below(chance, size + 1);
	case 1:
		memset(bytes, draw(chance), room);
		return room;
	case 2:
		memset(bytes, '9', size);
		return size;
	case 3:
		bytes[below(chance, size)] = "\0\n -09x\xff"[below(chance, 8)];
		return size;
	default:
		flip_bits(chance, bytes, size);
		return size;
	}
}

static ssize_t answer_read(ssize_t size, int fd, char *bytes, size_t room)
{
	enum kind kind;
	uint64_t chance;
	int saved = errno;

	if (!is_armed)
		return size;
	kind = kind_of_file(fd);
	errno = saved;
	if (size <= 0 || !is_lie(kind, 0, &chance))
		return size;
	if (!below(&chance, 4))
		return fail(false_error(&chance));
	/* Of a file's data the half at least: byte by byte would be slow, not wrong. */
	if (kind == OTHER_FILE)
		return below(&chance, 2) ? 0 : size - below(&chance, size / 2 + 1);
	return falsify_bytes(&chance, bytes, size, room);
}

ssize_t read(int fd, void *bytes, size_t room)
{
	return answer_read(REAL(read)(fd, bytes, room), fd, bytes, room);
}

ssize_t pread(int fd, void *bytes, size_t room, off_t offset)
{
	return answer_read(REAL(pread)(fd, bytes, room, offset), fd, bytes, room);
}

#if SIZEOF_OFF_T == SIZEOF_LONG
ssize_t pread64(int fd, void *bytes, size_t room, off64_t offset) __attribute__((alias("pread")));
#endif

/* What read() and pread() are where _FORTIFY_SOURCE knows the buffer. */
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room)
{
	return size > room ? fail(EFAULT) : read(fd, bytes, size);
}

ssize_t __pread_chk(int fd, void *bytes, size_t size, off_t offset, size_t room);
ssize_t __pread_chk(int fd, void *bytes, size_t size, off_t offset, size_t room)
{
	return size > room ? fail(EFAULT) : pread(fd, bytes, size, offset);
}

/* What getline() and getdelim() are in their headers. */
ssize_t __getdelim(char **line, size_t *room, int end, FILE *file)
{
	ssize_t size = REAL(__getdelim)(line, room, end, file);
	uint64_t chance;

	if (size <= 0 || !is_armed || kind_of_file(fileno(file)) != KERNEL_FILE ||
	    !is_lie(KERNEL_FILE, 1, &chance))
		return size;
	size = falsify_bytes(&chance, *line, size, size);
	(*line)[size] = '\0';
	return size;
}

ssize_t getline(char **line, size_t *room, FILE *file)
{
	return __getdelim(line, room, '\n', file);
}

int uname(struct utsname *answer)
{
	int ret = REAL(uname)(answer);
	uint64_t chance;

	if (ret < 0 || !is_lie(RELEASE, 0, &chance))
		return ret;
	falsify_text(&chance, answer->release, sizeof(answer->release));
	answer->release[sizeof(answer->release) - 1] = '\0';
	return ret;
}

/* An entry has room for a name of NAME_MAX bytes, whatever its own says. */
struct dirent *readdir(DIR *directory)
{
	static _Thread_local struct dirent lie;
	struct dirent *entry = REAL(readdir)(directory);
	uint64_t chance;

	if (!entry || !is_lie(DIRECTORY, entry->d_ino, &chance))
		return entry;
	memset(&lie, 0, sizeof(lie));
	memcpy(&lie, entry, entry->d_reclen < sizeof(lie) ? entry->d_reclen : sizeof(lie));
	switch (below(&chance, 4)) {
	case 0:
		errno = false_error(&chance);
		return NULL;
	case 1:
		lie.d_type = draw(&chance);
		return &lie;
	case 2:
		lie.d_type = DT_UNKNOWN;
		return &lie;
	default:
		falsify_text(&chance, lie.d_name, sizeof(lie.d_name));
		lie.d_name[NAME_MAX] = '\0';
		return &lie;
	}
}

#if SIZEOF_OFF_T == SIZEOF_LONG
struct dirent64 *readdir64(DIR *directory) __attribute__((alias("readdir")));
#endif
