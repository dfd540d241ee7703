/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a load's requests that were queued: when they were due, its connections had as many
 * outstanding requests as allowed (all slots were taken). The causes that delayed the outstanding
 * requests delayed the queued ones.
 */
#ifndef HOSTLAT_DIAGNOSE_CONN_QUEUE_H
#define HOSTLAT_DIAGNOSE_CONN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/*
 * Sets queued[i] if the request of sample i waited for a slot. Samples in any order, intended <=
 * sent <= done. `slots`: requests that may be outstanding at once. With several threads that have
 * their own slots, only requests that waited while all slots were taken count. Returns 0 or
 * -ENOMEM.
 */
int conn_queue_find(const struct event_sample *samples, size_t n, uint64_t slots, bool *queued);

#endif
