/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the limits of runs' connections, one or several runs of each side, separately for server
 * ends and client ends: the share of time of each limit, and the rate of each counter per second
 * and connection. Shares and rates are of all connections together, so longer connections count
 * more. The blocks of the comparison (stats/contrast.h) are intervals, merged as far as
 * CONTRAST_BLOCKS requires; docs/design/connections.md describes the content of a block.
 */
#ifndef HOSTLAT_CONNS_COMPARE_H
#define HOSTLAT_CONNS_COMPARE_H

#include "conns/conns.h"
#include "conns/limits.h"
#include "report/difference.h"

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

/* The finished runs of one side. */
struct conns_side {
	struct conns_run *runs[DIFFERENCE_RECORDINGS_MAX];
	size_t n;
};

/*
 * Adds the comparison of two sides to the report: the table "limits", a finding, and the reasons
 * why a run is partial; what was tested to `tally`. Returns 0 or -ENOMEM.
 */
int conns_compare_report(const struct conns_side *a, const struct conns_side *b, struct report *r,
			 struct difference_tally *tally);

#endif
