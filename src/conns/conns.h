/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat conns`: what limits each connection. Events in, report out.
 *
 * Events are the same live and from a file: facts and names, EV_FLOW of a connection before its
 * first EV_CONN, then the EV_CONN of each interval, closed by an EV_INTERVAL. The analysis stores
 * the last interval and the totals since the start, which are the sums of the intervals.
 * docs/design/connections.md explains the rules.
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
/* Most connections or groups that text lists, unless the options say otherwise. */
#define CONNS_TOP 20u

/* Names of facts (EV_FACT) about the run that are part of the report. */
#define CONNS_FACT_BUDGET_LOW "conns.budget_low"   /* CPU budget in cores, such as "0.01" */
#define CONNS_FACT_BUDGET_HIGH "conns.budget_high"
#define CONNS_FACT_MISSING "conns.missing"         /* a value not measured: "name: reason" */

/* Reason of an EV_COUNT (COUNT_LOSS): calls that the CPU budget has kept out of the log. */
#define CONNS_LOSS_CALLS "calls-not-logged"
/* Reason of an EV_COUNT (COUNT_LOSS): connections not followed, to keep the CPU budget. */
#define CONNS_LOSS_CONNECTIONS "connections-not-followed"

enum conns_span { CONNS_INTERVAL, CONNS_TOTAL, CONNS_SPANS };

enum conns_result {
	CONNS_MORE,
	CONNS_CLOSED, /* the interval is complete: the next EV_CONN begins a new one */
};

enum conns_by { CONNS_BY_NONE, CONNS_BY_APP, CONNS_BY_PEER, CONNS_BY_LISTENER };

/* Order of connections: names ascending, all else descending. */
enum conns_sort {
	CONNS_SORT_WORST, /* time lost to problems */
	CONNS_SORT_BYTES,
	CONNS_SORT_LOSSES,
	CONNS_SORT_RTT,
	CONNS_SORT_APP,
	CONNS_SORT_REMOTE,
};

/* Selects and orders the connections shown. Only `follow` changes what is stored in memory. */
struct conns_options {
	enum conns_by by;
	enum conns_sort sort;
	bool problems_only;       /* only connections with a harmful problem, in text and JSON */
	bool all;                 /* text: all connections, not only as many as fit a screen */
	bool info;                /* text: the kernel's counters and gauges instead of limits */
	uint32_t top;             /* text: most connections or groups; 0: CONNS_TOP */
	bool text_only;           /* add no JSON fields to the report: they are most of the work */
	bool totals_only;         /* only totals are reported, no intervals */
	bool follows;             /* report one connection only, interval by interval */
	uint64_t follow;          /* socket cookie, if `follows` */
	/*
	 * Returns whether to show a connection, whose problems are known; called once per report.
	 * NULL: show all.
	 */
	bool (*select)(const struct conn_view *view, void *ctx);
	void *ctx;
};

struct conns;

/* Returns a new analysis, with a copy of the options; NULL without memory. */
struct conns *conns_new(const struct conns_options *options);
void conns_free(struct conns *c);

/*
 * Processes a block of records or EV_CONN from `*at` on, which is 0 at first; other blocks and
 * events are ignored. Returns CONNS_CLOSED after an EV_INTERVAL: call again with the same block for
 * the rest. Returns CONNS_MORE at the block's end, or -ENOMEM. The report counts inconsistent
 * events and those beyond the limits of conns/state.h, which are excluded.
 */
int conns_feed_block(struct conns *c, const struct event_block *block, size_t *at);

/*
 * A time window to analyze: only records that lie at least half within it count, after their times
 * are shifted to another clock. For two recordings, see conns/peer_match.h. Set it before the first
 * block; `shift_ns` and the times of the window are within 2^62 ns.
 */
struct conns_window {
	int64_t shift_ns;         /* added to all times of the recording */
	uint64_t from, to;        /* window, in the clock after the shift; to = 0: no limits */
};

/* The host of one of two recordings. */
struct conns_host {
	const char *name;         /* host name; borrowed */
	uint64_t length_ns;       /* length of the whole recording */
};

void conns_set_window(struct conns *c, const struct conns_window *window);

/*
 * Adds the field `call` for a logged call. Returns false if the call is not to be shown. `ask` is
 * for a recording, which may have calls of any connection: `select` and problems_only then decide
 * by what is known of the connection so far, and unknown properties count as false.
 */
bool conns_report_call(struct conns *c, const struct event_call *call, bool ask, struct report *r);

/*
 * Calls `chosen` with the cookie of each connection of the last closed interval that is shown,
 * still open, and whose calls are not logged yet. Stops at the first result other than 0 and
 * returns it.
 */
int conns_choose_for_log(struct conns *c, int (*chosen)(void *ctx, uint64_t cookie), void *ctx);

/*
 * Returns the number of connections that have a record. *unseen: whether all intervals lack one for
 * lack of samples (INTERVAL_UNSEEN).
 */
uint64_t conns_seen(const struct conns *c, bool *unseen);

/* Stores what is damaged in the event source; damage makes the totals partial. */
void conns_set_damage(struct conns *c, const struct event_damage *damage);

/*
 * Fills `r`, which report_init() has prepared, with the last closed interval or with the totals.
 * Names are borrowed: `r` is valid until the next conns_feed_block(). Returns 0 or -errno.
 */
int conns_report(struct conns *c, enum conns_span span, struct report *r);

#endif
