/* SPDX-License-Identifier: Apache-2.0 */
/* Steps at the start of a measurement, shared by watch, record and conns. */
#ifndef HOSTLAT_CMD_MEASURING_H
#define HOSTLAT_CMD_MEASURING_H

/*
 * Removes kernel objects that killed runs have left, and takes over the descriptor of a parent that
 * waits (cmd/child.h). Called before any file is opened, so that none can have its number.
 */
void measuring_prepare(void);

/*
 * Ends the set-up: drops the privileges that only the set-up needed, and notifies the waiting
 * parent (cmd/child.h) or, without a parent, logs a message.
 */
void measuring_begin(void);

#endif
