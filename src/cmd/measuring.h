/* SPDX-License-Identifier: Apache-2.0 */
/* Begin and set-up of the commands that collect: watch, record and conns. */
#ifndef HOSTLAT_CMD_MEASURING_H
#define HOSTLAT_CMD_MEASURING_H

/* Before anything is set up: removes what collectors that were killed have left. */
void measuring_prepare(void);

/* The set-up is done: gives up the privileges that only it needed, and says "measuring". */
void measuring_begin(void);

#endif
