// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "probe/loaded-module.h"
#include "test.h"

#define OURS "6.1.192-2+fastpath0.2"

static char root[32];
static struct loaded_module loaded;

/* An empty folder in the place of /, with those of the module. */
static int make_root(void **state)
{
	static const char *const folders[] = { "/sys", "/sys/module", "/sys/module/btrfs" };
	char path[64];

	(void)state;
	strcpy(root, "/tmp/test-loaded-module-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, const char *text)
{
	char path[96];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/sys/module/btrfs/%s", root, name);
	stream = fopen(path, "we");
	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

TEST_WITH(test_none, make_root, remove_root)
{
	loaded_module_read("/nonexistent", &loaded);
	assert_false(loaded.is_loaded);
	assert_string_equal(loaded.version, "");
	/* built in */
	write_file("version", OURS "\n");
	loaded_module_read(root, &loaded);
	assert_false(loaded.is_loaded);
	assert_string_equal(loaded.version, "");
}

TEST_WITH(test_loaded, make_root, remove_root)
{
	write_file("initstate", "live\n");
	loaded_module_read(root, &loaded);
	assert_true(loaded.is_loaded);
	assert_string_equal(loaded.version, "");
	write_file("version", OURS "\n");
	loaded_module_read(root, &loaded);
	assert_true(loaded.is_loaded);
	assert_string_equal(loaded.version, OURS);
}

TEST_WITH(test_odd_versions, make_root, remove_root)
{
	char text[MODULE_VERSION_SIZE + 64];

	write_file("initstate", "live\n");
	write_file("version", "no end");
	loaded_module_read(root, &loaded);
	assert_string_equal(loaded.version, "no end");
	write_file("version", "1\n2\n");
	loaded_module_read(root, &loaded);
	assert_string_equal(loaded.version, "1");
	snprintf(text, sizeof(text), "%0*d\n", MODULE_VERSION_SIZE + 32, 0);
	write_file("version", text);
	loaded_module_read(root, &loaded);
	assert_int_equal(strlen(loaded.version), MODULE_VERSION_SIZE - 1);
}

TEST(test_needs_reboot)
{
	static const struct {
		bool is_loaded;
		const char *loaded;
		enum module_state state;
		const char *version;
		bool needs_reboot;
	} cases[] = {
		{ true, OURS, MODULE_ACTIVE, OURS, false },
		{ true, OURS, MODULE_ACTIVE, NULL, false },
		{ true, OURS, MODULE_ACTIVE, "another", true },
		{ true, "", MODULE_ACTIVE, OURS, true },
		{ true, "", MODULE_ACTIVE, NULL, true },
		{ true, OURS, MODULE_READY, OURS, true },
		{ true, OURS, MODULE_REFUSED, OURS, true },
		{ true, OURS, MODULE_STOCK, NULL, true },
		{ true, "", MODULE_READY, OURS, false },
		{ true, "", MODULE_REFUSED, OURS, false },
		{ true, "", MODULE_STOCK, NULL, false },
		/* What is loaded next is what shall be. */
		{ false, "", MODULE_ACTIVE, OURS, false },
		{ false, "", MODULE_STOCK, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct module_kernel kernel = {
			.state = cases[i].state,
			.version = cases[i].version,
		};

		loaded.is_loaded = cases[i].is_loaded;
		strcpy(loaded.version, cases[i].loaded);
		assert_int_equal(loaded_module_needs_reboot(&loaded, &kernel),
				 cases[i].needs_reboot);
	}
}
