/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that a connection shares, which make it a connection of the fleet. */
#ifndef HOSTLAT_CMD_FLEET_RESOURCES_H
#define HOSTLAT_CMD_FLEET_RESOURCES_H

#include "cmd/fleet_inputs.h"
#include "event/layout.h"

/* A connection as its host knows it. Borrows the strings; NULL: unknown. */
struct fleet_identity {
	uint64_t netns, cookie;
	struct event_flow flow;       /* id 0: no addresses */
	bool accepted;                /* the remote end opened it */
	const char *unit, *cgroup, *command;
	const char *application;      /* as stored; NULL: by --apps and the names above */
};

/* Returns the name of the identity's application, or NULL. */
const char *fleet_resources_application(const struct apps *apps,
					const struct fleet_identity *identity);

/*
 * Makes the connection one of the fleet's. Sets *index. Returns 0, -ENOMEM or -E2BIG. `recording`
 * belongs to in->scan.
 */
int fleet_resources_add(struct fleet_inputs *in, struct fleet *f,
			const struct fleet_recording *recording,
			const struct fleet_identity *identity, uint32_t *index);

#endif
