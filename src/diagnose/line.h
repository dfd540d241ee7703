/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests of a load waited for a place on a connection, as all were taken when they were
 * due: what held those places up held them up, too.
 */
#ifndef HOSTLAT_DIAGNOSE_LINE_H
#define HOSTLAT_DIAGNOSE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/*
 * `samples` in any order, intended <= sent <= done; `places`: requests that may be out at once.
 * Sets `in_line` of each, in the same order. Of several threads, each with places of its own, it
 * finds those that waited while all were taken. 0 or -ENOMEM.
 */
int line_find(const struct event_sample *samples, size_t n, uint64_t places, bool *in_line);

#endif
