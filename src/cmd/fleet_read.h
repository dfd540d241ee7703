/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the connections of recordings into a fleet's analysis. */
#ifndef HOSTLAT_CMD_FLEET_READ_H
#define HOSTLAT_CMD_FLEET_READ_H

#include "cmd/fleet_inputs.h"

/*
 * Adds all connections and their readings to `f`, and counts in the recordings what was read and
 * what was not. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int fleet_read(struct fleet_inputs *in, struct fleet *f);

#endif
