// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>

#include "seek-map.h"
#include "seek/seek-iter.h"
#include "ui/exit-status.h"
#include "ui/progress.h"

#define BYTES_PER_PROGRESS (UINT64_C(64) << 20)

struct check {
	struct seek_details *details;
	uint64_t found;
};

/* -- lseek against FIEMAP -- */

static bool agrees(const struct seek_part *part)
{
	return extent_kind_is_data(part->kind) == part->is_data;
}

/* Gives PART each part of RANGE; ITER must not be in use. */
static int walk_both_maps(const struct seek_details *details, struct byte_range range,
			  struct fiemap_iter *iter, part_function *part, void *data)
{
	struct seek_segment segment;
	uint64_t segment_count = 0;
	struct kind_walk kinds;
	struct seek_iter seek;
	int ret;

	ret = kind_walk_start(&kinds, iter, details->fd, range);
	if (ret < 0)
		return ret;
	seek_iter_start(&seek, details->fd, range, details->size);
	while ((ret = seek_iter_next(&seek, &segment)) > 0) {
		seek_map_show_progress(details, ++segment_count);
		ret = seek_map_split_segment(&kinds, &segment, part, data);
		if (ret < 0)
			break;
	}
	return ret;
}

static int report_disagreement(void *data, const struct seek_part *part)
{
	struct check *check = data;
	struct seek_report *report = check->details->report;

	if (agrees(part))
		return 0;
	check->found++;
	seek_report_disagreement(report, part);
	return 0;
}

/* The file may have changed between the two answers, so both are asked for once more. */
static int compare_part(void *data, const struct seek_part *part)
{
	struct check *check = data;

	if (agrees(part))
		return 0;
	return walk_both_maps(check->details, (struct byte_range){ part->offset, part->length },
			      check->details->scan->second_iter, report_disagreement, check);
}

static int compare_maps(struct check *check)
{
	return walk_both_maps(check->details, check->details->range, check->details->scan->iter,
			      compare_part, check);
}

/* -- what holes read as -- */

/*
 * Looks again at OFFSET, in a hole up to END and not zero. Returns 1 if it is so still; 0 if the
 * file changed, with where to read on: after what is data by now; or a negative errno.
 */
static int look_again(const struct seek_details *details, uint64_t offset, uint64_t end,
		      uint64_t *ret_next)
{
	const struct byte_range rest = { offset, end - offset };
	struct seek_segment segment;
	struct seek_iter iter;
	uint64_t other;
	int ret;

	seek_iter_start(&iter, details->fd, rest, details->size);
	ret = seek_iter_next(&iter, &segment);
	if (ret < 0)
		return ret;
	if (!ret) {
		/* the file ends before it */
		*ret_next = end;
		return 0;
	}
	*ret_next = segment.is_data ? segment.offset + segment.length : offset + 1;
	if (segment.is_data)
		return 0;
	return find_nonzero(details->fd, (struct byte_range){ offset, 1 }, &other);
}

static void warn_of_lost_end(struct seek_details *details)
{
	if (details->changed)
		return;
	details->changed = true;
	seek_map_warn_if_changed(details);
}

/* Reports the first byte that is not zero. Reads piece by piece, since a hole may take hours. */
static int read_hole(struct check *check, const struct seek_segment *hole)
{
	struct seek_details *details = check->details;
	uint64_t end = hole->offset + hole->length;
	uint64_t offset = hole->offset;

	while (offset < end) {
		uint64_t length = end - offset;
		uint64_t other;
		int ret;

		if (length > BYTES_PER_PROGRESS)
			length = BYTES_PER_PROGRESS;
		ret = find_nonzero(details->fd, (struct byte_range){ offset, length }, &other);
		offset += length;
		if (ret == 0 && other < offset) {
			warn_of_lost_end(details);
			return 0;
		}
		if (ret > 0)
			ret = look_again(details, other, end, &offset);
		if (ret < 0)
			return ret;
		if (ret > 0) {
			check->found++;
			seek_report_nonzero_hole(details->report, hole, other);
			return 0;
		}
		if (progress_due())
			progress_show("%" PRIu64 " files, then holes read up to %" PRIu64,
				      details->scan->files.file_count, offset);
	}
	return 0;
}

static int read_holes(struct check *check)
{
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	seek_map_start_walk(check->details, &iter);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		if (segment.is_data)
			continue;
		ret = read_hole(check, &segment);
		if (ret < 0)
			break;
	}
	return ret;
}

/* -- the checks -- */

static const char *const check_keys[CHECK_KIND_COUNT] = {
	[CHECK_MAPS] = "disagreements",
	[CHECK_HOLES] = "nonzero_holes",
};

static int run_check(struct seek_details *details, enum check_kind kind)
{
	static int (*const functions[CHECK_KIND_COUNT])(struct check * check) = {
		[CHECK_MAPS] = compare_maps,
		[CHECK_HOLES] = read_holes,
	};
	struct seek_report *report = details->report;
	struct seek_scan *scan = details->scan;
	struct check check = { .details = details };
	int ret;

	json_begin_array(&scan->files.out.json, check_keys[kind]);
	ret = functions[kind](&check);
	seek_report_end_check(report, kind, ret == 0 && !check.found);

	if (check.found)
		scan->arguments->global->finding = kind == CHECK_MAPS ?
							   "lseek and FIEMAP disagree" :
							   "a hole is not zero";
	/* An error outweighs it: not everything was checked then. */
	if (check.found && scan->files.status == STATUS_OK)
		scan->files.status = STATUS_CHECK_FAILED;
	return ret;
}

int seek_map_report_check(struct seek_details *details)
{
	const struct seek_options *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.out.json;
	int ret = 0;

	if (arguments->check)
		ret = run_check(details, CHECK_MAPS);
	else
		json_add_null(json, check_keys[CHECK_MAPS]);

	if (arguments->check_data && ret == 0)
		ret = run_check(details, CHECK_HOLES);
	else
		json_add_null(json, check_keys[CHECK_HOLES]);
	return ret;
}
