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

#include "base/zpack.h"
#include "bpf/abi_conns.h"

/* Cookies are a namespace's. */
struct conn_key {
	uint64_t cookie;
	uint32_t netns;               /* inode */
};

struct conn_rtts_seen;

/*
 * Counters of a connection at its last record, and who owned it then. Most are 0, and all are kept
 * packed: the order, by width, leaves few bytes of a connection that called a few times.
 */
struct conn_counted {
#define COUNTED_U64(field, ...) uint64_t field;
#define COUNTED_U32(field, ...) uint32_t field;
#define COUNTED_U16(field, ...) uint16_t field;
	CONN_COUNTERS_FIRST(COUNTED_U64, CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	uint32_t unclear;             /* fields without a row are computed from these */
	CONN_COUNTERS_FIRST(CONN_COUNTERS_NO_ROW, COUNTED_U32, CONN_COUNTERS_NO_ROW,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	uint32_t chrono[3], probes, zero_window_us, unread_us, unclear_us;
	uint32_t sampled_us[CONN_STATES], send_sizes[CONN_SIZES], recv_sizes[CONN_SIZES];
	uint32_t pid, app, comm, cgroup, unit; /* as interned for `pid`; 0: not yet */
	CONN_COUNTERS_FIRST(CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW, COUNTED_U16,
			    CONN_COUNTERS_NO_ROW, CONN_COUNTERS_NO_ROW)
	uint16_t total_rto, sampled[CONN_STATES];
	CONN_COUNTERS_ADDED(COUNTED_U32, COUNTED_U16)
#undef COUNTED_U64
#undef COUNTED_U32
#undef COUNTED_U16
} __attribute__((aligned(ZPACK_GROUP)));

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
	struct conn_key **slots; /* open addressing */
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
