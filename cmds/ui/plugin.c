// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <stdio.h>

#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/plugin.h"

void plugin_begin(const char *command, int status, const char *text)
{
	static const char *const names[] = {
		[STATUS_PLUGIN_OK] = "OK",
		[STATUS_PLUGIN_WARNING] = "WARNING",
		[STATUS_PLUGIN_CRITICAL] = "CRITICAL",
		[STATUS_PLUGIN_UNKNOWN] = "UNKNOWN",
	};

	for (const char *c = command; *c; c++)
		putchar(toupper((unsigned char)*c));
	printf(" %s - ", names[status]);
	for (const char *c = text; *c; c++)
		putchar(*c == '|' || *c == '\n' ? '/' : *c);
}

int plugin_print_unknown(const char *command, const char *otherwise)
{
	const char *reason = message_first_error();

	plugin_begin(command, STATUS_PLUGIN_UNKNOWN, *reason ? reason : otherwise);
	putchar('\n');
	return STATUS_PLUGIN_UNKNOWN;
}

int plugin_print(int status, const struct global_options *global)
{
	if (status == STATUS_ERROR)
		return plugin_print_unknown(global->plugin, "invalid arguments");
	status = status == STATUS_OK ? STATUS_PLUGIN_OK : STATUS_PLUGIN_CRITICAL;
	plugin_begin(global->plugin, status,
		     global->finding ? global->finding : "the check passed");
	printf(" |");
	metrics_write(global->metrics, stdout, METRICS_NAGIOS);
	putchar('\n');
	return status;
}
