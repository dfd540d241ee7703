/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a run's connections, summed by end (connections that this host's servers accepted,
 * and those that its clients made), for explain and compare. Besides, the ends whose application
 * was waited for, with the stretches of time in which it was.
 *
 *	limits_init(&l, conns);
 *	while ((err = conns_feed_block(conns, &block, &at)) == CONNS_CLOSED)
 *		limits_interval(&l);
 *	limits_finish(&l);
 *
 * Only connections for which `select` of the options returns true count.
 */
#ifndef HOSTLAT_CONNS_LIMITS_H
#define HOSTLAT_CONNS_LIMITS_H

#include "base/vec.h"
#include "conns/conns.h"
#include "conns/conn_aggregate.h"

#define LIMITS_STRETCHES_MAX (1u << 20)
#define LIMITS_DUTIES_MAX 64u   /* of a kind: those with most time */

enum limits_end { LIMITS_SERVER, LIMITS_CLIENT, LIMITS_ENDS };

/* The call that an application did not make while its peer waited. */
enum limits_duty { LIMITS_READ, LIMITS_WRITE, LIMITS_DUTIES };

struct limits_stretch {
	uint64_t cookie;        /* of the connection whose application was waited for */
	uint64_t from, to;
	uint32_t conn;          /* its index */
	uint32_t duty;          /* enum limits_duty */
};

/* An end whose application was waited for. */
struct limits_owed {
	uint64_t cookie;
	uint64_t ns;            /* of its stretches */
	struct event_flow flow; /* id 0: not known */
	uint32_t conn;
	uint32_t pid;           /* 0 = not known */
	enum limits_duty duty;
	enum limits_end end;
	bool known; /* false: not on this host; only the flow is known */
};

struct limits {
	struct conns *c;
	struct conn_aggregate ends[LIMITS_ENDS];
	struct limits_stretches VEC_OF(struct limits_stretch) stretches;
	struct limits_owed_list VEC_OF(struct limits_owed) owed; /* by duty; most time first */
	bool beyond;            /* stretches that there was no room for */
};

void limits_init(struct limits *l, struct conns *c);
void limits_release(struct limits *l);

/* After each interval; and at the end. 0 or -ENOMEM. */
int limits_interval(struct limits *l);
int limits_finish(struct limits *l);

enum limits_end limits_end_of(const struct conn_view *view);
const char *limits_end_name(unsigned int end);   /* "server" */
const char *limits_duty_name(unsigned int duty); /* "read" */

/* Returns why the shares of an end's time are unknown (static); NULL if they are known. */
const char *limits_unknown_reason(const struct limits *l, unsigned int end);

/* The ends as a table, and a sentence for each that has connections. */
struct value limits_ends(const struct limits *l, struct report *r);
void limits_findings(const struct limits *l, struct report *r);

#endif
