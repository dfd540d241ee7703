/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the connections of a store's windows. */
#ifndef HOSTLAT_CMD_FLEET_STORED_EACH_H
#define HOSTLAT_CMD_FLEET_STORED_EACH_H

#include "cmd/fleet_stored_find.h"

/* Takes a connection of a window. Returns 0, or an error that ends the reading. */
typedef int fleet_stored_fn(void *ctx, struct stored_window *window,
			    const struct store_connection *row);

/*
 * Calls `take` for each connection of the windows that count, once, in their latest version; then
 * counts windows of which some are missing. Returns 0, the error of `take`, or -errno.
 */
int fleet_stored_each(struct fleet_stored *s, fleet_stored_fn *take, void *ctx);

#endif
