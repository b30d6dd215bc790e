/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_METRICS_H
#define FASTPATH_SEND_READA_METRICS_H

#include "send-reada-report.h"
#include "ui/metrics.h"

/* The sizes of the stream of REPORT, and what its passes took and read. */
void send_report_metrics(const struct send_report *report, struct metrics *metrics);

#endif
