/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat conns`: loads the programs of src/bpf/conns.bpf.c, follows all TCP
 * connections of the host, and turns what is kept of them into events.
 *
 *	conns_probe_open(&probe, &config, why, sizeof(why));
 *	conns_probe_describe(probe, sink);                   facts
 *	at Poisson times: conns_probe_sample(probe, level);
 *	now and then: conns_probe_read(probe, level, true, sink, dict);  EV_FLOW, names
 *	              conns_probe_block(probe, &block);      the EV_CONN of it
 *	conns_probe_free(probe);
 *
 * Nothing is pinned: when the process ends, however it ends, the kernel removes everything. A
 * socket that was there before keeps a flag that asks for calls of programs that are gone, which
 * conns_probe_free() takes back; after a kill -9 it costs the kernel an empty call per round trip.
 */
#ifndef HOSTLAT_PROBE_CONNS_PROBE_H
#define HOSTLAT_PROBE_CONNS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "event/dict.h"
#include "event/source.h"

struct conns_probe;

/* Returns 0 or -errno with the reason in words, and what to do, in `why`. */
int conns_probe_open(struct conns_probe **out, char *why, size_t size);
void conns_probe_free(struct conns_probe *probe);

/* One per thing that this kernel doesn't tell: "what: why". */
#define CONNS_PROBE_FACT_MISSING "conns.missing"
int conns_probe_describe(struct conns_probe *probe, struct event_sink *sink);

/* What a pass has met. */
struct conns_pass {
	uint64_t members;   /* connections of the level */
	uint64_t told;
	uint64_t cpu_ns;    /* of this thread, the kernel's part included */
};

/* Looks at each connection of a level once: what it is doing is counted. 0 or -errno. */
int conns_probe_sample(struct conns_probe *probe, enum conn_level level, struct conns_pass *pass);

/*
 * Reads those of a level that did something since they were read last; LEVEL_REST: of all. What
 * closed meanwhile is in it, too. The EV_CONN wait for conns_probe_block(). 0 or -errno.
 */
int conns_probe_read(struct conns_probe *probe, enum conn_level level, struct event_sink *sink,
		     struct event_dict *dict, struct conns_pass *pass);

/* The EV_CONN that wait, ordered by `to`, until the next read; false: there are none. */
bool conns_probe_block(struct conns_probe *probe, struct event_block *block);

/* Of the calls and RTTs of new connections, those of one in `n` are followed. */
void conns_probe_thin(struct conns_probe *probe, uint32_t n);

/* What is lost so far. */
struct conns_lost {
	uint64_t no_memory; /* connections that are not followed */
	uint64_t ring;      /* closed ones whose end was not told */
	uint64_t timers;    /* delayed ACKs that were not counted */
};

void conns_probe_lost(const struct conns_probe *probe, struct conns_lost *lost);

/* Times that programs ran so far, by enum conn_use. */
void conns_probe_uses(const struct conns_probe *probe, uint64_t uses[USE_MAX]);

/* What they cost so far by the kernel's statistics, where these are on: ns, and times. */
void conns_probe_stats(const struct conns_probe *probe, uint64_t ns[USE_MAX],
		       uint64_t runs[USE_MAX]);

/* CPU time of the pass that began to follow the connections of this thread's own namespace. */
uint64_t conns_probe_first_ns(const struct conns_probe *probe);

/* What told connections take in user space. */
uint64_t conns_probe_memory(const struct conns_probe *probe);

#endif
