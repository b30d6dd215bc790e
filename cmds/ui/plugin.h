/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PLUGIN_H
#define FASTPATH_PLUGIN_H

#include "ui/options.h"

/*
 * Prints the begin of a monitoring plugin's line, "STATUS OK - TEXT": the name of COMMAND, STATUS (one of
 * STATUS_PLUGIN_*) and TEXT, in which no character begins the performance data or another line.
 */
void plugin_begin(const char *command, int status, const char *text);

/*
 * Prints the line of COMMAND, which could not find out, and why: the first error, or OTHERWISE. Returns
 * the exit status of the plugin.
 */
int plugin_print_unknown(const char *command, const char *otherwise);

/*
 * Prints the line of the command that GLOBAL names, whose check ended with the exit status STATUS: what it
 * found, or the first error, and the metrics as performance data. Returns the exit status of the plugin.
 */
int plugin_print(int status, const struct global_options *global);

#endif
