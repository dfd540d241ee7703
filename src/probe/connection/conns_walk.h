/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over connections: by iterators over the storage beside sockets where this kernel has
 * them, else by a program that visits the records in tables (src/bpf/conn_visit.bpf.h).
 *
 * What a pass met stands in the programs' `pass` until the next one begins.
 */
#ifndef HOSTLAT_PROBE_CONNS_WALK_H
#define HOSTLAT_PROBE_CONNS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

struct bpf_link;
struct conns_bpf;

struct conns_walk {
	struct conns_bpf *skel;          /* the caller's */
	void (*empty)(void *ctx);        /* takes over what is in the ring */
	void *ctx;
	struct bpf_link *visit[LEVELS];  /* iterators: over all records, warm ones, hot ones; */
	struct bpf_link *visit_idle;    /* over those of idle connections: part of LEVEL_REST */
	int reading[LEVELS];             /* an iterator that has paused; -1: none */
	bool idle_visited[LEVELS];       /* the pass has visited those of idle connections */
	bool paused;                     /* since a pass over all began */
	uint32_t keys[LEVELS];           /* over tables: still to be visited; PASS_ALL: it begins */
	uint32_t numbers[PASS_TABLES];   /* of the last walk over each table */
	uint32_t swept[PASS_TABLES];     /* keys that its last sweep left */
};

/*
 * `skel` is loaded. 0 or -errno. To be released in either case; a zeroed one may be released, too.
 */
int conns_walk_open(struct conns_walk *walk, struct conns_bpf *skel, void (*empty)(void *ctx),
		    void *ctx);
void conns_walk_release(struct conns_walk *walk);

/* Samples each connection of a level once, as standing for `sample_us`. 0 or -errno. */
int conns_walk_sample(struct conns_walk *walk, enum conn_level level, uint32_t sample_us);

/*
 * Reads the records of a level that have changed; LEVEL_REST: of all. After `quota` visited ones
 * the pass pauses, and the next call goes on there; UINT64_MAX: begins anew and visits all; 0: does
 * nothing. *ended: the pass has visited all. 0 or -errno.
 */
int conns_walk_read(struct conns_walk *walk, enum conn_level level, uint64_t quota, bool *ended);

/*
 * Reads an iterator to its end, or to the quota of `pass`, emptying the ring whenever it pauses.
 * 0 or -errno.
 */
int conns_walk_iterator(struct conns_walk *walk, int fd, bool *ended);

/* All of an iterator, once. 0 or -errno. */
int conns_walk_link(struct conns_walk *walk, const struct bpf_link *link);

#endif
