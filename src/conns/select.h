/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a report, in their order, and the problems of each connection. */
#ifndef HOSTLAT_CONNS_SELECT_H
#define HOSTLAT_CONNS_SELECT_H

#include "conns/problem.h"
#include "conns/rules.h"
#include "conns/service.h"
#include "conns/state.h"
#include "conns/status.h"

struct selected {
	struct conn_judged judged;  /* includes problems that involve several connections */
	uint32_t conn;              /* index in conns.all */
	uint32_t other;             /* index + 1 of the other end's judgment in `others`; 0: none */
	uint64_t key;               /* sort key, greatest first; 0 if the order is by name */
	uint64_t cookie;            /* socket cookie, the last sort criterion */
	const char *name;
	uint8_t address[18];        /* CONNS_SORT_REMOTE: address and port, big-endian */
};

struct conn_selection {
	enum conns_span span;
	struct selected_items VEC_OF(struct selected) items;
	/* judgments of the other ends, with two recordings */
	struct selected_peers VEC_OF(struct conn_judged) others;
	struct conn_services services;   /* totals only */
	struct conn_problems found;      /* problems in totals, of both ends of connections */
	/* parts in problems of several connections, sorted by connection */
	struct conn_crosses crosses;
	struct conn_sums sums;
	uint64_t connections;            /* connections selected, with or without problems */
	uint64_t closed;                 /* closed connections among `connections` */
	uint64_t troubled;               /* connections with a harmful problem */
	uint64_t classes[CONN_CLASSES];  /* connections with a harmful problem of this class */
	/*
	 * Interval: connections, among `connections`, without a record in it; those of them with a
	 * harmful problem in their last record, in all and by class
	 */
	uint64_t last_known, last_known_troubled, last_known_classes[CONN_CLASSES];
	uint64_t statuses[CONN_STATUSES]; /* connections by status */
};

struct selected_problem {
	struct conn_problem p;
	/* this connection's part in a problem of several; NULL: its problem alone */
	const struct conn_cross *cross;
};

#define SELECT_PROBLEMS_MAX (RULES_MAX + 8)

/*
 * Selects and orders the connections of the span, with their problems. 0 or -ENOMEM; call
 * select_release() in either case.
 */
int select_connections(struct conns *c, enum conns_span span, struct conn_selection *s);
void select_release(struct conn_selection *s);

/*
 * Returns whether an open connection has no record in the closed interval, but had one before that
 * was shown: `status` and `harmful` of the connection are then its last known state.
 */
bool select_is_last_known(const struct conn *conn);

/* Fills in the view of a selected connection, with its problems. */
void select_view(const struct conns *c, const struct conn_selection *s, const struct selected *one,
		 struct conn_view_buf *room);

/*
 * Fills in the view of the other end, with its problems, from the other host's recording. Returns
 * false if there is no other end. Problems of several connections are those found in that
 * recording.
 */
bool select_view_peer(const struct conns *c, const struct conn_selection *s,
		      const struct selected *one, struct conn_view_buf *room);

/* Writes the connection's problems to out[SELECT_PROBLEMS_MAX]; returns their number. */
size_t select_problems(const struct conn_selection *s, const struct selected *one,
		       const struct conn_view *view, struct selected_problem *out);

/* Fills in a new `finding`: evidence and sentences. Pair with select_release_finding(). */
void select_explain(const struct conn_selection *s, const struct conn_view *view,
		    const struct selected_problem *problem, struct report *r,
		    struct conn_finding *finding);
void select_release_finding(struct conn_finding *finding);

#endif
