/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a load generator's recording, with the threads that made them. */
#ifndef HOSTLAT_DIAGNOSE_LOAD_SIDE_H
#define HOSTLAT_DIAGNOSE_LOAD_SIDE_H

#include "diagnose/state.h"

#define LOAD_SIDE_MAX (4u << 20)  /* requests that are read, at most */

/*
 * Requests of the load, even failed and warm-up ones: they occupy their connection from `sent` to
 * `done`.
 */
struct samples VEC_OF(struct event_sample);

/* The thread of a flow's samples, by the number of the thread. */
struct flow_owner {
	uint32_t flow, core;
};

struct load_thread_id {
	uint64_t core, tid;
};

struct load_side {
	struct flow_owners VEC_OF(struct flow_owner) owners; /* by flow, from the end of reading */
	struct load_thread_ids VEC_OF(struct load_thread_id) threads;
	struct samples samples; /* requests by flow, then by the time at which they were sent */
	bool *queued;           /* by sample: the request waited for a slot on a connection */
	struct flows flows;
	uint64_t connections, outstanding; /* number of connections; requests that each may have
					    * outstanding; 0: unknown */
	uint64_t beyond;        /* requests that count, beyond LOAD_SIDE_MAX */
	uint64_t from_ns, to_ns; /* requests count that were due in [from_ns, to_ns) */
};

/* Returns true for a request that was answered, and due while requests count. */
static inline bool load_side_counts(const struct load_side *load, const struct event_sample *s)
{
	return !(s->flags & (SAMPLE_FAILED | SAMPLE_WARMUP)) && s->intended >= load->from_ns &&
	       s->intended < load->to_ns;
}

/* Returns true for a request that was sent and answered after the warm-up, its times in order. */
bool request_counts(const struct event_sample *sample);

void load_side_init(struct load_side *load, const struct diagnose_load *of);
void load_side_release(struct load_side *load);

/* Reads all requests. Returns 0, -errno of the reader, or -ENOMEM. */
int load_side_read(struct load_side *load, struct event_reader *reader);

/* Returns the tid of the thread that sent a flow's requests; 0: unknown. */
uint32_t load_side_tid(const struct load_side *load, uint32_t flow);

#endif
