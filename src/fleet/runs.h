/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of a connection's classes in the intervals of the grid, kept as their changes: a class
 * that is constant takes 4 bytes. Each class is written in order of time; unknown intervals are not
 * written.
 */
#ifndef HOSTLAT_FLEET_RUNS_H
#define HOSTLAT_FLEET_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "fleet/fleet.h"

/* Zeroed, all intervals are unknown. */
struct fleet_runs {
	uint32_t *changes;       /* interval << 16 | class << 8 | share from this interval on */
	uint32_t n, cap;
	uint16_t end[FLEET_CLASSES]; /* interval behind the last known one; 0: none is known */
	uint8_t last[FLEET_CLASSES]; /* share in the last known interval */
};

_Static_assert(FLEET_INTERVALS_MAX <= UINT16_MAX, "an interval fits into 16 bits");

/* Successive intervals with the same known share. */
struct fleet_run {
	uint32_t from, to;       /* intervals from .. to - 1 */
	uint8_t cell;            /* in steps of 1/FLEET_STEPS */
};

void fleet_runs_release(struct fleet_runs *r);

/*
 * Adds a run of a known share; it begins at the class's end or later. `bytes` counts the memory of
 * all connections. Returns 0, -ENOMEM, or -E2BIG if that would be over FLEET_CELLS_MAX.
 */
int fleet_runs_append(struct fleet_runs *r, enum fleet_class class, const struct fleet_run *run,
		      size_t *bytes);

/* Raises the share of the class's last known interval to `cell`, if that is more. As above. */
int fleet_runs_raise(struct fleet_runs *r, enum fleet_class class, uint8_t cell, size_t *bytes);

/* A position in the runs of a class. The caller may set `more`: a run behind all others. */
struct fleet_runs_cursor {
	const uint32_t *at, *stop;
	uint32_t class, from, end;
	uint8_t cell;
	struct fleet_run more;   /* a share of FLEET_UNKNOWN: none */
};

/* Begins with the first run of a class. */
struct fleet_runs_cursor fleet_runs_begin(const struct fleet_runs *r, enum fleet_class class);

/* Sets *out to the next run of known intervals; returns false behind the last one. */
bool fleet_runs_next(struct fleet_runs_cursor *cursor, struct fleet_run *out);

#endif
