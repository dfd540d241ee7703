/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that named objects exist and options can be combined, before programs are loaded. */
#ifndef HOSTLAT_CMD_LIVE_CHECK_H
#define HOSTLAT_CMD_LIVE_CHECK_H

#include <stdbool.h>

#include "probe/packet/pkt_config.h"

/*
 * Checks the options of a live run, and fills in the inode of the network namespace and the id of
 * the control group. `activity`: CPU activity is recorded. Returns 0 or, after a message, -EINVAL
 * (the command line is wrong) or another -errno.
 */
int live_check(struct pkt_probe_config *config, bool activity);

#endif
