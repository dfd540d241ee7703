/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the connections of recordings into analyses of a fleet. */
#ifndef HOSTLAT_CMD_FLEET_READ_H
#define HOSTLAT_CMD_FLEET_READ_H

#include "cmd/fleet_inputs.h"
#include "cmd/fleet_resources.h"
#include "cmd/fleet_windows.h"

/* Takes a connection when the windows have it, under this index. Returns 0 or -errno. */
typedef int fleet_note_fn(void *ctx, const struct fleet_identity *identity, uint32_t index);

/*
 * Adds all connections and their readings to the windows, and counts in the recordings what was
 * read and what was not. `note` may be NULL. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int fleet_read(struct fleet_inputs *in, const struct fleet_windows *windows, fleet_note_fn *note,
	       void *ctx);

#endif
