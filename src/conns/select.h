/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a report, judged, in their order; and the problems of each. */
#ifndef HOSTLAT_CONNS_SELECT_H
#define HOSTLAT_CONNS_SELECT_H

#include "conns/problem.h"
#include "conns/rules.h"
#include "conns/state.h"

struct selected {
	struct conn_judged judged;  /* with the problems of several in `problems` and `harmful` */
	uint32_t conn;              /* index */
	uint32_t other;             /* the other end in `others`: index + 1; 0: there is none */
	uint64_t key;               /* that the order goes by; `name` where it goes by names */
	uint64_t cookie;            /* last criterion of the order */
	const char *name;
	uint8_t address[18];        /* CONNS_SORT_REMOTE: address and port, as bytes */
};

struct conn_selection {
	enum conns_span span;
	struct selected_items VEC_OF(struct selected) items;
	/* judgements of the other ends, with two recordings */
	struct selected_peers VEC_OF(struct conn_judged) others;
	struct conn_problems found;      /* problems that `others` and totals in `items` refer to */
	struct conn_crosses crosses;     /* by connection */
	struct conn_sums sums;
	uint64_t connections;            /* that the filter keeps, with or without problems */
	uint64_t closed;                 /* of them */
	uint64_t troubled;               /* of them: with a harmful problem */
	uint64_t classes[CONN_CLASSES];  /* of them: with this one, harmful */
};

struct selected_problem {
	struct conn_problem p;
	const struct conn_cross *cross;  /* NULL: of the connection by itself */
};

#define SELECT_PROBLEMS_MAX (RULES_MAX + 8)

/* Judges all connections of the span. Pair with select_release(), also when it fails. 0, -ENOMEM */
int select_connections(struct conns *c, enum conns_span span, struct conn_selection *s);
void select_release(struct conn_selection *s);

/* Fills in the judged view of a selected connection. */
void select_view(const struct conns *c, const struct conn_selection *s, const struct selected *one,
		 struct conn_view_buf *room);

/*
 * Fills in the judged view of the other end from the other host's recording. Returns false if there
 * is none. Its problems of several connections are those found while that recording was read.
 */
bool select_view_peer(const struct conns *c, const struct conn_selection *s,
		      const struct selected *one, struct conn_view_buf *room);

/* Its problems into `out`, which has room for SELECT_PROBLEMS_MAX; returns how many. */
size_t select_problems(const struct conn_selection *s, const struct selected *one,
		       const struct conn_view *view, struct selected_problem *out);

/* Fills in `finding`: evidence and sentences, made anew. Pair with select_release_finding(). */
void select_explain(const struct conn_selection *s, const struct conn_view *view,
		    const struct selected_problem *problem, struct report *r,
		    struct conn_finding *finding);
void select_release_finding(struct conn_finding *finding);

#endif
