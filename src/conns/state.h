/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the analysis: packed totals of each connection, and the unpacked records of the current
 * interval. A connection is identified by the cookies of its namespace and of its socket.
 */
#ifndef HOSTLAT_CONNS_STATE_H
#define HOSTLAT_CONNS_STATE_H

#include "base/vec.h"
#include "conns/conns.h"
#include "conns/problem.h"
#include "event/dict.h"

/* Limits. When the connections are used up, those that have closed are forgotten, and counted. */
#define CONNS_MAX 262144u
#define CONNS_FLOWS_MAX (CONNS_MAX + 65536u)
#define CONNS_INTERVAL_RECORDS_MIN 4096u /* records of an interval: memory that is not given back  \
					  */
#define CONNS_FOLLOWED_MAX 10000u   /* intervals of the one that is followed; then the oldest go */
#define CONNS_CALLS_MAX 10000u      /* logged calls of the followed connection */
#define CONNS_COUNTS_MAX 256u       /* (what, reason) */
#define CONNS_MISSING_MAX 256u
#define CONNS_CROSSES_MAX 4096u     /* connections in problems of several */
#define CONNS_SERIES_MAX 4096u      /* connections of tasks that may be proxies */
#define CONNS_SAME_TUPLE 256u       /* connections of the same addresses, to be joined */
#define CONNS_SAME_COOKIE 256u      /* namespaces that have the same cookie */
#define CONNS_TICKS 120u            /* intervals in which a proxy is looked for */

/* Share of each end's time that must be common to judge one end by the other. */
#define CONNS_COMMON_MIN 0.8

/*
 * 48 bytes plus the packed totals: about 140 bytes for a connection that waits for its application,
 * 330 for one with losses, calls and round trips of several sizes.
 */
struct conn {
	uint64_t cookie;
	unsigned char *packed;         /* of a struct event_conn, behind `cookie`; NULL: none yet */
	/* Indices, + 1 each; 0: none. */
	uint32_t next;                 /* of the same key's hash; of free ones, if not used */
	uint32_t tuple_next;           /* of the same tuple's hash */
	uint32_t flow;
	uint32_t peer;                 /* the other end */
	uint32_t interval_record;      /* its record of the interval */
	uint32_t series;
	uint32_t problem_intervals;
	uint16_t room;                 /* bytes of `packed`, see base/zpack.h */
	bool used : 1;
	bool closed : 1;               /* it is listed in conns.ended */
	bool unlisted : 1;             /* too many have its tuple: it isn't in that hash */
};

struct conn_flow {
	struct event_flow e;
	uint32_t next;                 /* of the same id's hash; of free ones; index + 1 */
	uint32_t users : 31;           /* connections */
	uint32_t used : 1;
};

struct conn_interval_record {
	struct event_conn c;
	uint32_t conn;                 /* index */
	struct conn_judged judged;     /* when its interval is closed */
};

/* A burst with a loss, from one record. */
struct conn_lost_burst {
	uint32_t conn;                 /* index */
	bool at_receiver;              /* it was sent to us; `write` is when we asked for it */
	uint64_t write, loss;
};

/* A problem that a connection has together with others. */
struct conn_cross {
	uint32_t conn;                 /* index */
	enum conn_class class;
	uint32_t members;              /* connections in it, this one included */
	uint32_t episodes;
	uint64_t loss_within_ns;       /* incast: from the first member's loss to the last one's */
	uint64_t write_within_ns;
	bool at_receiver;              /* incast: this host asked for it */
	uint64_t other;                /* proxy: cookie of the one that starves */
	uint32_t intervals;
	double rho, p;
	uint64_t probes, timeouts, fast; /* spread: of all members */
};

struct conn_crosses VEC_OF(struct conn_cross);

/* Shares of an interval in steps of 1/250; a ring, see struct conns' `tick`. */
struct conn_series {
	uint32_t conn;                 /* index */
	uint32_t pid;
	uint64_t since;                /* the first tick that it has */
	uint8_t held[CONNS_TICKS];     /* by a delayed ACK or a window */
	uint8_t starved[CONNS_TICKS];  /* of data, by the application */
};

struct conn_count {
	uint8_t what;                  /* enum count_what */
	uint32_t reason;               /* DICT_STRING */
	uint64_t count[CONNS_SPANS];
};

struct conns_period {
	uint64_t intervals;
	uint64_t from_ns, to_ns;
	uint64_t own_user_ns, own_bpf_ns;
	bool bpf_cost_unknown, bpf_cost_estimated;
	uint64_t unseen;               /* intervals without sampling */
	uint64_t lost_records;         /* of the event stream itself */
	uint64_t names_lost;           /* times that a name was not kept: LOSS_DICT_FULL */
	uint64_t refused;              /* events with impossible values */
	uint64_t beyond;               /* events refused by a limit above */
	uint64_t forgotten;            /* connections that had closed */
	uint64_t unfollowed;           /* tasks that may be proxies, beyond CONNS_SERIES_MAX */
	uint64_t own;                  /* records of hostlat's own connections */
	bool partial, shed;
};

/* The other ends of connections, in another host's recording. Made by conns/peer_match.h. */
struct peer_recording {
	struct conns *c;               /* that recording's, in this one's time */
	struct conns_host here, there;
	uint64_t error_ns;             /* bound of the error of its times, from the recordings */
	uint32_t *other;               /* by connection here: index + 1 there; 0: not found */
	uint64_t *not_joined;          /* connections, by why: conns/peer_match.h */
	uint64_t joined;
	int64_t began_apart_ns;        /* middle of `began_both`, there - here, round trips apart */
	uint64_t began_both;           /* joined connections of which both saw the beginning */
};

struct conns {
	struct conns_options options;
	struct conns_window window;
	const struct peer_recording *peer_recording; /* NULL: there is one recording */
	struct conns_all VEC_OF(struct conn) all; /* some of them free */
	struct conns_flows VEC_OF(struct conn_flow) flows;
	struct conns_interval_records VEC_OF(struct conn_interval_record) interval_records;
	struct conn_problems found;    /* problems that the records in `fresh` refer to */
	struct conns_bursts VEC_OF(struct conn_lost_burst) bursts; /* of the interval */
	uint32_t free_conn, free_flow; /* index + 1 */
	uint32_t *by_key, *by_tuple, *by_flow; /* hashes: index + 1 */
	struct conns_ended VEC_OF(uint32_t) ended; /* indices of those that have closed */
	bool swept;                    /* no other of them can be forgotten in this interval */
	uint64_t steps;                /* taken in the hashes, and pairs of ends looked at */
	size_t n;                      /* connections that are kept */
	struct conns_counts VEC_OF(struct conn_count) counts;
	struct conns_missing VEC_OF(char *) missing;
	struct conn_crosses crosses[CONNS_SPANS]; /* incasts, as they were found */
	struct conns_series VEC_OF(struct conn_series) series;
	uint64_t tick;                 /* intervals so far; tick i lies at i % CONNS_TICKS */
	uint64_t tick_to_ns[CONNS_TICKS];
	struct conns_followed VEC_OF(struct conn_interval_record) followed;
	uint64_t followed_dropped;
	struct conns_call_log VEC_OF(struct event_call) calls; /* of that one, by seq */
	uint64_t calls_dropped;
	struct conns_period periods[CONNS_SPANS];
	char *budget_low, *budget_high;
	bool closed;                   /* the next EV_CONN begins a new interval */
	struct event_damage damage;
	struct event_dict *names;
};

/* Memory for a view: its records may have to be unpacked. */
struct conn_view_buf {
	struct conn_view view;
	struct event_conn own, other;
};

/* Totals; unpacking and packing again changes nothing. */
void conn_unpack(const struct conn *conn, struct event_conn *out);
/*
 * Returns 0, or -ENOMEM and leaves the packed totals as they were. Changes `total` while it packs
 * and restores it.
 */
int conn_pack(struct conn *conn, struct event_conn *total);

/* Returns the flow with this number, or NULL if the stream has not defined it. */
struct conn_flow *conns_flow_find(struct conns *c, uint32_t id);
/* Takes a copy. 0, -ENOMEM or -E2BIG. */
int conns_flow_set(struct conns *c, const struct event_flow *flow);

/*
 * Returns the connection with the record's cookie and namespace, creating it if needed. NULL and
 * *err = -ENOMEM or -E2BIG.
 */
struct conn *conns_get(struct conns *c, const struct event_conn *e, int *err);

/* Marks a connection as closed, so that it may be dropped when space runs out. 0 or -ENOMEM. */
int conns_note_closed(struct conns *c, struct conn *conn);

/* Returns the connection's index + 1, or 0. `flow` is NULL if its namespace is unknown. */
uint32_t conns_find(struct conns *c, uint64_t cookie, const struct event_flow *flow);

/*
 * Returns the index + 1 of the next connection with `flow`'s addresses swapped, after the index + 1
 * `at` (0 at first), or 0.
 */
uint32_t conns_reversed(struct conns *c, const struct event_flow *flow, uint32_t at);

static inline const struct event_flow *conns_flow_of(const struct conns *c,
						     const struct conn *conn)
{
	return conn->flow ? &c->flows.items[conn->flow - 1].e : NULL;
}

/* NULL for what the stream doesn't name. */
static inline const char *conns_name(const struct conns *c, uint32_t dict, uint32_t id)
{
	return id ? event_dict_get(c->names, dict, id) : NULL;
}

/*
 * Fills in the view of the peer in the other recording, without its problems. Returns false if
 * there is none.
 */
bool conns_view_peer(const struct conns *c, uint32_t conn, struct conn_view_buf *room);

/*
 * Returns a connection's record of the span: the interval's, or its totals, unpacked into `room`.
 * NULL: it has none.
 */
const struct event_conn *conns_record(const struct conns *c, enum conns_span span,
				      const struct conn *conn, struct event_conn *room);

/*
 * Fills in a view. Returns false if the connection has no record in the span. The view of a closed
 * interval is judged, that of totals is not.
 */
bool conns_view(const struct conns *c, enum conns_span span, uint32_t conn,
		struct conn_view_buf *room);

#endif
