/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings and tables from which a fleet's report is made. */
#ifndef HOSTLAT_CMD_FLEET_INPUTS_H
#define HOSTLAT_CMD_FLEET_INPUTS_H

#include "cmd/fleet_scan.h"
#include "fleet/apps.h"
#include "fleet/topology.h"

struct fleet_inputs {
	struct fleet_scan scan;
	struct topology *topology;
	struct apps *apps;
	uint64_t apps_hash;           /* hash of the table of --apps, 1 to INT64_MAX; 0: none */
	struct fleet_grid grid;
	uint64_t shares_left_out;     /* resources of connections beyond FLEET_SHARES_MAX */
};

#endif
