// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "fiemap-shared-groups.h"
#include "sharing/sharing-groups.h"
#include "sys/cleanup.h"
#include "ui/message.h"

/* JSON has all paths. */
#define PATHS_SHOWN 3

bool fiemap_shared_find_groups(struct sharing_scan *scan)
{
	int ret = sharing_groups_find(scan->groups);

	if (ret < 0)
		fiemap_shared_complain_of_sort(scan, "the references to shared extents",
					       sharing_groups_failed_in(scan->groups), ret);
	return ret == 0;
}

struct group_row {
	uint64_t bytes;
	uint64_t file_count;
	const char *paths;
};

#define GROUP(member) offsetof(struct group_row, member)

static const struct field group_fields[] = {
	{ GROUP(bytes), FIELD_SIZE, .key = "shared_bytes", .title = "Shared",
	  .help = "Data on disk to which several of them refer, each byte once." },
	{ GROUP(file_count), FIELD_NUMBER, .key = "file_count", .title = "Files",
	  .help = "The number of files." },
	{ GROUP(paths), FIELD_TEXT, .title = "Paths" },
	{ 0 },
};

/* The path of NODE, valid until the next call, or NULL. */
static const char *path_of(struct path_text *text, const struct path_node *node)
{
	return path_text_of(text, path_node_directory(node), path_node_name(node));
}

/* The first paths, for text. The caller frees it; NULL without memory. */
static char *paths_shown(const struct sharing_group *group, struct path_text *text)
{
	char *shown = NULL;
	size_t size;
	FILE *stream = open_memstream(&shown, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < group->file_count && i < PATHS_SHOWN; i++) {
		CLEANUP_QUOTED_NAME const char *quoted =
			quoted_name(path_of(text, group->paths[i]));

		fprintf(stream, "%s%s", i ? " " : "", quoted);
	}
	if (group->file_count > PATHS_SHOWN)
		fprintf(stream, " and %zu more", group->file_count - PATHS_SHOWN);
	if (fclose(stream) == 0)
		return shown;
	free(shown);
	return NULL;
}

struct group_paths {
	const struct sharing_group *group;
	struct path_text *text;
};

static const char *path_in_group(void *data, size_t index)
{
	const struct group_paths *paths = data;

	return path_of(paths->text, paths->group->paths[index]);
}

static int report_group(struct output *out, struct rows *rows, const struct sharing_group *group,
			struct path_text *text)
{
	struct group_row row = { .bytes = group->bytes, .file_count = group->file_count };
	struct group_paths paths = { group, text };
	CLEANUP_FREE char *shown = NULL;

	if (!out->json.stream) {
		shown = paths_shown(group, text);
		row.paths = shown;
		return rows_add(rows, &row);
	}
	json_begin_object(&out->json, NULL);
	record_members(out, group_fields, &row);
	json_add_each_name(&out->json, "paths", group->file_count, path_in_group, &paths);
	json_end_object(&out->json);
	return 0;
}

int fiemap_shared_report_groups(struct sharing_scan *scan, bool known)
{
	CLEANUP(path_text_free) struct path_text text = { 0 };
	struct output *out = &scan->files.out;
	struct rows *rows = NULL;
	int ret = 0, ended;

	if (!known) {
		json_add_null(&out->json, "groups");
		return 0;
	}
	record_say(out, "Groups:%s\n", sharing_groups_count(scan->groups) ? "" : " none");
	json_begin_array(&out->json, "groups");
	if (sharing_groups_count(scan->groups))
		ret = rows_new(&rows, out, NULL, group_fields, 0);
	for (size_t i = 0; ret == 0 && i < sharing_groups_count(scan->groups); i++)
		ret = report_group(out, rows, sharing_groups_get(scan->groups, i), &text);
	ended = rows_end(&rows);
	json_end_array(&out->json);
	return ret < 0 ? ret : ended;
}
