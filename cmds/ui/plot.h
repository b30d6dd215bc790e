/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PLOT_H
#define FASTPATH_PLOT_H

#include <stdio.h>

#include "num/latency.h"
#include "ui/record.h"

/*
 * A picture that gnuplot draws into a new SVG file. A command opens it before it measures, and
 * writes commands and data of gnuplot to SCRIPT at the end.
 */
struct plot {
	/* NULL: it is not open */
	const char *path;
	/* the path of the program */
	char *gnuplot;
	FILE *script;
};

/*
 * Look for gnuplot, and try whether the new file PATH can be made; NULL: there is nothing to plot,
 * which is no error. Returns 0, or -1 after printing an error. Ended with plot_finish() or
 * plot_discard(), also after an error.
 */
int plot_open(struct plot *plot, const char *path);

/* A text of gnuplot with NAME in it, escaped, between single quotes. */
void plot_add_name(struct plot *plot, const char *before, const char *name);

/* Draw the picture. Returns 0, or -1 after printing an error. */
int plot_finish(struct plot *plot);

/* Leave no file. */
void plot_discard(struct plot *plot);

/* The distribution of the times of calls, as a histogram in steps of powers of two. */

/*
 * Prints a row with a bar for each step from the fastest to the slowest call, nothing if LATENCY is NULL;
 * WHAT is the heading of the number of calls. Or adds the array "histogram" with the steps that have
 * a call, null if LATENCY is NULL. Returns 0 or -ENOMEM.
 */
int histogram_report(const struct latency *latency, const char *what, struct output *out);

#endif
