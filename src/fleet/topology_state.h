/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a topology: nodes are hosts, racks and switches. */
#ifndef HOSTLAT_FLEET_TOPOLOGY_STATE_H
#define HOSTLAT_FLEET_TOPOLOGY_STATE_H

#include "base/vec.h"
#include "fleet/topology.h"

/* Place of a row, for messages: file is an index in `files`. */
struct topology_place {
	uint32_t file, line, column;
};

enum topology_role {
	ROLE_HOST = 1,
	ROLE_RACK = 2,                 /* the rack of a host */
	ROLE_ABOVE = 4,                /* something has it as its switch */
	ROLE_BELOW = 8,                /* it has a switch */
	ROLE_END = 16,                 /* the end of a link */
};

struct topology_node {
	char *name;
	uint32_t roles;                /* mask of enum topology_role */
	struct topology_place place;   /* where it was named first in its strongest role */
	uint32_t rack;                 /* host: node + 1; 0: none */
	char *instance;
	uint32_t first_above, n_above; /* in `above`, once finished */
	uint32_t next;                 /* hash chain: index + 1 */
};

struct topology_edge {
	uint32_t below, above;         /* nodes */
	struct topology_place place;
};

struct topology_link {
	uint32_t a, b;                 /* nodes; a <= b */
	char *name;
	struct topology_place place;
};

struct topology {
	struct topology_nodes VEC_OF(struct topology_node) nodes;
	struct topology_edges VEC_OF(struct topology_edge) above;
	struct topology_links VEC_OF(struct topology_link) links;
	struct topology_files VEC_OF(char *) files;
	struct fleet_addresses addresses;
	uint32_t *by_name;             /* hash table of nodes: index + 1 */
	size_t n_slots;
	uint64_t rows;
};

/* Returns the node of this name, or NULL. */
struct topology_node *topology_find(const struct topology *t, const char *name);

/* Sets *index to the node of this name, made if new. Returns 0, -ENOMEM or -E2BIG. */
int topology_node_get(struct topology *t, const char *name, uint32_t *index);

#endif
