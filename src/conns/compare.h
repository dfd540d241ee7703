/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the limits of two runs' connections: for each end, the share of the time of every class,
 * and the rate of every counter per second of a connection. Shares and rates are of all connections
 * together, so that longer ones count more. The blocks of the comparison
 * (stats/contrast.h) are the intervals, or as many of them together as it takes for
 * CONTRAST_BLOCKS to be enough; docs/design/connections.md says what is in a block.
 */
#ifndef HOSTLAT_CONNS_COMPARE_H
#define HOSTLAT_CONNS_COMPARE_H

#include "conns/conns.h"
#include "conns/limits.h"

struct conns_run;

/* Creates a run of the connections for which `select` returns true (NULL: all). 0 or -ENOMEM. */
int conns_run_new(struct conns_run **out, bool (*select)(const struct conn_view *view, void *ctx),
		  void *ctx);
void conns_run_free(struct conns_run *run);

/* Takes all of a block. 0 or -ENOMEM. */
int conns_run_feed(struct conns_run *run, const struct event_block *block);

/* At the end, with the damage of the source. 0 or -ENOMEM. */
int conns_run_finish(struct conns_run *run, const struct event_damage *damage);

/* Whether there was any connection; and how long all intervals took. */
bool conns_run_any(const struct conns_run *run);
uint64_t conns_run_duration_ns(const struct conns_run *run);

/* Adds "limits", a finding, and the reasons of both runs. 0 or -ENOMEM. */
int conns_compare_report(struct conns_run *a, struct conns_run *b, struct report *r);

#endif
