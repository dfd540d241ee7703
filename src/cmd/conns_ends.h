/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of connections that begin and end during a live run of conns. */
#ifndef HOSTLAT_CMD_CONNS_ENDS_H
#define HOSTLAT_CMD_CONNS_ENDS_H

#include <stdint.h>

#include "conns/budget.h"
#include "probe/connection/conns_pass.h"

/*
 * Moves this cost out of the own time and the pushes of `spent` into `spent->ends_ns`, which on
 * entry is the own time for connections that ended. `push_ns` is the pushes' part of it. `last` is
 * the source's previous count and becomes `now`.
 */
void conns_ends_account(struct conns_ends *last, const struct conns_ends *now, uint64_t push_ns,
			struct budget_spent *spent);

#endif
