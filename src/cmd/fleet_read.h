/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the connections of recordings into a fleet's analysis. */
#ifndef HOSTLAT_CMD_FLEET_READ_H
#define HOSTLAT_CMD_FLEET_READ_H

#include "cmd/fleet_scan.h"
#include "fleet/apps.h"
#include "fleet/topology.h"

struct fleet_inputs {
	struct fleet_scan scan;
	struct topology *topology;
	struct apps *apps;
	struct fleet_grid grid;
	uint64_t shares_left_out;     /* resources of connections beyond FLEET_SHARES_MAX */
};

/*
 * Adds all connections and their readings to `f`, and counts in the recordings what was read and
 * what was not. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int fleet_read(struct fleet_inputs *in, struct fleet *f);

#endif
