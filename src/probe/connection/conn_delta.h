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

#define CONN_EVENTS_MAX 2000000 /* events of one read: 2 GiB */
#define CONN_EVENTS_FEW 4096    /* events for which memory is kept between reads */
#define CONN_OWNERS 4096        /* cache of processes with interned names */

/* A process with its interned names. */
struct conn_owner {
	uint32_t pid;               /* 0: free */
	char comm_text[EVENT_COMM_LEN];
	uint32_t app, comm, cgroup, unit;
};

struct conn_delta {
	uint32_t self;                  /* pid of this process */
	uint32_t known;                 /* enum conn_known that holds for all records */
	/* calls are seen below TLS, which is wrong for kTLS sockets */
	bool calls_below_tls;
	uint64_t tick_ns;               /* tick of the kernel's chronographs */
	struct conn_table table;        /* struct conn_seen by cookie and namespace */
	uint64_t counted_bytes;         /* bytes of `counted` of all entries */
	uint64_t rtts_bytes;            /* bytes of `rtts` of all entries */
	struct conn_events VEC_OF(struct event_conn) events;
	size_t handed;                  /* number of events that conn_delta_block() has returned */
	struct conn_owner *owners;
	struct host_netns_vec namespaces; /* source of namespace names; filled in by the caller */
	/* receives names and EV_FLOW; set by the caller, as is `dict` */
	struct event_sink *sink;
	struct event_dict *dict;
	char cc_text[EVENT_COMM_LEN];   /* last congestion control; `cc` is its interned name */
	uint32_t cc;
	double hz[LEVELS];              /* target sampling rate of each level */
	struct conn_cover cover[LEVELS];
	uint32_t thinned_one_in;        /* see conn_delta_thin() */
	uint64_t thinned_until[CONN_THIN_MAX + 1]; /* when one in 2^i or more was last sampled */
	uint32_t flows;
	uint64_t records, closed;       /* snapshots added so far; those of closed connections */
	int err;                        /* first error */
};

/* Returns 0 or -ENOMEM. Release it in either case. */
int conn_delta_init(struct conn_delta *delta);
void conn_delta_release(struct conn_delta *delta);

/* From `now` on, one in `n` connections is sampled. */
void conn_delta_thin(struct conn_delta *delta, uint32_t n, uint64_t now);

/* Samples that fit several states, and are therefore in none of the record's. */
struct conn_unclear {
	uint32_t samples, us; /* samples and the time that they stand for, so far; both wrap */
};

/*
 * Adds the difference to the connection's last snapshot to `events`. `unclear` may be NULL: no such
 * samples.
 */
void conn_delta_add(struct conn_delta *delta, const struct conn_snapshot *record,
		    const struct conn_unclear *unclear);

/* Puts a fact CONNS_PROBE_FACT_MISSING for each of `lines`, "name: why". Returns 0 or -errno. */
int conn_delta_put_missing(const char *lines, uint64_t time, struct event_sink *sink);

/* Returns the next block of events, as conns_probe_block(). */
bool conn_delta_block(struct conn_delta *delta, struct event_block *block);

#endif
