/* SPDX-License-Identifier: Apache-2.0 */
/* Checks before anything is loaded: named objects exist, and the options can be combined. */
#ifndef HOSTLAT_CMD_LIVE_CHECK_H
#define HOSTLAT_CMD_LIVE_CHECK_H

#include <stdbool.h>

#include "probe/packet/pkt_config.h"

/*
 * Returns 0; after a message, -EINVAL if the command line is at fault, or another -errno. Fills in
 * what names stand for: the namespace's inode, the cgroup's number. `activity`: what the CPUs do is
 * to be recorded, too.
 */
int live_check(struct pkt_probe_config *config, bool activity);

#endif
