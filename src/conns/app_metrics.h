/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of `hostlat conns`: one list of families, filled from the applications' counters. */
#ifndef HOSTLAT_CONNS_APP_METRICS_H
#define HOSTLAT_CONNS_APP_METRICS_H

#include "base/strbuf.h"
#include "conns/app_counters.h"
#include "report/metrics.h"

/*
 * Adds the metrics of a run so far. Names are borrowed: `m` is valid until the next event is fed.
 * m->error says whether they are complete.
 */
void app_metrics_add(const struct app_counters *a, const struct conns *c, struct metrics *m);

/* Appends a man(7) list of all metrics, their labels and their meanings. */
void app_metrics_manual(struct strbuf *out);

#endif
