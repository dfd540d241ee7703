/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of single calls (bpf/conn_calls.bpf.h), as EV_CALL: whose calls, how many at the most, and
 * what was left out. Part of probe/connection/conns_probe.h.
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

/* Of one reading there may be twice what was granted: a rest, and what came meanwhile. */
#define CONNS_CALLS_HELD (2 * CALLS_GRANT_MAX)

struct conns_calls {
	struct conns_bpf *skel;      /* NULL: there is no log */
	struct ring_buffer *ring;
	struct conns_call_events VEC_OF(struct event_call) events;
	size_t handed;               /* of these, by conns_calls_block() */
	bool granted;                /* some have been, at some time */
	uint64_t lost_before;           /* left out before that */
	uint64_t overflowed;             /* ... as they did not fit into `events` */
	uint32_t self;               /* our own process */
	const struct conn_table *table; /* of struct conn_seen: for their flows */
};

/* Before the programs are loaded: of which calls there will be a log. 0 or -errno. */
int conns_calls_select(struct conns_calls *calls, struct conns_bpf *skel,
		       const struct conns_log *log, const struct conn_table *table);

/* Once they are loaded, before connections are looked for. 0 or -errno. */
int conns_calls_open(struct conns_calls *calls, const struct conns_log *log);
void conns_calls_release(struct conns_calls *calls);

/* As conns_probe_choose() ... conns_probe_calls_left_out() say. */
int conns_calls_choose(struct conns_calls *calls, uint64_t cookie);
/* It has ended: the kernel may have done so before it was chosen. */
void conns_calls_forget(struct conns_calls *calls, uint64_t cookie);
int conns_calls_read(struct conns_calls *calls, uint64_t grant);
bool conns_calls_block(struct conns_calls *calls, struct event_block *block);
uint64_t conns_calls_left_out(const struct conns_calls *calls);

/* From now on others are thinned out: of those before, calls have been left out. */
void conns_calls_thinned(struct conns_calls *calls);

#endif
