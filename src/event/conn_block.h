/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_EVENT_CONN_BLOCK_H
#define HOSTLAT_EVENT_CONN_BLOCK_H

#include "event/source.h"

/*
 * Fills in a block that points to the first of n > 0 records, ordered by interval end: as many as
 * fit. Returns their number.
 */
size_t event_conn_block(const struct event_conn *records, size_t n, struct event_block *block);

#endif
