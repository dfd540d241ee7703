/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of one recording, with their flows and names, before they are resources. */
#ifndef HOSTLAT_CMD_FLEET_CONNS_H
#define HOSTLAT_CMD_FLEET_CONNS_H

#include "base/vec.h"
#include "event/dict.h"
#include "fleet/fleet.h"

struct fleet_conn_state {
	uint64_t netns, cookie;       /* identity */
	struct event_flow flow;       /* id 0: unknown */
	uint32_t app, comm, cgroup, unit; /* numbers of the names known last; 0: none */
	uint32_t flags;               /* enum conn_flags, or-ed over all records */
	uint32_t index;               /* in the fleet; FLEET_NONE: left out */
	uint32_t next;                /* hash chain: index + 1 */
	/* -- after the last record that was read -- */
	uint64_t to;                  /* its end, monotonic; 0: none */
	uint32_t known;               /* classes */
	bool idle;                    /* nothing is unsent or unacknowledged, and it is open */
};

struct fleet_flow_state {
	struct event_flow flow;
	uint32_t next;                /* hash chain: index + 1 */
};

struct fleet_conns {
	struct fleet_conn_states VEC_OF(struct fleet_conn_state) all;
	struct fleet_flow_states VEC_OF(struct fleet_flow_state) flows;
	uint32_t *by_key, *by_flow;   /* hash tables: index + 1 */
	size_t key_slots, flow_slots;
	struct event_dict *names;
};

/* Returns 0 or -ENOMEM; call fleet_conns_release() in either case. */
int fleet_conns_init(struct fleet_conns *c);
void fleet_conns_release(struct fleet_conns *c);

/* Stores a flow. Returns 0, -ENOMEM or -E2BIG. */
int fleet_conns_set_flow(struct fleet_conns *c, const struct event_flow *flow);

/* Returns the connection with this identity, or NULL. */
struct fleet_conn_state *fleet_conns_find_key(const struct fleet_conns *c, uint64_t netns,
					      uint64_t cookie);

/* Returns the record's connection, or NULL. */
struct fleet_conn_state *fleet_conns_find(const struct fleet_conns *c, const struct event_conn *e);

/* Adds a connection that has no flow and no names. Returns 0, -ENOMEM or -E2BIG. */
int fleet_conns_add(struct fleet_conns *c, uint64_t netns, uint64_t cookie, uint32_t index);

/*
 * Moves the connections of `before`, an earlier recording of the host, that `c` lacks to `c`, and
 * releases `before`. Returns 0 or -ENOMEM; what exceeds the limit is forgotten.
 */
int fleet_conns_keep(struct fleet_conns *c, struct fleet_conns *before);

/* Notes names and flags of a record's connection, made if new. Returns 0, -ENOMEM or -E2BIG. */
int fleet_conns_gather(struct fleet_conns *c, const struct event_conn *e);

#endif
