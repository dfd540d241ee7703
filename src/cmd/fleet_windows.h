/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analyses into which recordings are read: one of the whole time for a report, or one for each
 * window that is stored. All have the same connections, with the same indexes.
 */
#ifndef HOSTLAT_CMD_FLEET_WINDOWS_H
#define HOSTLAT_CMD_FLEET_WINDOWS_H

#include "fleet/fleet.h"

struct fleet_windows {
	struct fleet **fleets;
	uint32_t n;
	uint64_t start_ns, length_ns; /* begin of the first; all are as long */
};

/*
 * Makes windows of `each` intervals, which divide those of the grid. Returns 0 or -ENOMEM, also
 * for an impossible grid; fleet_windows_release() follows in either case.
 */
int fleet_windows_init(struct fleet_windows *w, const struct fleet_grid *grid, uint32_t each);
void fleet_windows_release(struct fleet_windows *w);

/* Adds a reading to the windows that it overlaps, as fleet_add() does. */
int fleet_windows_add(const struct fleet_windows *w, uint32_t conn,
		      const struct fleet_reading *reading);

#endif
