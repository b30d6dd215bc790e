// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fs/device-stats.h"
#include "send-reada-plot.h"
#include "sys/clock.h"

/* Short enough for a send of a second, and long enough to cost nothing. */
#define FIRST_INTERVAL_NS (20 * NANOSECONDS_PER_MILLISECOND)

/* -- the points -- */

/* They count from the start on, so that those between two others may go. */
static void halve(struct send_plot *plot)
{
	for (size_t i = 0; i < SEND_PLOT_POINTS_MAX / 2; i++)
		plot->points[i] = plot->points[2 * i];
	plot->point_count = SEND_PLOT_POINTS_MAX / 2;
	plot->interval_ns *= 2;
}

static void append(struct send_plot *plot, uint64_t elapsed_ns, uint64_t sent)
{
	struct device_stats devices = { 0 };

	if (plot->point_count == SEND_PLOT_POINTS_MAX)
		halve(plot);
	if (device_stats_read(NULL, plot->fsid, &devices) < 0)
		plot->devices_known = false;
	plot->points[plot->point_count++] = (struct send_plot_point){ elapsed_ns, sent,
								      devices.read_ns };
}

void send_plot_begin(struct send_plot *plot, const uint8_t fsid[FSID_SIZE])
{
	memcpy(plot->fsid, fsid, FSID_SIZE);
	plot->devices_known = true;
	plot->interval_ns = FIRST_INTERVAL_NS;
	plot->point_count = 0;
	append(plot, 0, 0);
}

static const struct send_plot_point *last_point(const struct send_plot *plot)
{
	return &plot->points[plot->point_count - 1];
}

void send_plot_add(struct send_plot *plot, uint64_t elapsed_ns, uint64_t sent)
{
	if (elapsed_ns >= last_point(plot)->elapsed_ns + plot->interval_ns)
		append(plot, elapsed_ns, sent);
}

void send_plot_end(struct send_plot *plot, uint64_t elapsed_ns, uint64_t sent)
{
	if (elapsed_ns > last_point(plot)->elapsed_ns)
		append(plot, elapsed_ns, sent);
}

/* -- the picture -- */

/* Start in seconds, what is sent a second, and reads in flight on average. */
static void add_step(FILE *script, double start_ns, const struct send_plot_point *from,
		     const struct send_plot_point *to)
{
	double elapsed_ns = to->elapsed_ns - from->elapsed_ns;

	fprintf(script, "%.3f %.0f %.3f\n", start_ns / NANOSECONDS_PER_SECOND,
		(to->sent - from->sent) / elapsed_ns * NANOSECONDS_PER_SECOND,
		(to->read_ns - from->read_ns) / elapsed_ns);
}

/* A step lasts until the next one begins, so the last one is written twice. */
static void add_steps(const struct send_plot *plot)
{
	FILE *script = plot->plot.script;
	const struct send_plot_point *point = plot->points;

	fputs("$pass << EOD\n", script);
	for (; point < last_point(plot); point++)
		add_step(script, point->elapsed_ns, point, point + 1);
	add_step(script, point->elapsed_ns, point - 1, point);
	fputs("EOD\n", script);
}

static void add_panel(FILE *script, const char *label, const char *value, const char *colour)
{
	fprintf(script,
		"set ylabel '%s'\n"
		"plot $pass using 1:%s with fillsteps lc rgb '%s' fs solid 0.25 noborder notitle, "
		"$pass using 1:%s with steps lc rgb '%s' notitle\n",
		label, value, colour, value, colour);
}

static void write_send_script(struct send_plot *plot, const char *subvolume)
{
	FILE *script = plot->plot.script;

	add_steps(plot);
	fprintf(script, "set multiplot layout %d,1 title ", plot->devices_known ? 2 : 1);
	plot_add_name(&plot->plot, "send of ", subvolume);
	fprintf(script,
		"\nset grid lc rgb '#dddddd'\n"
		"set border 3\n"
		"set tics nomirror\n"
		"set lmargin 10\n"
		"set xrange [0:%.3f]\n"
		"set yrange [0:*]\n"
		"set xlabel 'Time, in seconds'\n",
		(double)last_point(plot)->elapsed_ns / NANOSECONDS_PER_SECOND);
	if (plot->with_data)
		add_panel(script, "Stream, in MiB/s", "($2/1048576)", "#0072b2");
	else
		add_panel(script, "Thousand commands/s", "($2/1000)", "#0072b2");
	if (plot->devices_known)
		add_panel(script, "Reads in flight", "3", "#d55e00");
	fputs("unset multiplot\n", script);
}

int send_plot_finish(struct send_plot *plot, const char *subvolume, bool complete)
{
	if (!plot->plot.path || !complete || plot->point_count < 2) {
		plot_discard(&plot->plot);
		return 0;
	}
	write_send_script(plot, subvolume);
	return plot_finish(&plot->plot);
}
