/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat conns`: loads the programs of src/bpf/conns.bpf.c, follows all TCP
 * connections of the host, and turns what is kept of them into events.
 *
 *	conns_probe_open(&probe, why, sizeof(why));
 *	conns_probe_describe(probe, sink);                   facts
 *	conns_probe_output(probe, sink, dict);               where names and EV_FLOW go
 *	at Poisson times: conns_probe_sample(probe, level, &pass);
 *	now and then: conns_probe_read(probe, level, quota, &pass);
 *	              while (conns_probe_block(probe, &block)) ...;  the EV_CONN
 *	conns_probe_free(probe);
 *
 * Nothing is pinned: when the process ends, however it ends, the kernel removes everything. A
 * socket that was there before keeps a flag that asks for calls of programs that are gone, which
 * conns_probe_free() takes back, or, after a kill -9, a process that waits for that.
 */
#ifndef HOSTLAT_PROBE_CONNS_PROBE_H
#define HOSTLAT_PROBE_CONNS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "event/dict.h"
#include "event/source.h"
#include "probe/connection/conns_pass.h"

struct conns_probe;

/* Returns 0 or -errno with the reason in words, and what to do, in `why`. */
int conns_probe_open(struct conns_probe **out, const struct conns_log *log, char *why,
		     size_t size);
void conns_probe_free(struct conns_probe *probe);

/* What this kernel doesn't tell. */
int conns_probe_describe(struct conns_probe *probe, struct event_sink *sink);

/* What is read puts EV_FLOW and EV_NAME here from now on. */
void conns_probe_output(struct conns_probe *probe, struct event_sink *sink,
			struct event_dict *dict);

/*
 * Looks at each connection of a level once: what it is doing is counted, as standing for
 * `sample_ns`. What has closed meanwhile is taken over. 0 or -errno.
 */
int conns_probe_sample(struct conns_probe *probe, enum conn_level level, double sample_ns,
		       struct conns_pass *pass);

/* From `now` on a level is sampled, or not: then its time is unknown. */
void conns_probe_cover(struct conns_probe *probe, enum conn_level level, bool sampled,
		       uint64_t now);

/* Of from..to, `ns` for which no sample of this level stands; see conn_cover_gap(). */
void conns_probe_gap(struct conns_probe *probe, enum conn_level level, uint64_t from, uint64_t to,
		     uint64_t ns);

/*
 * Reads those of a level that did something since they were read last; LEVEL_REST: of all. After
 * `quota` visited ones it pauses, and the next call goes on there; a quota of 0 reads what has
 * closed only. The EV_CONN wait for conns_probe_block(). 0 or -errno.
 */
int conns_probe_read(struct conns_probe *probe, enum conn_level level, uint64_t quota,
		     struct conns_pass *pass);

/*
 * Readable when so many connections have closed that they should be read before it is time: with a
 * quota of 0.
 */
int conns_probe_fd(const struct conns_probe *probe);

/*
 * The EV_CONN that wait, ordered by `to`, in blocks that are valid until the next call of any of
 * these; false: there are no more, and they wait no longer.
 */
bool conns_probe_block(struct conns_probe *probe, struct event_block *block);

/* Samples per second that are aimed at from now on: what EV_CONN says of it. */
void conns_probe_aim(struct conns_probe *probe, enum conn_level level, double hz);

/* Connections of each level. */
void conns_probe_members(const struct conns_probe *probe, uint64_t members[LEVELS]);

/* Of connections, one in `n` has its calls and RTTs followed from now on. */
void conns_probe_thin(struct conns_probe *probe, uint32_t n);

/* Of connections that begin from now on, one in `n`, a power of two, is followed at all. */
void conns_probe_follow(struct conns_probe *probe, uint32_t n);

void conns_probe_ends(struct conns_probe *probe, struct conns_ends *ends);

/*
 * The calls of this connection are to be logged, from when it is read next on, to its end. 0 or
 * -errno; -E2BIG: too many are chosen that have not been read.
 */
int conns_probe_choose(struct conns_probe *probe, uint64_t cookie);

/*
 * Takes over the calls that were logged, ordered by time; no more than `grant` will be until the
 * next time. 0 or -errno. They wait for conns_probe_call_block(), which is as conns_probe_block();
 * their flows have been told of if their connections have.
 */
int conns_probe_calls(struct conns_probe *probe, uint64_t grant);
bool conns_probe_call_block(struct conns_probe *probe, struct event_block *block);

/* Calls so far that should have been logged and were not, since the first grant. */
uint64_t conns_probe_calls_left_out(const struct conns_probe *probe);

void conns_probe_lost(const struct conns_probe *probe, struct conns_lost *lost);

/*
 * CPU time of the programs since the last call: how often they ran, at what those runs took that
 * were timed. False: what a run costs is not known, it is a bound.
 */
bool conns_probe_cost(struct conns_probe *probe, struct conns_push *push);

/* What they cost so far by the kernel's statistics, where these are on: ns, and times. */
void conns_probe_stats(const struct conns_probe *probe, uint64_t ns[USE_MAX],
		       uint64_t runs[USE_MAX]);

/* CPU time of the pass that began to follow the connections of this thread's own namespace. */
uint64_t conns_probe_first_ns(const struct conns_probe *probe);

/* What told connections take in user space. */
uint64_t conns_probe_memory(const struct conns_probe *probe);

#endif
