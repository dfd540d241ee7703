/* SPDX-License-Identifier: Apache-2.0 */
/* Begin and set-up of the commands that collect: watch, record and conns. */
#ifndef HOSTLAT_CMD_MEASURING_H
#define HOSTLAT_CMD_MEASURING_H

/* Before anything is set up: removes what collectors that were killed have left. */
void measuring_prepare(void);

/*
 * Ends the set-up: gives up the privileges that only it needed, and tells the parent that waits for
 * it (cmd/child.h) or, without one, the log.
 */
void measuring_begin(void);

#endif
