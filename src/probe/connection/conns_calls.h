/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log of single calls (bpf/conn_calls.bpf.h) as EV_CALL: selects connections, limits the number of
 * logged calls, and counts calls that are not logged. Part of probe/connection/conns_probe.h.
 */
#ifndef HOSTLAT_PROBE_CONNS_CALLS_H
#define HOSTLAT_PROBE_CONNS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/abi_calls.h"
#include "event/source.h"
#include "probe/connection/conns_pass.h"

struct conn_table;
struct conns_bpf;
struct ring_buffer;

/*
 * Maximum of logged calls per read: twice the largest grant (calls that may be logged until the
 * next read), as calls of the previous grant may still be in the ring.
 */
#define CONNS_CALLS_HELD (2 * CALLS_GRANT_MAX)

struct conns_calls {
	struct conns_bpf *skel;      /* NULL: calls are not logged */
	struct ring_buffer *ring;
	struct conns_call_events VEC_OF(struct event_call) events;
	size_t handed;               /* number of events that conns_calls_block() has returned */
	bool granted;                /* conns_calls_read() has permitted calls to be logged */
	uint64_t lost_before; /* calls missed before conns_calls_read() first permitted any */
	uint64_t overflowed;             /* calls dropped because `events` was full */
	uint32_t self;               /* pid of this process */
	const struct conn_table *table; /* items: struct conn_seen, for flow ids */
};

/* Configures the log before the programs are loaded. Returns 0 or -errno. */
int conns_calls_select(struct conns_calls *calls, struct conns_bpf *skel,
		       const struct conns_log *log, const struct conn_table *table);

/* Opens the log after loading and before the search for connections. Returns 0 or -errno. */
int conns_calls_open(struct conns_calls *calls, const struct conns_log *log);
void conns_calls_release(struct conns_calls *calls);

/*
 * Logs a connection's calls from the next pass that visits it on. Returns 0 or -errno, as
 * conns_probe_choose(). conns_calls_read(), conns_calls_block() and conns_calls_left_out() work
 * like conns_probe_calls(), conns_probe_call_block() and conns_probe_calls_left_out().
 */
int conns_calls_choose(struct conns_calls *calls, uint64_t cookie);
/*
 * Removes a closed connection from the BPF map of connections chosen for the log. A connection that
 * was chosen after its end would stay there.
 */
void conns_calls_forget(struct conns_calls *calls, uint64_t cookie);
int conns_calls_read(struct conns_calls *calls, uint64_t grant);
bool conns_calls_block(struct conns_calls *calls, struct event_block *block);
uint64_t conns_calls_left_out(const struct conns_calls *calls);

/*
 * Records that the set of connections with counted calls changes now: connections new in the set
 * may have earlier calls that were not logged.
 */
void conns_calls_thinned(struct conns_calls *calls);

#endif
