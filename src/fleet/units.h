/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources of a kind with their children: the hosts of a rack, an application, a link; the
 * connections of a host or container. Children are the units of the tests: the connections of a
 * child may depend on each other.
 */
#ifndef HOSTLAT_FLEET_UNITS_H
#define HOSTLAT_FLEET_UNITS_H

#include "base/vec.h"
#include "fleet/state.h"

/* A connection of a resource. */
struct unit_entry {
	uint32_t resource;
	uint32_t child;          /* resource of the host; the connection if children are those */
	uint32_t conn;
};

/* In order of resource, child, connection. */
struct units VEC_OF(struct unit_entry);

/* Lists the connections of all resources of a kind. Returns 0 or -ENOMEM; release it with
 * vec_release() in either case. */
int units_list(const struct fleet *f, enum fleet_kind kind, struct units *out);

/* Returns the index behind the entries of the resource, or of the child, that begin at `from`. */
size_t units_resource_end(const struct units *units, size_t from);
size_t units_child_end(const struct units *units, size_t from);

/* Whether the children of resources of this kind are connections. */
bool units_are_connections(enum fleet_kind kind);

#endif
