/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the limits of two runs' connections, separately for server ends and client ends: the
 * share of time of each limit, and the rate of each counter per second and connection. Shares and
 * rates are of all connections together, so longer connections count more. The blocks of the
 * comparison (stats/contrast.h) are intervals, merged as far as CONTRAST_BLOCKS requires;
 * docs/design/connections.md describes the content of a block.
 */
#ifndef HOSTLAT_CONNS_COMPARE_H
#define HOSTLAT_CONNS_COMPARE_H

#include "conns/conns.h"
#include "conns/limits.h"

struct conns_run;

/*
 * Creates an empty run, one side of a comparison. It counts the connections that `select` accepts
 * (NULL: all). Returns 0 or -ENOMEM.
 */
int conns_run_new(struct conns_run **out, bool (*select)(const struct conn_view *view, void *ctx),
		  void *ctx);
void conns_run_free(struct conns_run *run);

/* Adds a whole block of events to the run. Returns 0 or -ENOMEM. */
int conns_run_feed(struct conns_run *run, const struct event_block *block);

/* Finishes the run after the last block; `damage` is the event source's. Returns 0 or -ENOMEM. */
int conns_run_finish(struct conns_run *run, const struct event_damage *damage);

/* Returns whether the run has any connection. The next function: its intervals' total length. */
bool conns_run_any(const struct conns_run *run);
uint64_t conns_run_duration_ns(const struct conns_run *run);

/*
 * Adds the comparison of two runs to the report: the table "limits", a finding, and the reasons why
 * a run is partial. Returns 0 or -ENOMEM.
 */
int conns_compare_report(struct conns_run *a, struct conns_run *b, struct report *r);

#endif
