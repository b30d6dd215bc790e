/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_STOP_REQUEST_H
#define FASTPATH_STOP_REQUEST_H

#include <stdbool.h>

/*
 * SIGINT (Ctrl-C) as a request to end the work early and report what there is. Only the first one is a
 * request: the next one has its usual effect at once, and so has the first one if the report is not complete
 * after three seconds. Uses alarm(2).
 */

/* From now on. Has no effect if SIGINT is ignored. */
void stop_request_accept(void);

bool stop_requested(void);

/* After the report: a request has the usual effect of its signal now. */
void stop_request_end(void);

#endif
