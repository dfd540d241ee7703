/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the requests of a load that were queued: all slots of its connections were taken when they
 * were due. Whatever delayed the requests in the slots delayed the queued ones, too.
 */
#ifndef HOSTLAT_DIAGNOSE_CONN_QUEUE_H
#define HOSTLAT_DIAGNOSE_CONN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/*
 * Sets `queued` of each sample, in any order, intended <= sent <= done. `slots`: requests
 * that may be out at once. Where several threads have slots of their own, those are queued that
 * waited while all slots were taken. 0 or -ENOMEM.
 */
int conn_queue_find(const struct event_sample *samples, size_t n, uint64_t slots, bool *queued);

#endif
