/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of connections, and what is remembered of each one that has been told, to tell the next
 * time what it did since: counters as they were. Who never did anything is not among these.
 */
#ifndef HOSTLAT_PROBE_CONN_TABLE_H
#define HOSTLAT_PROBE_CONN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

/* Counters that only grow. The order is the probe's own. */
enum conn_wide {
	WIDE_SENT, WIDE_ACKED, WIDE_RECEIVED, WIDE_RETRANSMITTED, WIDE_RECOVERY, WIDE_LOSS,
	WIDE_STALL, WIDE_SEND_BYTES, WIDE_RECV_BYTES, WIDE_RTT_SUM, WIDE_MAX,
};

enum conn_narrow {
	NARROW_CHRONO_BUSY, NARROW_CHRONO_RWND, NARROW_CHRONO_SNDBUF, NARROW_DSACKS,
	NARROW_RTT_SAMPLES, NARROW_FAST_RETRANSMIT, NARROW_PROBES, NARROW_SEND_CALLS,
	NARROW_RECV_CALLS, NARROW_SMALL, NARROW_BLOCKED, NARROW_DELACKS, NARROW_ZERO_WINDOW_US,
	NARROW_UNREAD_US, NARROW_UNCLEAR, NARROW_UNCLEAR_US, NARROW_SAMPLED_US,
	NARROW_SEND_SIZES = NARROW_SAMPLED_US + CONN_STATES,
	NARROW_RECV_SIZES = NARROW_SEND_SIZES + CONN_SIZES,
	NARROW_16_BIT = NARROW_RECV_SIZES + CONN_SIZES, /* these run over; see struct conn_kept */
	NARROW_PEER_DELACKS = NARROW_16_BIT, NARROW_HARMFUL, NARROW_TLP, NARROW_RTO,
	NARROW_TOTAL_RTO, NARROW_RECOVERIES, NARROW_STALLS, NARROW_BURSTS, NARROW_BURSTS_LOST,
	NARROW_RESTARTS, NARROW_ZERO_WINDOWS, NARROW_UNREAD, NARROW_SAMPLED,
	NARROW_MAX = NARROW_SAMPLED + CONN_STATES,
};

/* Cookies are a namespace's. */
struct conn_key {
	uint64_t cookie;
	uint32_t netns;               /* inode */
};

struct conn_rtts_seen;

/* What had been counted of a connection, and whose it was. Most of it is 0. */
struct conn_counted {
	uint64_t wide[WIDE_MAX];
	uint32_t narrow[NARROW_MAX];
	uint32_t pid, app, comm, cgroup, unit; /* as interned for `pid`; 0: not yet */
	uint32_t pad[3];
};

/* 40 bytes, and 48 more of one that called a few times. */
struct conn_seen {
	struct conn_key key;
	uint64_t to;                  /* told up to here */
	uint32_t flow;
	uint16_t room;                /* bytes of `counted` */
	struct conn_rtts_seen *rtts;  /* owned by who has the table; NULL: none yet */
	unsigned char counted[];      /* a struct conn_counted, packed: base/zpack.h */
};

/* Of structs that begin with a struct conn_key. Begins zeroed, but for `item`. */
struct conn_table {
	struct conn_key **places; /* open addressing */
	size_t n, size;           /* size: a power of two, or 0 */
	size_t item;              /* bytes of a new one */
};

void conn_table_free(struct conn_table *table);

/* NULL: there is none. */
void *conn_table_find(const struct conn_table *table, uint32_t netns, uint64_t cookie);

/* A new one, zeroed but for what identifies it. NULL: no memory. */
void *conn_table_add(struct conn_table *table, uint32_t netns, uint64_t cookie);

/* One of another size, with the same contents, takes its place. NULL: no memory, it stays. */
void *conn_table_resize(struct conn_table *table, struct conn_key *item, size_t size);

/* What is removed must be in it. */
void conn_table_remove(struct conn_table *table, struct conn_key *item);

/* The next one, from *at = 0 on; NULL: no more. Nothing is added or removed meanwhile. */
void *conn_table_next(const struct conn_table *table, size_t *at);

#endif
