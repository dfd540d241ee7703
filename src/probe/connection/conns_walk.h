/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over connections: by iterators over socket storage where this kernel has them, else by a
 * program that visits the records in tables (src/bpf/conn_visit.bpf.h).
 *
 * The programs' variable `pass` holds a pass's results until the next pass begins.
 */
#ifndef HOSTLAT_PROBE_CONNS_WALK_H
#define HOSTLAT_PROBE_CONNS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

struct bpf_link;
struct conns_bpf;

struct conns_walk {
	struct conns_bpf *skel;          /* owned by the caller */
	void (*empty)(void *ctx);        /* empties the BPF ring buffer */
	void *ctx;
	/* BPF iterators by level: all active, warm, hot connections */
	struct bpf_link *visit[LEVELS];
	struct bpf_link *visit_idle;    /* iterator over idle connections, part of LEVEL_REST */
	int reading[LEVELS];             /* descriptor of a paused iterator; -1: none */
	bool idle_visited[LEVELS];       /* by level: idle connections are already visited */
	/* an iterator or conn_walk has stopped midway since a read of all connections began */
	bool paused;
	/*
	 * records in tables: keys still to visit, by level; PASS_ALL: start from the first
	 */
	uint32_t keys[LEVELS];
	uint32_t numbers[PASS_TABLES];   /* number of the last run of conn_walk over each table */
	uint32_t swept[PASS_TABLES];     /* keys per table after the last sweep of stale keys */
};

/*
 * Opens iterators or, if records are in tables, tries a run of conn_walk; `skel` is loaded. Returns
 * 0 or -errno. Call conns_walk_release() in either case; it also accepts a zeroed struct.
 */
int conns_walk_open(struct conns_walk *walk, struct conns_bpf *skel, void (*empty)(void *ctx),
		    void *ctx);
void conns_walk_release(struct conns_walk *walk);

/*
 * Samples each connection of an activity level once; a sample represents `sample_us`. Returns 0 or
 * -errno.
 */
int conns_walk_sample(struct conns_walk *walk, enum conn_level level, uint32_t sample_us);

/*
 * Reads changed records of an activity level's connections; LEVEL_REST: of all connections. Stops
 * after `quota` visits, and the next call goes on from there. Quota UINT64_MAX: visits all, from
 * the first on; 0: reads nothing. *ended: all were visited. Returns 0 or -errno.
 */
int conns_walk_read(struct conns_walk *walk, enum conn_level level, uint64_t quota, bool *ended);

/*
 * Reads a BPF iterator to its end, or to the quota in the programs' variable `pass`, and empties
 * the ring buffer whenever the iterator waits. Returns 0 or -errno.
 */
int conns_walk_iterator(struct conns_walk *walk, int fd, bool *ended);

/* Creates an iterator and reads it from begin to end. Returns 0 or -errno. */
int conns_walk_link(struct conns_walk *walk, const struct bpf_link *link);

#endif
