/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the kernel's cumulative records of connections (struct conn_snapshot) into events. */
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

#define CONN_EVENTS_MAX 2000000 /* maximum of events per read: 2 GiB */
#define CONN_EVENTS_FEW 4096 /* number of events for which memory stays allocated between reads */
#define CONN_OWNERS 4096        /* entries of the cache of processes with interned names */

/* A process with its interned names. */
struct conn_owner {
	uint32_t pid;               /* process id; 0: the entry is free */
	char comm_text[EVENT_COMM_LEN];
	uint32_t app, comm, cgroup, unit;
};

struct conn_delta {
	uint32_t self;                  /* pid of this process */
	uint32_t known;                 /* fields known in all records: enum conn_known bits */
	/* call hooks lie below TLS, so call counts are wrong for kTLS sockets */
	bool calls_below_tls;
	uint64_t tick_ns;               /* ns per tick of the chronographs */
	struct conn_table table;        /* items: struct conn_seen */
	uint64_t counted_bytes;         /* memory of all entries' array `counted` */
	uint64_t rtts_bytes;            /* memory of all entries' histograms `rtts` */
	struct conn_events VEC_OF(struct event_conn) events;
	size_t handed;                  /* number of events that conn_delta_block() has returned */
	struct conn_owner *owners;
	struct host_netns_vec namespaces; /* namespaces with names; filled in by the caller */
	/* receives names and EV_FLOW; set by the caller, as is `dict` */
	struct event_sink *sink;
	struct event_dict *dict;
	char cc_text[EVENT_COMM_LEN];   /* last congestion control; `cc` is its interned name */
	uint32_t cc;
	double hz[LEVELS];              /* target samples per second of each activity level */
	struct conn_cover cover[LEVELS];
	uint32_t thinned_one_in; /* one in so many connections has its calls and RTTs counted */
	/* by i: time until which one in 2^i connections, or fewer, had calls and RTTs counted */
	uint64_t thinned_until[CONN_THIN_MAX + 1];
	uint32_t flows;
	/* added snapshots so far; added snapshots of closed connections */
	uint64_t records, closed;
	int err;                        /* first error: -errno; 0: none */
};

/* Returns 0 or -ENOMEM. Call conn_delta_release() in either case. */
int conn_delta_init(struct conn_delta *delta);
void conn_delta_release(struct conn_delta *delta);

/* Records that one in `n` connections has its calls and round trips counted from `now` on. */
void conn_delta_thin(struct conn_delta *delta, uint32_t n, uint64_t now);

/* A connection's samples that fit several states, and therefore count for no state. */
struct conn_unclear {
	uint32_t samples, us; /* number of samples, and us that they represent, so far; both wrap */
};

/*
 * Adds an event to `events`, with the differences between `record` and the connection's last
 * snapshot. `unclear` NULL: no sample fits several states.
 */
void conn_delta_add(struct conn_delta *delta, const struct conn_snapshot *record,
		    const struct conn_unclear *unclear);

/* Writes a fact CONNS_PROBE_FACT_MISSING for each line "name: why". Returns 0 or -errno. */
int conn_delta_put_missing(const char *lines, uint64_t time, struct event_sink *sink);

/* Returns the next block of EV_CONN, ordered by `to`, valid until the next call; false: no more. */
bool conn_delta_block(struct conn_delta *delta, struct event_block *block);

#endif
