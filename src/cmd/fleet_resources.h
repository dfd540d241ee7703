/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that a recorded connection shares, which make it a connection of the fleet. */
#ifndef HOSTLAT_CMD_FLEET_RESOURCES_H
#define HOSTLAT_CMD_FLEET_RESOURCES_H

#include "cmd/fleet_conns.h"
#include "cmd/fleet_inputs.h"

/* Adds the connection to the fleet; sets conn->index. Returns 0, -ENOMEM or -E2BIG. */
int fleet_resources_add(struct fleet_inputs *in, struct fleet *f,
			const struct fleet_recording *recording, const struct fleet_conns *conns,
			struct fleet_conn_state *conn);

#endif
