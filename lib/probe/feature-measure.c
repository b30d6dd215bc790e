// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "num/saturating.h"
#include "probe/feature-measure.h"
#include "probe/probe-folder.h"
#include "probe/probe-image.h"
#include "sys/min-cpu-time.h"

/* A tick is 1 ms at least. */
#define COARSEST_STEP_NS 100000

/* The bounds are for what was measured; btrfs-fastpath-status(8) has the figures. */
const struct feature_probe feature_probes[FEATURE_COUNT] = {
	[FEATURE_FIEMAP_LEAF] = {
		.run = probe_fiemap_leaf,
		.unit = "ns",
		.what = "whether extents are shared, against mapping them",
		.present_below = 400,
		.absent_above = 800,
	},
	[FEATURE_SEEK_CACHE] = {
		.run = probe_seek_cache,
		.unit = "ns",
		.what = "seeks before and after holes were read, slower against faster",
		.present_below = 200,
		.absent_above = 400,
		.run_improved = probe_seek_cache_improved,
		.what_improved = "seeks among 128 pieces of dirty data, against 32",
		.improved_below = 200,
	},
	[FEATURE_LOG_DIR] = {
		.run = probe_log_dir,
		.unit = "ns",
		.what = "the last fsyncs of a growing directory, against the first",
		.present_below = 300,
		.absent_above = 500,
	},
	[FEATURE_SEND_READA] = {
		.run_on_image = probe_send_reada,
		.unit = "bytes",
		.what = "reads after a leaf in memory, against reads elsewhere",
		.present_below = 20,
		.absent_above = 30,
	},
	[FEATURE_NOCOW_CSUM] = {
		.run_on_image = probe_nocow_csum,
		.unit = "ns",
		.what = "whether 32 MiB have checksums, against 64 KiB",
		.present_below = 150,
		.absent_above = 200,
	},
};

bool feature_clock_is_fine(void)
{
	return min_cpu_time_step() <= COARSEST_STEP_NS;
}

bool feature_probe_needs_root(const struct feature_probe *probe)
{
	return probe->run_on_image;
}

static int run_in_directory(const struct feature_probe *probe, int directory_fd,
			    struct interrupts *interrupts, struct feature_costs *ret_costs)
{
	struct feature_costs costs = { 0 };
	int ret;

	ret = probe->run(directory_fd, interrupts, &costs.feature);
	if (ret == 0 && probe->run_improved &&
	    feature_cost_judge(probe, &costs.feature) == FEATURE_PRESENT)
		ret = probe->run_improved(directory_fd, interrupts, &costs.improvement);
	if (ret == 0)
		*ret_costs = costs;
	return ret;
}

static int run_on_image(const struct feature_probe *probe, int directory_fd,
			struct interrupts *interrupts, struct feature_costs *ret_costs,
			struct probe_failure *failure)
{
	struct probe_image image;
	int ret;

	ret = probe_image_new(directory_fd, failure, &image);
	if (ret < 0)
		/* A signal from the terminal ends mkfs.btrfs, too. */
		return probe_interrupted(interrupts) < 0 ? -EINTR : ret;
	ret = probe_interrupted(interrupts);
	if (ret == 0)
		ret = probe_image_mount(&image);
	if (ret == 0)
		ret = probe->run ? run_in_directory(probe, image.root_fd, interrupts, ret_costs) :
				   probe->run_on_image(&image, interrupts, &ret_costs->feature);
	probe_image_free(&image);
	return ret;
}

static int run_in_folder(const struct feature_probe *probe, int directory_fd,
			 struct interrupts *interrupts, struct feature_costs *ret_costs,
			 struct probe_failure *failure)
{
	struct probe_folder folder;
	int ret, removed;

	ret = probe_folder_new(directory_fd, &folder);
	if (ret < 0) {
		failure->step = "cannot make a folder";
		return ret;
	}
	ret = run_in_directory(probe, folder.fd, interrupts, ret_costs);
	removed = probe_folder_remove(&folder);
	if (ret < 0 || removed == 0)
		return ret;
	failure->step = "cannot remove the temporary folder";
	return removed;
}

/* Not so where the disk is full or read-only. */
static bool has_no_images(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENODEV || err == -ENOSYS ||
	       err == -ENOPKG;
}

static int run_as_root(const struct feature_probe *probe, int directory_fd,
		       struct interrupts *interrupts, struct feature_costs *ret_costs,
		       struct probe_failure *failure)
{
	int ret = run_on_image(probe, directory_fd, interrupts, ret_costs, failure);

	if (!has_no_images(ret) || !probe->run || !probe_folder_is_safe_in(directory_fd))
		return ret;
	*failure = (struct probe_failure){ 0 };
	return run_in_folder(probe, directory_fd, interrupts, ret_costs, failure);
}

int feature_measure(const struct feature_probe *probe, int directory_fd,
		    struct interrupts *interrupts, struct feature_costs *ret_costs,
		    struct probe_failure *ret_failure)
{
	struct probe_failure failure = { 0 };
	struct feature_costs costs = { 0 };
	int ret;

	if (geteuid() == 0)
		ret = run_as_root(probe, directory_fd, interrupts, &costs, &failure);
	else if (probe->run)
		ret = run_in_folder(probe, directory_fd, interrupts, &costs, &failure);
	else
		ret = -EPERM;
	if (ret < 0)
		*ret_failure = failure;
	else
		*ret_costs = costs;
	return ret;
}

uint64_t feature_cost_percent(const struct feature_cost *cost)
{
	return cost->reference ? mul_div(cost->cost, 100, cost->reference) : 0;
}

enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost)
{
	uint64_t percent = feature_cost_percent(cost);

	if (!cost->reference)
		return FEATURE_UNKNOWN;
	if (percent < probe->present_below)
		return FEATURE_PRESENT;
	return percent > probe->absent_above ? FEATURE_ABSENT : FEATURE_UNKNOWN;
}

enum feature_state feature_costs_judge(const struct feature_probe *probe,
				       const struct feature_costs *costs)
{
	enum feature_state state = feature_cost_judge(probe, &costs->feature);

	if (state != FEATURE_PRESENT || !costs->improvement.reference)
		return state;
	return feature_cost_percent(&costs->improvement) < probe->improved_below ?
		       FEATURE_IMPROVED :
		       FEATURE_PRESENT;
}
