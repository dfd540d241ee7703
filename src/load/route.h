/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a thread in a cluster: each goes to a connection of the node that serves its key.
 * A request whose node has no free connection waits in a list of this node, so that requests of
 * other nodes overtake it. The memory of these lists is for all requests of the schedule (of a
 * closed loop: for all that may be outstanding), and touched only as far as requests wait.
 */
#ifndef HOSTLAT_LOAD_ROUTE_H
#define HOSTLAT_LOAD_ROUTE_H

#include "load/cluster.h"
#include "load/thread.h"

struct route {
	struct cluster *cluster; /* shared by the threads; borrowed */
	struct load_target *first; /* the target of the first node, which counts stored keys */
	uint64_t n_waiting;
	uint64_t resends_max;    /* resends with which no new request is assigned */
	struct route_list {
		uint32_t first, last; /* indices in `waits`; LOAD_NONE: empty */
	} *lists;                /* a list for each node; owned */
	struct route_wait {
		uint64_t number, at_ns; /* number and due time of the request */
		uint32_t next;
	} *waits;                /* owned */
	uint32_t spare;          /* list of places in `waits` to use again */
	uint32_t used;           /* places that were used so far */
	uint32_t room;
};

/*
 * Makes the routes of a thread whose memory is initialized, with a pool for each node. Returns 0 or
 * -ENOMEM.
 */
int route_new(struct load_thread *t, struct cluster *cluster, struct load_target *first);
/* Accepts NULL. */
void route_free(struct route *route);

/*
 * Assigns up to `most` requests that are to be sent again or that wait, where connections are free.
 * Returns how many.
 */
unsigned int route_assign(struct load_thread *t, unsigned int most);

/* Whether the thread may take another request that is due: always in an open loop. */
bool route_accepts(const struct load_thread *t);

/* Assigns a due request to a connection of its node, or lets it wait for one. */
void route_request(struct load_thread *t, uint64_t number, uint64_t at_ns);

/* Stores keys that have a free connection (PHASE_PRELOAD). */
void route_store(struct load_thread *t);

/* Returns the due time of the oldest request that waits, or `or_else` if that is earlier. */
uint64_t route_oldest(const struct load_thread *t, uint64_t or_else);

#endif
