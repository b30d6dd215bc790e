// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "path/trusted-file.h"
#include "probe/module-state.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"

/* More than as many lines as are taken can have: output that was cut is refused for that. */
#define OUTPUT_MAX ((MODULE_KERNELS_MAX + 2) * (MODULE_LINE_MAX + 1))

static const char *const state_names[] = {
	[MODULE_STOCK] = "stock",
	[MODULE_READY] = "ready",
	[MODULE_REFUSED] = "refused",
	[MODULE_ACTIVE] = "active",
};
#define STATE_COUNT (sizeof(state_names) / sizeof(state_names[0]))

const char *module_state_name(enum module_state state)
{
	return state_names[state];
}

static int parse_state(const char *name, enum module_state *ret_state)
{
	for (size_t i = 0; i < STATE_COUNT; i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*ret_state = i;
			return 0;
		}
	}
	return -EPROTO;
}

/* The fields of a line after its first word. */
enum { FIELD_RELEASE, FIELD_STATE, FIELD_VERSION, FIELD_REASON, FIELD_COUNT };

/* Splits LINE, which can be NULL, at its tabs. Returns 0, or -EPROTO without COUNT fields. */
static int split(char *line, char *ret_fields[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_fields[i] = strsep(&line, "\t");
	return ret_fields[count - 1] && !line ? 0 : -EPROTO;
}

static int parse_kernel(char *line, struct module_kernels *kernels)
{
	struct module_kernel *kernel = &kernels->list[kernels->count];
	char *fields[FIELD_COUNT];

	if (kernels->count == MODULE_KERNELS_MAX || split(line, fields, FIELD_COUNT) < 0)
		return -EPROTO;
	if (!*fields[FIELD_RELEASE] || !*fields[FIELD_VERSION] ||
	    parse_state(fields[FIELD_STATE], &kernel->state) < 0)
		return -EPROTO;
	if (module_kernels_find(kernels, fields[FIELD_RELEASE]))
		return -EPROTO;
	kernel->release = fields[FIELD_RELEASE];
	kernel->version = strcmp(fields[FIELD_VERSION], "-") == 0 ? NULL : fields[FIELD_VERSION];
	kernel->reason = *fields[FIELD_REASON] ? fields[FIELD_REASON] : NULL;
	kernels->count++;
	return 0;
}

static int parse_enabled(char *line, struct module_kernels *kernels)
{
	char *word;

	if (split(line, &word, 1) < 0)
		return -EPROTO;
	kernels->is_enabled_for_all = strcmp(word, "yes") == 0;
	kernels->is_enabled = kernels->is_enabled_for_all || strcmp(word, "some") == 0;
	return kernels->is_enabled || strcmp(word, "no") == 0 ? 0 : -EPROTO;
}

/* What was found so far. */
struct parser {
	struct module_kernels kernels;
	bool has_enabled;
};

static int parse_line(char *line, struct parser *parser)
{
	const char *word = strsep(&line, "\t");

	if (strcmp(word, "kernel") == 0)
		return parse_kernel(line, &parser->kernels);
	if (strcmp(word, "enabled") != 0 || parser->has_enabled)
		return -EPROTO;
	parser->has_enabled = true;
	return parse_enabled(line, &parser->kernels);
}

int module_kernels_parse(char *text, size_t size, struct module_kernels *ret_kernels)
{
	struct parser parser = { 0 };
	char *end = text + size;

	if (memchr(text, '\0', size))
		return -EPROTO;
	while (text < end) {
		char *newline = memchr(text, '\n', end - text);

		if (!newline || newline - text > MODULE_LINE_MAX)
			return -EPROTO;
		*newline = '\0';
		if (parse_line(text, &parser) < 0)
			return -EPROTO;
		text = newline + 1;
	}
	if (!parser.has_enabled)
		return -EPROTO;

	*ret_kernels = parser.kernels;
	return 0;
}

/* Returns 0 with what it prints, cut to OUTPUT_MAX bytes; then it may have failed for that. */
static int run_manager(const char *manager, char *text, size_t *ret_length)
{
	char *const argv[] = { (char *)manager, (char *)"status", NULL };
	int wait_status, ret;

	ret = trusted_program_check(manager);
	if (ret < 0)
		return ret;
	ret = child_run_output(manager, argv, text, OUTPUT_MAX, ret_length, &wait_status);
	if (ret < 0 || *ret_length == OUTPUT_MAX)
		return ret;
	return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 ? 0 : -EIO;
}

int module_kernels_read(const char *manager, struct module_kernels *ret_kernels)
{
	CLEANUP_FREE char *text = malloc(OUTPUT_MAX);
	size_t length;
	int ret;

	if (!text)
		return -ENOMEM;
	ret = run_manager(manager, text, &length);
	if (ret < 0)
		return ret;
	ret = module_kernels_parse(text, length, ret_kernels);
	if (ret < 0)
		return ret;
	ret_kernels->text = text;
	text = NULL;
	return 0;
}

void module_kernels_free(struct module_kernels *kernels)
{
	free(kernels->text);
	kernels->text = NULL;
}

const struct module_kernel *module_kernels_find(const struct module_kernels *kernels,
						const char *release)
{
	for (size_t i = 0; i < kernels->count; i++)
		if (strcmp(kernels->list[i].release, release) == 0)
			return &kernels->list[i];
	return NULL;
}
