// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/feature-status.h"
#include "sys/cleanup.h"

void feature_status_of_release(const char *release,
			       struct feature_status ret_statuses[FEATURE_COUNT])
{
	struct kernel_release parsed;
	bool known = kernel_release_parse(release, &parsed) == 0;

	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		ret_statuses[i] = (struct feature_status){ 0 };
		if (!known)
			continue;
		ret_statuses[i].evidence = FEATURE_BY_RELEASE;
		ret_statuses[i].state = kernel_release_compare(parsed, features[i].since) < 0 ?
						FEATURE_ABSENT :
						FEATURE_PRESENT;
	}
}

/* Returns a descriptor or a negative errno. */
static int open_below(const char *root, const char *name)
{
	CLEANUP_FREE char *path = NULL;
	int fd;

	if (asprintf(&path, "%s%s", root ? root : "", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of several symbols of a feature the one that tells the most counts. */
static void add_symbol(struct feature_status *status, const struct feature_symbol *symbol)
{
	if (status->evidence == FEATURE_BY_SYMBOL && status->state > symbol->state)
		return;
	*status = (struct feature_status){ symbol->state, FEATURE_BY_SYMBOL, symbol->name };
}

/* Symbols are many: they pass line by line. */
static void read_symbols(const char *root, struct feature_status *statuses)
{
	CLEANUP_FREE char *line = NULL;
	int fd = open_below(root, "/proc/kallsyms");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	size_t room = 0;
	ssize_t size;

	if (!file) {
		close_fd(&fd);
		return;
	}
	while ((size = getline(&line, &room, file)) > 0) {
		const struct feature_symbol *symbol = feature_symbol_parse(line, size);

		if (symbol)
			add_symbol(&statuses[symbol->feature], symbol);
	}
	fclose(file);
}

/* The list names every feature of the package that the kernel has, and so tells which it lacks. */
static void read_list(const char *root, struct feature_status *statuses)
{
	CLEANUP_CLOSE int fd = open_below(root, "/sys/fs/btrfs/features/fastpath");
	/* sysfs gives at most a page */
	char text[4096];
	enum feature_state states[FEATURE_COUNT];
	ssize_t size;

	size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (size < 0)
		return;
	feature_list_parse(text, size, states);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		statuses[i] = (struct feature_status){ states[i], FEATURE_BY_LIST, NULL };
}

void feature_status_read(const char *root, const char *release,
			 struct feature_status ret_statuses[FEATURE_COUNT])
{
	feature_status_of_release(release, ret_statuses);
	read_symbols(root, ret_statuses);
	read_list(root, ret_statuses);
}

bool feature_status_measured(struct feature_status *status, enum feature_state state)
{
	if (state == FEATURE_UNKNOWN)
		return false;
	if (status->evidence > FEATURE_BY_MEASURE)
		return feature_state_is_present(status->state) != feature_state_is_present(state);
	*status = (struct feature_status){ .state = state, .evidence = FEATURE_BY_MEASURE };
	return false;
}
