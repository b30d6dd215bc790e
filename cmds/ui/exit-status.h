/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXIT_STATUS_H
#define FASTPATH_EXIT_STATUS_H

/* The exit statuses of every command. */
enum {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_CHECK_FAILED = 64,
};

/* With --format nagios: those of a monitoring plugin. */
enum {
	STATUS_PLUGIN_OK = 0,
	STATUS_PLUGIN_WARNING = 1,
	STATUS_PLUGIN_CRITICAL = 2,
	STATUS_PLUGIN_UNKNOWN = 3,
};

#endif
