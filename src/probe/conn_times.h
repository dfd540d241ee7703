/* SPDX-License-Identifier: Apache-2.0 */
/* How an interval of a connection divides into its five times: docs/design/connections.md. Pure. */
#ifndef HOSTLAT_PROBE_CONN_TIMES_H
#define HOSTLAT_PROBE_CONN_TIMES_H

#include <stdint.h>

#include "event/layout.h"

/*
 * Fills in sender_app_ns ... delayed_ack_ns and unknown_ns of `c`, which sum to `to` - `from`, from
 * busy_ns, kernel_rwnd_ns, recovery_ns and sampled[]. What these have beyond the interval (ticks,
 * stalls that are known only when they are over) is cut.
 */
void conn_times(struct event_conn *c);

#endif
