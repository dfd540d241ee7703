/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the connections of a store into a fleet's analysis, as fleet_read.h does of recordings. */
#ifndef HOSTLAT_CMD_FLEET_STORED_H
#define HOSTLAT_CMD_FLEET_STORED_H

#include "cmd/fleet_stored_find.h"

/* Adds all connections and shares to `f`. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_stored_read(struct fleet_stored *s, struct fleet_inputs *in, struct fleet *f);

/* Adds reasons for what is missing to the report. */
void fleet_stored_report(const struct fleet_stored *s, struct report *r);

#endif
