// SPDX-License-Identifier: GPL-2.0-only
/* An input is what the module manager prints. */
#include "config.h"

#include <string.h>

#include "fuzz.h"
#include "probe/module-state.h"
#include "sys/cleanup.h"

static bool is_field(const char *field)
{
	return *field && !strpbrk(field, "\t\n");
}

static void check_kernel(const struct module_kernels *kernels, const struct module_kernel *kernel)
{
	INVARIANT(is_field(kernel->release));
	INVARIANT(!kernel->version || is_field(kernel->version));
	INVARIANT(!kernel->reason || is_field(kernel->reason));
	/* It is there once. */
	INVARIANT(module_kernels_find(kernels, kernel->release) == kernel);
}

static size_t write_kernel(char *text, const struct module_kernel *kernel)
{
	return sprintf(text, "kernel\t%s\t%s\t%s\t%s\n", kernel->release,
		       module_state_name(kernel->state), kernel->version ? kernel->version : "-",
		       kernel->reason ? kernel->reason : "");
}

static bool same_text(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static const char *enabled_word(const struct module_kernels *kernels)
{
	if (!kernels->is_enabled)
		return "no";
	return kernels->is_enabled_for_all ? "yes" : "some";
}

/* What was parsed, written again and parsed again, is the same. */
static void check_again(const struct module_kernels *kernels, size_t size)
{
	/* A line becomes no longer. */
	CLEANUP_FREE char *text = fuzz_allocate(size + 1);
	struct module_kernels again;
	size_t length;

	length = sprintf(text, "enabled\t%s\n", enabled_word(kernels));
	for (size_t i = 0; i < kernels->count; i++)
		length += write_kernel(text + length, &kernels->list[i]);
	INVARIANT(length == size);
	INVARIANT(module_kernels_parse(text, length, &again) == 0);
	INVARIANT(again.is_enabled == kernels->is_enabled);
	INVARIANT(again.is_enabled_for_all == kernels->is_enabled_for_all);
	INVARIANT(again.count == kernels->count);
	for (size_t i = 0; i < again.count; i++) {
		INVARIANT(same_text(again.list[i].release, kernels->list[i].release));
		INVARIANT(again.list[i].state == kernels->list[i].state);
		INVARIANT(same_text(again.list[i].version, kernels->list[i].version));
		INVARIANT(same_text(again.list[i].reason, kernels->list[i].reason));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_copy(data, size);
	struct module_kernels kernels;

	if (module_kernels_parse(text, size, &kernels) < 0)
		return 0;
	INVARIANT(kernels.count <= MODULE_KERNELS_MAX);
	for (size_t i = 0; i < kernels.count; i++)
		check_kernel(&kernels, &kernels.list[i]);
	check_again(&kernels, size);
	return 0;
}
