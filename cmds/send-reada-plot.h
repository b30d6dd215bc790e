/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_PLOT_H
#define FASTPATH_SEND_READA_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"
#include "ui/plot.h"

#define SEND_PLOT_POINTS_MAX 1024

/* What was sent and read until a moment. */
struct send_plot_point {
	uint64_t elapsed_ns;
	/* bytes of the stream, or commands if it has no data */
	uint64_t sent;
	/* as in struct device_stats */
	uint64_t read_ns;
};

/* The rate of a stream or of its commands, and the reads in flight, over time; in constant memory. */
struct send_plot {
	struct plot plot;
	/* else the rate of its bytes would look like that of a real stream, and is far from it */
	bool with_data;
	uint8_t fsid[FSID_SIZE];
	/* sysfs has the statistics of the devices */
	bool devices_known;
	uint64_t interval_ns;
	struct send_plot_point points[SEND_PLOT_POINTS_MAX];
	size_t point_count;
};

/* Begin a pass that reads from the devices of the file system FSID. */
void send_plot_begin(struct send_plot *plot, const uint8_t fsid[FSID_SIZE]);

/* Add a point, if it is due. */
void send_plot_add(struct send_plot *plot, uint64_t elapsed_ns, uint64_t sent);

/* Add the last point. */
void send_plot_end(struct send_plot *plot, uint64_t elapsed_ns, uint64_t sent);

/*
 * Draw the pass over SUBVOLUME, if a plot is open and the pass has come to its end. Returns 0, or -1
 * after printing an error.
 */
int send_plot_finish(struct send_plot *plot, const char *subvolume, bool complete);

#endif
