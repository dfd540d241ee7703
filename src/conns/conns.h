/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat conns`: what limits each connection. Events in, report out.
 *
 * Live or from a file, the events are the same: facts and names, EV_FLOW of a connection before
 * its first EV_CONN, then the EV_CONN of each interval, closed by an EV_INTERVAL. What the rules
 * are and why: docs/design/connections.md. Both the interval and the totals since the start are
 * kept; the totals are the sums of the intervals.
 *
 *	while ((err = event_source_next(source, &block)) > 0) {
 *		size_t at = 0;
 *
 *		while ((err = conns_feed_block(c, &block, &at)) == CONNS_CLOSED)
 *			conns_report(c, CONNS_INTERVAL, &report);    show it, release it
 *	}
 *	conns_report(c, CONNS_TOTAL, &report);
 */
#ifndef HOSTLAT_CONNS_CONNS_H
#define HOSTLAT_CONNS_CONNS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "report/report.h"

struct conn_view;

/* Version of the JSON document, for struct provenance. */
#define CONNS_SCHEMA 1

/* Facts about the run that have a place in the report (EV_FACT). */
#define CONNS_FACT_BUDGET_LOW "conns.budget_low"   /* share of one core, "0.01" */
#define CONNS_FACT_BUDGET_HIGH "conns.budget_high"
#define CONNS_FACT_MISSING "conns.missing"         /* one per thing not measured: "name: why" */

/* Why calls are not in the log (EV_COUNT, COUNT_LOSS): the log is bounded by the CPU budget. */
#define CONNS_LOSS_CALLS "calls-not-logged"
/* Why connections are missing (as above): following all new ones exceeds the CPU budget. */
#define CONNS_LOSS_CONNECTIONS "connections-not-followed"

enum conns_span { CONNS_INTERVAL, CONNS_TOTAL, CONNS_SPANS };

enum conns_result {
	CONNS_MORE,
	CONNS_CLOSED, /* an interval is complete: the next EV_CONN begins a new one */
};

enum conns_by { CONNS_BY_NONE, CONNS_BY_APP, CONNS_BY_PEER, CONNS_BY_LISTENER };

/* In which order connections stand; all but the names from the greatest to the least. */
enum conns_sort {
	CONNS_SORT_WORST, /* time that was lost to problems */
	CONNS_SORT_BYTES,
	CONNS_SORT_LOSSES,
	CONNS_SORT_RTT,
	CONNS_SORT_APP,
	CONNS_SORT_REMOTE,
};

/* Selects and orders the connections shown. Only `follow` changes what is kept in memory. */
struct conns_options {
	enum conns_by by;
	enum conns_sort sort;
	bool problems_only;       /* connections with a harmful problem; no others in JSON, too */
	bool all;                 /* text: not only what fits on a screen */
	bool info;                /* text: the kernel's own figures instead of limits */
	bool text_only;           /* what only programs get is left out: it is most of the work */
	bool totals_only;         /* nothing is asked of intervals */
	bool follows;             /* only one connection, interval by interval: */
	uint64_t follow;          /* its cookie */
	/* Returns whether to show a connection, which is judged; called once per report. NULL: all.
	 */
	bool (*select)(const struct conn_view *view, void *ctx);
	void *ctx;
};

struct conns;

/* Copies the options. NULL when there is no memory. */
struct conns *conns_new(const struct conns_options *options);
void conns_free(struct conns *c);

/*
 * Takes a block, of records or of EV_CONN, from `*at` on, which is 0 at first; blocks and events
 * of no concern are ignored. Returns CONNS_CLOSED after an EV_INTERVAL: call again with the same
 * block for what is behind it. CONNS_MORE at the block's end, or -ENOMEM. What cannot be and what
 * is beyond the limits of conns/state.h is left out, and the report says so.
 */
int conns_feed_block(struct conns *c, const struct event_block *block, size_t *at);

/*
 * A stretch of time to analyze: only records that lie at least half within it count, after their
 * times are moved to another clock. For two recordings, see conns/peer_match.h. Before the first
 * block; `shift_ns`, and the times of the window, are within 2^62.
 */
struct conns_window {
	int64_t shift_ns;         /* added to all times */
	uint64_t from, to;        /* of the clock that they are moved to; to 0: all is taken */
};

/* A recording among two. */
struct conns_host {
	const char *name;         /* of the host; borrowed */
	uint64_t length_ns;       /* of the whole recording */
};

void conns_set_window(struct conns *c, const struct conns_window *window);

/*
 * A line for a call of the log: the field `call`. False: it is not to be shown. `ask`: of
 * a recording there may be calls of others, and `select` and problems_only decide, by what is known
 * of the connection up to here; what is not known then is not true of it.
 */
bool conns_report_call(struct conns *c, const struct event_call *call, bool ask, struct report *r);

/*
 * Calls `chosen` with the cookie of each connection of the last closed interval that is shown,
 * still open, and not yet logged. Stops at the first result other than 0 and returns it.
 */
int conns_choose_for_log(struct conns *c, int (*chosen)(void *ctx, uint64_t cookie), void *ctx);

/* Notes the source's damage, which makes the totals partial. */
void conns_set_damage(struct conns *c, const struct event_damage *damage);

/*
 * Fills `r`, which report_init() has prepared, with the last closed interval or with the totals.
 * Names are borrowed: it is valid until the next conns_feed_block(). Returns 0 or -errno.
 */
int conns_report(struct conns *c, enum conns_span span, struct report *r);

#endif
