/* SPDX-License-Identifier: Apache-2.0 */
/* One analysis of a fleet, from the recordings or the store of the command line. */
#ifndef HOSTLAT_CMD_FLEET_LOOK_H
#define HOSTLAT_CMD_FLEET_LOOK_H

#include "cmd/fleet_config.h"
#include "cmd/fleet_stored.h"
#include "cmd/fleet_windows.h"

/* Share of findings that may be chance. */
#define FLEET_FALSE_FINDINGS 0.05

struct fleet_look {
	struct fleet_stored stored;   /* without --store nothing */
	struct fleet_windows windows; /* one of the whole time, once it is read */
	struct fleet_result result;
};

/*
 * Finds recordings, or windows of the store, and sets in->scan and in->grid. `look` begins as
 * zeros; fleet_look_release() follows in either case, before fleet_scan_release(). Returns EXIT_OK
 * or, after a message, another enum exit_code.
 */
int fleet_look_find(const struct fleet_config *c, struct fleet_inputs *in, struct fleet_look *look);

/* Reads what was found. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_look_read(const struct fleet_config *c, struct fleet_inputs *in, struct fleet_look *look);

/* Analyzes it. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_look_analyze(struct fleet_look *look);

void fleet_look_release(struct fleet_look *look);

#endif
