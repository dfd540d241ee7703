/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables of connections, and each connection's counters at its last report, from which the
 * next report takes differences. Connections that were never active have no entry.
 */
#ifndef HOSTLAT_PROBE_CONN_TABLE_H
#define HOSTLAT_PROBE_CONN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/zpack.h"
#include "bpf/abi_conns.h"

/* Identifies a connection: cookies are unique within a namespace. */
struct conn_key {
	uint64_t cookie;
	uint32_t netns;               /* inode of the namespace */
};

struct conn_rtts_seen;

/*
 * Counters of a connection at its last report, and its owner then. Stored packed: most counters are
 * 0, and the order by width leaves few bytes for a connection with a few calls.
 */
struct conn_counted {
#define COUNTED_U64(field, ...) uint64_t field;
#define COUNTED_U32(field, ...) uint32_t field;
#define COUNTED_U16(field, ...) uint16_t field;
	CONN_COUNTERS_FIRST(COUNTED_U64, CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	/*
	 * number of samples that fit several states; like all members that the macro list
	 * CONN_COUNTERS lacks, the input of a computed field
	 */
	uint32_t unclear;
	CONN_COUNTERS_FIRST(CONN_COUNTERS_NO_ROW, COUNTED_U32, CONN_COUNTERS_NO_ROW,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	uint32_t chrono[3], probes, zero_window_us, unread_us, unclear_us;
	uint32_t sampled_us[CONN_STATES], send_sizes[CONN_SIZES], recv_sizes[CONN_SIZES];
	uint32_t pid, app, comm, cgroup, unit; /* pid and its interned names; 0: not interned yet */
	CONN_COUNTERS_FIRST(CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW, COUNTED_U16,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	uint16_t total_rto, sampled[CONN_STATES];
	CONN_COUNTERS_ADDED(COUNTED_U32, COUNTED_U16)
#undef COUNTED_U64
#undef COUNTED_U32
#undef COUNTED_U16
} __attribute__((aligned(ZPACK_GROUP)));

/* A connection at its last report: 40 bytes, and 48 more if it made a few calls. */
struct conn_seen {
	struct conn_key key;
	uint64_t to;                  /* end of the last report's interval */
	uint32_t flow;
	uint16_t room;                /* allocated bytes of `counted` */
	struct conn_rtts_seen *rtts;  /* freed by the table's owner; NULL: no round trips yet */
	unsigned char counted[];      /* struct conn_counted, packed: base/zpack.h */
};

/* Table of structs that begin with a struct conn_key. Zero-initialized but for `item`. */
struct conn_table {
	struct conn_key **slots; /* hash table with open addressing */
	size_t n, size;           /* items; slots: a power of two, or 0 */
	size_t item;              /* size of a new item in bytes */
};

void conn_table_free(struct conn_table *table);

/* Returns the connection's item, or NULL if there is none. */
void *conn_table_find(const struct conn_table *table, uint32_t netns, uint64_t cookie);

/* Adds an item, zeroed but for its key. Returns NULL without memory. */
void *conn_table_add(struct conn_table *table, uint32_t netns, uint64_t cookie);

/*
 * Resizes an item, which may move, and keeps its contents. Returns NULL without memory; the old
 * item then stays valid.
 */
void *conn_table_resize(struct conn_table *table, struct conn_key *item, size_t size);

/* Removes and frees an item that is in the table. */
void conn_table_remove(struct conn_table *table, struct conn_key *item);

/* Returns the next item, from *at = 0 on; NULL: no more. Add or remove no item meanwhile. */
void *conn_table_next(const struct conn_table *table, size_t *at);

#endif
