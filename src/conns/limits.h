/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the limits of a run's connections by end (connections that this host's servers accepted,
 * and connections that its clients made), for explain and compare. Also lists the ends whose
 * application was waited for, and when.
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
#define LIMITS_DUTIES_MAX 64u   /* ends per duty (read, write): those waited for longest */

enum limits_end { LIMITS_SERVER, LIMITS_CLIENT, LIMITS_ENDS };

/* The call that an application did not make while its peer waited. */
enum limits_duty { LIMITS_READ, LIMITS_WRITE, LIMITS_DUTIES };

struct limits_stretch {
	uint64_t cookie;        /* socket cookie of the end that was waited for */
	uint64_t from, to;
	uint32_t conn;          /* index in conns.all */
	uint32_t duty;          /* enum limits_duty */
};

/* An end of a connection whose application was waited for, to read or to write. */
struct limits_owed {
	uint64_t cookie;
	uint64_t ns;            /* total ns for which the application was waited for */
	struct event_flow flow; /* addresses and ports; id 0: unknown */
	uint32_t conn;
	uint32_t pid;           /* 0: unknown */
	enum limits_duty duty;
	enum limits_end end;
	bool known; /* false: the end is on another host, and only its flow is known */
};

struct limits {
	struct conns *c;
	struct conn_aggregate ends[LIMITS_ENDS];
	/*
	 * ns of the intervals at sender-app; of them those at whose end no data had moved, or the
	 * peer had to send next
	 */
	uint64_t sender_app_ns[LIMITS_ENDS], peers_turn_ns[LIMITS_ENDS];
	struct limits_stretches VEC_OF(struct limits_stretch) stretches;
	/* ends that were waited for, by duty; longest first */
	struct limits_owed_list VEC_OF(struct limits_owed) owed;
	bool beyond;            /* `stretches` is full: later times of waiting are missing */
};

void limits_init(struct limits *l, struct conns *c);
void limits_release(struct limits *l);

/*
 * Add the interval that has closed, and (limits_finish) finish after the last interval. Both return
 * 0 or -ENOMEM.
 */
int limits_interval(struct limits *l);
int limits_finish(struct limits *l);

enum limits_end limits_end_of(const struct conn_view *view);
const char *limits_end_name(unsigned int end);   /* returns "server" or "client"; static */
const char *limits_duty_name(unsigned int duty); /* returns "read" or "write"; static */

/* Returns why the shares of an end's time are unknown (static); NULL if they are known. */
const char *limits_unknown_reason(const struct limits *l, unsigned int end);

/*
 * Return the limits of both ends (server, client) as a table; limits_findings() adds a finding for
 * each end that has connections.
 */
struct value limits_ends(const struct limits *l, struct report *r);
void limits_findings(const struct limits *l, struct report *r);

#endif
