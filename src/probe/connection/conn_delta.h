/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel told of connections (struct conn_snapshot), as events. */
#ifndef HOSTLAT_PROBE_CONN_DELTA_H
#define HOSTLAT_PROBE_CONN_DELTA_H

#include "base/vec.h"
#include "bpf/abi_conns.h"
#include "event/dict.h"
#include "event/source.h"
#include "host/netns.h"
#include "probe/connection/conn_cover.h"
#include "probe/connection/conn_rtts.h"
#include "probe/connection/conn_table.h"
#include "probe/connection/conns_pass.h"

#define CONN_EVENTS_MAX 2000000 /* of one read: 2 GiB */
#define CONN_EVENTS_FEW 4096    /* memory that is not given back */
#define CONN_OWNERS 4096        /* processes whose names are remembered */

/* Who a process is, as interned. */
struct conn_owner {
	uint32_t pid;               /* 0: free */
	char comm_text[EVENT_COMM_LEN];
	uint32_t app, comm, cgroup, unit;
};

struct conn_delta {
	uint32_t self;                  /* our own process */
	uint32_t known;                 /* enum conn_known, of all records */
	bool calls_below_tls;           /* calls are seen in TCP: those of TLS's sockets are not */
	uint64_t tick_ns;               /* of the kernel's chronographs */
	struct conn_table table;        /* of struct conn_seen */
	uint64_t counted_bytes;         /* of these */
	uint64_t rtts_bytes;            /* what these hold beside it */
	struct conn_events VEC_OF(struct event_conn) events;
	size_t handed;                  /* of these, by conn_delta_block() */
	struct conn_owner *owners;
	struct host_netns_vec namespaces; /* for their names; filled in by the caller */
	struct event_sink *sink;        /* for names and EV_FLOW; set by the caller, as is `dict` */
	struct event_dict *dict;
	char cc_text[EVENT_COMM_LEN];   /* the congestion control that came last, interned */
	uint32_t cc;
	double hz[LEVELS];              /* samples that are aimed at */
	struct conn_cover cover[LEVELS];
	uint32_t thinned_one_in;        /* conn_delta_thin() */
	uint64_t thinned_until[CONN_THIN_MAX + 1]; /* when one of 2^i or more was last followed */
	uint32_t flows;
	uint64_t records, closed;       /* that were told so far; of connections that had closed */
	int err;                        /* the first error */
};

/* 0 or -ENOMEM. To be released in either case. */
int conn_delta_init(struct conn_delta *delta);
void conn_delta_release(struct conn_delta *delta);

/* From `now` on, one in `n` is followed. */
void conn_delta_thin(struct conn_delta *delta, uint32_t n, uint64_t now);

/*
 * Samples of a connection so far that are in none of the record's, as what they found fits to
 * several states.
 */
struct conn_unclear {
	uint32_t samples, us; /* that they stand for; both run over */
};

/* A record, as an event in `events`; `unclear` NULL: there are none. */
void conn_delta_add(struct conn_delta *delta, const struct conn_snapshot *record,
		    const struct conn_unclear *unclear);

/* A fact CONNS_PROBE_FACT_MISSING for each of `lines`, "name: why". */
int conn_delta_put_missing(const char *lines, uint64_t time, struct event_sink *sink);

/* As conns_probe_block() says. */
bool conn_delta_block(struct conn_delta *delta, struct event_block *block);

#endif
