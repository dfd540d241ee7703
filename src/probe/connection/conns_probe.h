/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat conns`: loads the programs of src/bpf/conns.bpf.c, follows all TCP
 * connections of the host, and turns their records into events.
 *
 *	conns_probe_open(&probe, why, sizeof(why));
 *	conns_probe_describe(probe, sink);                   facts
 *	conns_probe_output(probe, sink, dict);               where names and EV_FLOW go
 *	at Poisson times: conns_probe_sample(probe, level, &pass);
 *	now and then: conns_probe_read(probe, level, quota, &pass);
 *	              while (conns_probe_block(probe, &block)) ...;  the EV_CONN
 *	conns_probe_free(probe);
 *
 * Nothing is pinned: when the process ends in any way, the kernel removes the programs. Flags stay
 * in sockets that were open before, until conns_probe_free() clears them. After a kill -9, a
 * waiting process (base/restorer.h) clears the flags.
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

/*
 * Opens the source; release it with conns_probe_free(). Returns 0, or -errno and advice in `why`.
 */
int conns_probe_open(struct conns_probe **out, const struct conns_log *log, char *why,
		     size_t size);
void conns_probe_free(struct conns_probe *probe);

/* Writes facts on values that this kernel does not report. Returns 0 or -errno. */
int conns_probe_describe(struct conns_probe *probe, struct event_sink *sink);

/* Sets the destination of the EV_FLOW and EV_NAME that reads produce. */
void conns_probe_output(struct conns_probe *probe, struct event_sink *sink,
			struct event_dict *dict);

/*
 * Samples each connection of an activity level once; a sample represents `sample_ns`. Also reads
 * records of closed connections. Returns 0 or -errno.
 */
int conns_probe_sample(struct conns_probe *probe, enum conn_level level, double sample_ns,
		       struct conns_pass *pass);

/*
 * Records whether connections of an activity level are sampled from `now` on. Their state is
 * unknown while they are not.
 */
void conns_probe_cover(struct conns_probe *probe, enum conn_level level, bool sampled,
		       uint64_t now);

/* Records that samples of an activity level do not represent `ns` of the time from..to. */
void conns_probe_gap(struct conns_probe *probe, enum conn_level level, uint64_t from, uint64_t to,
		     uint64_t ns);

/*
 * Reads the records of an activity level's connections that were active since their last report;
 * LEVEL_REST: of all connections. Stops after `quota` connections, and the next call goes on from
 * there. A quota of 0 reads closed connections only. conns_probe_block() then returns the EV_CONN.
 * Returns 0 or -errno.
 */
int conns_probe_read(struct conns_probe *probe, enum conn_level level, uint64_t quota,
		     struct conns_pass *pass);

/*
 * Returns a descriptor, readable when many connections have closed: then call conns_probe_read()
 * with quota 0.
 */
int conns_probe_fd(const struct conns_probe *probe);

/*
 * Returns the next block of EV_CONN, ordered by `to` and valid until the next call of any of these
 * functions; false: no more.
 */
bool conns_probe_block(struct conns_probe *probe, struct event_block *block);

/* Sets an activity level's target samples per second, which each EV_CONN states. */
void conns_probe_aim(struct conns_probe *probe, enum conn_level level, double hz);

/* Stores the number of connections of each activity level. */
void conns_probe_members(const struct conns_probe *probe, uint64_t members[LEVELS]);

/* Counts calls and round trips of one in `n` connections from now on. */
void conns_probe_thin(struct conns_probe *probe, uint32_t n);

/* Follows one in `n` new connections from now on; `n` is a power of two. */
void conns_probe_follow(struct conns_probe *probe, uint32_t n);

void conns_probe_ends(struct conns_probe *probe, struct conns_ends *ends);

/*
 * Logs the calls of a connection from the next pass that visits it to its end. Returns 0 or -errno;
 * -E2BIG: too many chosen connections still wait for such a pass.
 */
int conns_probe_choose(struct conns_probe *probe, uint64_t cookie);

/*
 * Reads logged calls, ordered by time, and lets `grant` more be logged until the next call. Returns
 * 0 or -errno. conns_probe_call_block() returns them, as conns_probe_block() does. A call has a
 * flow id once its connection has been reported.
 */
int conns_probe_calls(struct conns_probe *probe, uint64_t grant);
bool conns_probe_call_block(struct conns_probe *probe, struct event_block *block);

/* Returns how many calls since the first conns_probe_calls() should be in the log and are not. */
uint64_t conns_probe_calls_left_out(const struct conns_probe *probe);

void conns_probe_lost(const struct conns_probe *probe, struct conns_lost *lost);

/*
 * Stores the BPF programs' CPU time since the last call, estimated from the number of runs and from
 * timed runs. Returns false if the cost of a run is unknown, and `push` is an upper bound.
 */
bool conns_probe_cost(struct conns_probe *probe, struct conns_push *push);

/* Stores ns and runs of the BPF programs so far by the kernel's statistics, where these are on. */
void conns_probe_stats(const struct conns_probe *probe, uint64_t ns[USE_MAX],
		       uint64_t runs[USE_MAX]);

/* Returns the CPU time in ns of the first pass, which found existing connections. */
uint64_t conns_probe_first_ns(const struct conns_probe *probe);

/* Returns the user-space memory of reported connections, in bytes. */
uint64_t conns_probe_memory(const struct conns_probe *probe);

#endif
