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

/* A connection of a resource. Small: a fleet has millions, each with ten resources. */
struct unit_entry {
	uint32_t conn;
};

/* A resource's entries: units.items[first] to [first + n - 1], in order of child, connection. */
struct unit_resource {
	uint32_t resource;
	size_t first, n;
};

struct unit_resources VEC_OF(struct unit_resource);

struct units {
	const struct fleet *f;
	enum fleet_kind kind;
	struct unit_resources resources; /* those with connections, in their order */
	struct unit_entry *items;
	size_t len;              /* number of items, without those of `rest` */
	struct unit_resource rest; /* connections that share none of few links, racks or switches */
};

/*
 * Lists the connections of all resources of a kind. Returns 0 or -ENOMEM; units_release() follows
 * in either case. O(connections).
 */
int units_list(const struct fleet *f, enum fleet_kind kind, struct units *out);
void units_release(struct units *units);

/* Returns the child of a connection: the resource of its host, or itself if children are those. */
uint32_t units_child(const struct units *units, uint32_t conn);

/* Returns the index behind the entries of the child that begin at `from`, below `end`. */
size_t units_child_end(const struct units *units, size_t from, size_t end);

/* Whether the children of resources of this kind are connections. */
bool units_are_connections(enum fleet_kind kind);

#endif
