/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as text: OpenMetrics 1.0, or the older form of Prometheus (0.0.4), which the textfile
 * collector of node_exporter reads. In the older form a counter's family has the suffix _total as
 * well, an information metric is a gauge, and there are neither units nor an end mark.
 */
#ifndef HOSTLAT_OUTPUT_OPENMETRICS_H
#define HOSTLAT_OUTPUT_OPENMETRICS_H

#include "base/strbuf.h"
#include "report/metrics.h"

enum openmetrics_form { OPENMETRICS_1_0, OPENMETRICS_PROMETHEUS };

/* Appends the page; out->error says whether it is complete. */
void openmetrics_put(const struct metrics *m, enum openmetrics_form form, struct strbuf *out);

#endif
