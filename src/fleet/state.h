/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a fleet's analysis: resources, and series of the connections. */
#ifndef HOSTLAT_FLEET_STATE_H
#define HOSTLAT_FLEET_STATE_H

#include "base/vec.h"
#include "fleet/fleet.h"
#include "fleet/runs.h"

struct fleet_resource {
	char *name;
	enum fleet_kind kind;
	uint32_t next;           /* hash chain: index + 1 */
};

/* The interval that readings still change. */
struct fleet_open {
	uint64_t known_ns[FLEET_CLASSES], limited_ns[FLEET_CLASSES];
};

struct fleet_series {
	uint32_t host;
	uint32_t shares, n;      /* in fleet.shares */
	uint32_t open_at;        /* the open interval's number */
	uint64_t cookie;
	char *name;
	struct fleet_runs runs;  /* without the open interval */
	struct fleet_open *open; /* NULL: no reading */
	uint64_t last_ns;        /* end of the last reading */
	uint64_t known_ns[FLEET_CLASSES];
	uint64_t limited_ns[FLEET_CLASSES]; /* share times known time */
	uint64_t lost_ns[FLEET_CLASSES];
};

struct fleet {
	struct fleet_grid grid;
	struct fleet_resources VEC_OF(struct fleet_resource) resources;
	struct fleet_all_series VEC_OF(struct fleet_series) all;
	struct fleet_shares VEC_OF(uint32_t) shares;
	uint32_t *by_name;       /* hash table of resources: index + 1 */
	size_t slots;
	size_t cells_bytes;      /* memory of the connections' runs; at most FLEET_CELLS_MAX */
};

/* Returns whether the connection shares the resource. */
bool fleet_series_shares(const struct fleet *f, const struct fleet_series *s, uint32_t resource);

/* Returns whether the class has different shares in known intervals: it can be correlated. */
bool fleet_series_changes(const struct fleet *f, const struct fleet_series *s,
			  enum fleet_class class);

/* Begins with the first run of known intervals of the class. */
struct fleet_runs_cursor fleet_series_runs(const struct fleet *f, const struct fleet_series *s,
					   enum fleet_class class);

#endif
