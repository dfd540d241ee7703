/* SPDX-License-Identifier: Apache-2.0 */
/* A reading of the fleet's analysis, made from a record of a connection. Pure. */
#ifndef HOSTLAT_CMD_FLEET_READING_H
#define HOSTLAT_CMD_FLEET_READING_H

#include "event/layout.h"
#include "fleet/fleet.h"

#define FLEET_READING_PARTS 3u

/*
 * Sampled shares are known if so much of the record's time is unknown at most, whoever sampled: a
 * limit begins at this share (RULES_LIMITED_SHARE).
 */
#define FLEET_READING_UNKNOWN 0.05

/*
 * Fills in shares and lost time of a record, not its times. Shares that rest on fewer than
 * CONN_SAMPLES_MIN samples are unknown. A pass over the connections is a moment that they share:
 * with 0 instead of unknown, the intervals without a pass would make them look correlated.
 */
void fleet_reading_fill(const struct event_conn *e, struct fleet_reading *out);

/* Fills in the reading of a connection on which nothing happens; `known` as of its last record. */
void fleet_reading_idle(uint32_t known, struct fleet_reading *out);

/*
 * Divides a reading whose losses were repaired within loss_from..loss_to (realtime) into parts in
 * order of time: before, with and after the losses, in whole intervals of the grid. A record may
 * span a minute. Returns the number of parts.
 */
unsigned int fleet_reading_divide(const struct fleet_reading *whole, uint64_t loss_from,
				  uint64_t loss_to, const struct fleet_grid *grid,
				  struct fleet_reading parts[FLEET_READING_PARTS]);

#endif
