/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the analysis: packed totals of each connection, and unpacked records of the current
 * interval. The cookies of namespace and socket identify a connection.
 */
#ifndef HOSTLAT_CONNS_STATE_H
#define HOSTLAT_CONNS_STATE_H

#include "base/vec.h"
#include "conns/conns.h"
#include "conns/problem.h"
#include "event/dict.h"

/* Limits. At CONNS_MAX connections, those that have closed are dropped, and counted. */
#define CONNS_MAX 262144u
#define CONNS_FLOWS_MAX (CONNS_MAX + 65536u)
#define CONNS_INTERVAL_RECORDS_MIN 4096u /* records whose memory stays between intervals */
#define CONNS_FOLLOWED_MAX 10000u   /* intervals of the followed connection */
#define CONNS_CALLS_MAX 10000u      /* logged calls of the followed connection */
#define CONNS_COUNTS_MAX 256u       /* counters: one per enum count_what and reason */
#define CONNS_MISSING_MAX 256u
#define CONNS_SENTENCES_MAX 16u
#define CONNS_CROSSES_MAX 4096u     /* struct conn_cross in an interval; also in the totals */
#define CONNS_SERIES_MAX 4096u      /* connections of tasks that may be proxies */
#define CONNS_SAME_TUPLE 256u       /* connections in by_tuple with equal addresses and ports */
#define CONNS_SAME_COOKIE 256u      /* namespaces with a socket of the same cookie */
#define CONNS_TICKS 120u            /* length of a time series, in intervals */

/* Share of each end's time that must be common to judge one end by the other. */
#define CONNS_COMMON_MIN 0.8

/*
 * A connection's state: 56 bytes plus the packed totals. In all, that is about 150 bytes for a
 * connection that waits for its application, and 340 for a connection with losses, calls and round
 * trips of several sizes.
 */
struct conn {
	uint64_t cookie;
	unsigned char *packed;         /* struct event_conn without `cookie`; NULL: none yet */
	/* Indices + 1, up to `series`; 0: none. `next`: in by_key's hash chain or the free list. */
	uint32_t next;
	uint32_t tuple_next;           /* next connection in by_tuple's hash chain: index + 1 */
	uint32_t flow;
	uint32_t peer;                 /* index + 1 of the other end, if on this host; else 0 */
	uint32_t interval_record;      /* index + 1 in interval_records; 0: no record yet */
	uint32_t series;
	uint32_t problem_intervals;
	uint32_t tick;                 /* number of the interval of the last record */
	/* -- by the last interval report that had a record of it; see conns/select.h -- */
	uint32_t harmful;              /* mask of problem classes for which data waited */
	uint16_t room;                 /* allocated bytes of `packed`, see base/zpack.h */
	uint8_t status;                /* enum conn_status */
	bool shown : 1;                /* it matched --filter and --follow */
	bool used : 1;
	bool closed : 1;               /* the connection is closed, and listed in conns.ended */
	bool unlisted : 1; /* not in by_tuple: too many connections have its addresses */
	bool counted : 1;              /* conns/app_counters.h has counted the connection */
};

struct conn_flow {
	struct event_flow e;
	uint32_t next; /* next in by_flow's hash chain or in the free list: index + 1 */
	uint32_t users : 31;           /* number of connections with this flow */
	uint32_t used : 1;
};

struct conn_interval_record {
	struct event_conn c;
	uint32_t conn;                 /* index in conns.all */
	struct conn_judged judged;     /* valid once the interval is closed */
};

/* A burst of data in which a packet was lost, from one record. */
struct conn_lost_burst {
	uint32_t conn;                 /* index in conns.all */
	bool at_receiver; /* a reply was lost: `write` and `loss` are the request's time */
	uint64_t write, loss;
};

/* Where data goes: an address, in its namespace if others have it, too. No padding: compared. */
struct conn_receiver {
	uint8_t address[16];
	uint64_t netns_cookie;         /* 0: the address is unique */
	uint16_t family;
	uint16_t port;                 /* remote port; 0: all connections of the address */
	uint32_t at_receiver;          /* 1: this host requested the data */
};

/* Losing bursts to a receiver in one of the last minute's intervals. */
struct conn_lost_before {
	struct conn_receiver receiver;
	uint64_t to_ns;                /* end of the interval */
	uint32_t bursts;
	bool together;                 /* they are one group, and also counted singly */
};

/* A connection's part in a problem of several connections. */
struct conn_cross {
	uint32_t conn;                 /* index in conns.all */
	enum conn_class class;
	uint32_t members;              /* connections with the problem, this one included */
	uint32_t episodes;
	uint64_t loss_within_ns;       /* incast: from the first loss to the last, ns */
	uint64_t write_within_ns;
	bool at_receiver;              /* incast: this host requested the data */
	uint64_t other;                /* proxy: cookie of the starved connection */
	uint32_t intervals;
	double rho, p;
	/*
	 * spread: tail-loss probes, timeouts, fast retransmissions of all connections with the
	 * problem
	 */
	uint64_t probes, timeouts, fast;
};

struct conn_crosses VEC_OF(struct conn_cross);

/*
 * Time series of a connection: shares of each interval, in steps of 1/250. Interval i of the run is
 * at index i % CONNS_TICKS.
 */
struct conn_series {
	uint32_t conn;                 /* index in conns.all */
	uint32_t pid;
	uint64_t since;                /* number of the first interval in the series */
	uint8_t held[CONNS_TICKS];     /* share of time held by a delayed ACK or a window */
	uint8_t starved[CONNS_TICKS];  /* share of time without data from the application */
};

struct conn_count {
	uint8_t what;                  /* enum count_what */
	uint32_t reason;               /* number of the reason's name in DICT_STRING */
	uint64_t count[CONNS_SPANS];
};

struct conns_period {
	uint64_t intervals;
	uint64_t from_ns, to_ns;
	uint64_t own_user_ns, own_bpf_ns;
	bool bpf_cost_unknown, bpf_cost_estimated;
	uint64_t unseen;               /* intervals without sampling */
	uint64_t late;                 /* intervals with INTERVAL_LATE */
	uint64_t lost_records;         /* records lost in the event stream */
	uint64_t names_lost;           /* names lost because of LOSS_DICT_FULL */
	uint64_t refused;              /* events with impossible values */
	uint64_t beyond;               /* events beyond a CONNS_*_MAX limit */
	uint64_t forgotten;            /* closed connections dropped to limit memory */
	uint64_t unfollowed;           /* proxy search: tasks left out at CONNS_SERIES_MAX */
	uint64_t own;                  /* records of hostlat's own connections */
	bool partial, shed;
};

/* The other ends of connections, in another host's recording. Created by peer_match_new(). */
struct peer_recording {
	struct conns *c;               /* the other recording, in the clock of this one */
	struct conns_host here, there;
	uint64_t error_ns;             /* bound of the error of the other recording's times */
	uint32_t *other; /* by index in this recording: index + 1 of the other end; 0: none */
	uint64_t *not_joined;          /* number of unmatched connections by enum peer_match_why */
	uint64_t joined;
	/* median distance of begins beyond an RTT: other host - this host */
	int64_t began_apart_ns;
	uint64_t began_both;           /* joined connections whose begin both hosts recorded */
};

struct conns {
	struct conns_options options;
	struct conns_window window;
	const struct peer_recording *peer_recording; /* NULL: one recording only */
	struct conns_all VEC_OF(struct conn) all; /* connections; some array elements are free */
	struct conns_flows VEC_OF(struct conn_flow) flows;
	struct conns_interval_records VEC_OF(struct conn_interval_record) interval_records;
	struct conn_problems found;    /* problems of the current interval */
	/* bursts with losses in this interval */
	struct conns_bursts VEC_OF(struct conn_lost_burst) bursts;
	/* losing bursts of the last minute, by receiver and then time */
	struct conns_lost_befores VEC_OF(struct conn_lost_before)
		lost_before;
	/* receivers in lost_before that may have an incast: addresses, and addresses with port */
	uint32_t losing_receivers[2];
	uint32_t free_conn, free_flow; /* index + 1 of the first free entry; 0: none */
	uint32_t *by_key, *by_tuple, *by_flow; /* hash tables: index + 1 of a chain's first */
	struct conns_ended VEC_OF(uint32_t) ended; /* indices of closed connections */
	bool swept;                    /* closed connections were dropped in this interval */
	uint64_t steps; /* work so far: steps in hash chains, and examined pairs of ends */
	size_t n;                      /* number of connections in `all` */
	struct conns_counts VEC_OF(struct conn_count) counts;
	struct conns_missing VEC_OF(char *) missing;
	/* findings about problems in the last interval with samples that was reported */
	struct conns_sentences VEC_OF(char *) sentences;
	struct conn_crosses crosses[CONNS_SPANS]; /* connections' parts in incasts, by span */
	struct conns_series VEC_OF(struct conn_series) series;
	uint64_t tick;                 /* number of intervals so far */
	uint64_t tick_to_ns[CONNS_TICKS]; /* end of interval i, at index i % CONNS_TICKS */
	struct conns_followed VEC_OF(struct conn_interval_record) followed;
	uint64_t followed_dropped;
	/* calls of the followed connection, by sequence number */
	struct conns_call_log VEC_OF(struct event_call) calls;
	uint64_t calls_dropped;
	struct conns_period periods[CONNS_SPANS];
	char *budget_low, *budget_high;
	bool closed;                   /* the interval is closed: the next EV_CONN begins another */
	bool from_diag;                /* a record is from inet_diag */
	uint64_t seen_to_ns;           /* end of the last interval with samples; 0: none yet */
	struct event_damage damage;
	struct event_dict *names;
};

/* Memory for a view, whose records may have to be unpacked. */
struct conn_view_buf {
	struct conn_view view;
	struct event_conn own, other;
};

/* Unpacks the totals; unpacking and packing again changes nothing. */
void conn_unpack(const struct conn *conn, struct event_conn *out);
/*
 * Packs the totals into `conn`. Returns 0, or -ENOMEM and leaves the packed totals as they were.
 * Changes `total` while it packs and restores it.
 */
int conn_pack(struct conn *conn, struct event_conn *total);

/* Returns the flow with this number, or NULL if the stream has not defined it. */
struct conn_flow *conns_flow_find(struct conns *c, uint32_t id);
/* Stores a copy of the flow. Returns 0, -ENOMEM or -E2BIG. */
int conns_flow_set(struct conns *c, const struct event_flow *flow);

/*
 * Returns the connection with the record's cookie and namespace, creating it if needed; or NULL
 * with *err = -ENOMEM or -E2BIG.
 */
struct conn *conns_get(struct conns *c, const struct event_conn *e, int *err);

/* Marks a connection as closed: it may be dropped to limit memory. Returns 0 or -ENOMEM. */
int conns_note_closed(struct conns *c, struct conn *conn);

/* Returns the connection's index + 1, or 0. `flow` is NULL if the namespace is unknown. */
uint32_t conns_find(struct conns *c, uint64_t cookie, const struct event_flow *flow);

/*
 * Returns the index + 1 of a connection with `flow`'s addresses reversed: the next after `at`, an
 * index + 1 (0 at first); or 0.
 */
uint32_t conns_reversed(struct conns *c, const struct event_flow *flow, uint32_t at);

static inline const struct event_flow *conns_flow_of(const struct conns *c,
						     const struct conn *conn)
{
	return conn->flow ? &c->flows.items[conn->flow - 1].e : NULL;
}

/* Returns the name with this number in a dictionary; NULL if the stream has not defined it. */
static inline const char *conns_name(const struct conns *c, uint32_t dict, uint32_t id)
{
	return id ? event_dict_get(c->names, dict, id) : NULL;
}

/*
 * Fills in the view of the peer in the other recording, without its problems. Returns false if
 * there is no match.
 */
bool conns_view_peer(const struct conns *c, uint32_t conn, struct conn_view_buf *room);

/*
 * Returns a connection's record of the span: the interval's, or its totals, unpacked into `room`.
 * NULL: the connection has no record in the span.
 */
const struct event_conn *conns_record(const struct conns *c, enum conns_span span,
				      const struct conn *conn, struct event_conn *room);

/*
 * Fills in a view. Returns false if the connection has no record in the span. The view includes
 * problems in a closed interval, but not in totals.
 */
bool conns_view(const struct conns *c, enum conns_span span, uint32_t conn,
		struct conn_view_buf *room);

#endif
