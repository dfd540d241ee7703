/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Racks, switches and links that hosts share, as the tables of --topology say. A table's header
 * row names its columns, in any order:
 *
 *	host,rack,instance,addresses    a host; its addresses and prefixes with blanks between them
 *	rack,switch                     a rack's switch, or a switch's switch above it
 *	from,to,link                    a link between two hosts, racks or switches
 *
 * Instead, a table may be JSON: a list of objects with these names, or an object of the lists
 * "hosts", "switches" and "links" (fleet/json_rows.h).
 *
 * A connection between two hosts crosses the racks of both, the switches up to the lowest that the
 * racks have in common, and each link both of whose ends are on this path. Where there are several
 * ways, it shares all of them: which one it takes is not known. To the outside it crosses all
 * switches above its host.
 */
#ifndef HOSTLAT_FLEET_TOPOLOGY_H
#define HOSTLAT_FLEET_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "fleet/addresses.h"
#include "fleet/fleet.h"

#define TOPOLOGY_ROWS_MAX 1000000u     /* rows of all tables together */
#define TOPOLOGY_NAME_MAX 255u         /* bytes of a name */
#define TOPOLOGY_ABOVE_MAX 32u         /* switches above a rack */

struct topology;

struct topology_host {
	const char *rack, *instance;   /* NULL: not reported */
	bool known;                    /* it has a row */
};

/* Something that a connection shares. */
struct topology_share {
	enum fleet_kind kind;          /* FLEET_RACK, FLEET_SWITCH or FLEET_LINK */
	const char *name;              /* belongs to the topology */
};

struct topology_path {
	struct topology_share shares[FLEET_SHARES_MAX];
	uint32_t n;
	bool beyond;                   /* there are more than fit */
};

/* Returns an empty topology, in which nothing is shared; NULL without memory. */
struct topology *topology_new(void);
void topology_free(struct topology *t);

/*
 * Reads a table: `len` bytes and a NUL, which are changed. `file` names it in errors. Returns 0,
 * -ENOMEM, or -EINVAL after "FILE:LINE:COLUMN: what is wrong (what to do)" in `why`.
 */
int topology_read(struct topology *t, const char *file, char *text, size_t len,
		  struct strbuf *why);

/*
 * Ends reading: checks what tables say of each other's names. Returns as topology_read(). What
 * follows is valid only after it.
 */
int topology_finish(struct topology *t, struct strbuf *why);

/* Returns what is reported of a host. */
struct topology_host topology_host(const struct topology *t, const char *name);

/* Returns whether a table names racks: only then a host without one is worth telling. */
bool topology_has_racks(const struct topology *t);

/* Returns the name of the host with the address, or NULL. */
const char *topology_host_of(const struct topology *t, const struct fleet_address *address);

/*
 * Returns what a connection between two hosts shares; `to` NULL: outside or unknown. Nothing if
 * both are the same host.
 */
void topology_path(const struct topology *t, const char *from, const char *to,
		   struct topology_path *out);

#endif
