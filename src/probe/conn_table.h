/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of each connection that has been told, to tell the next time what it did
 * since: counters as they were. A connection that never did anything is not in it.
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
	NARROW_UNREAD_US, NARROW_SAMPLED_US,
	NARROW_SEND_SIZES = NARROW_SAMPLED_US + CONN_STATES,
	NARROW_RECV_SIZES = NARROW_SEND_SIZES + CONN_SIZES,
	NARROW_16_BIT = NARROW_RECV_SIZES + CONN_SIZES, /* these run over; see struct conn_kept */
	NARROW_PEER_DELACKS = NARROW_16_BIT, NARROW_HARMFUL, NARROW_TLP, NARROW_RTO,
	NARROW_TOTAL_RTO, NARROW_RECOVERIES, NARROW_STALLS, NARROW_BURSTS, NARROW_BURSTS_LOST,
	NARROW_RESTARTS, NARROW_ZERO_WINDOWS, NARROW_UNREAD, NARROW_SAMPLED,
	NARROW_MAX = NARROW_SAMPLED + CONN_STATES,
};

struct conn_seen {
	uint64_t cookie;
	uint64_t to;                  /* told up to here */
	uint64_t wide[WIDE_MAX];
	uint32_t narrow[NARROW_MAX];
	uint32_t netns;               /* inode: cookies are a namespace's */
	uint32_t flow;
	uint32_t pid, app, comm, cgroup, unit; /* as interned for `pid`; 0: not yet */
};

struct conn_table {
	struct conn_seen **places; /* open addressing */
	size_t n, size;            /* size: a power of two, or 0 */
};

void conn_table_free(struct conn_table *table);

/* NULL: there is none. */
struct conn_seen *conn_table_find(const struct conn_table *table, uint32_t netns, uint64_t cookie);

/* A new one, zeroed but for what identifies it. NULL: no memory. */
struct conn_seen *conn_table_add(struct conn_table *table, uint32_t netns, uint64_t cookie);

void conn_table_remove(struct conn_table *table, struct conn_seen *seen);

#endif
