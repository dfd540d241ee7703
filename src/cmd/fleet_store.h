/* SPDX-License-Identifier: Apache-2.0 */
/* The store of the command line, and where its rows have a class of the analysis. */
#ifndef HOSTLAT_CMD_FLEET_STORE_H
#define HOSTLAT_CMD_FLEET_STORE_H

#include "cmd/fleet_config.h"
#include "store/store.h"

/* Opens the store of --store. Returns NULL after a message. */
struct store *fleet_store_open(const struct fleet_config *c, enum store_mode mode);

/* Returns the shares of a class (enum fleet_class) in a row. */
struct store_shares *fleet_store_shares(struct store_connection *row, unsigned int class);

#endif
