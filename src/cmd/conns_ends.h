/* SPDX-License-Identifier: Apache-2.0 */
/* What connections that come and go cost a live run of conns. */
#ifndef HOSTLAT_CMD_CONNS_ENDS_H
#define HOSTLAT_CMD_CONNS_ENDS_H

#include <stdint.h>

#include "conns/budget.h"
#include "probe/connection/conns_pass.h"

/*
 * Takes it out of what `spent` has of own time, of which `spent->ends_ns` was for connections that
 * ended, and of pushes, `push_ns`: it is then in `spent->ends_ns` alone. `last`: what the source
 * said of them the last time, which then is `now`.
 */
void conns_ends_account(struct conns_ends *last, const struct conns_ends *now, uint64_t push_ns,
			struct budget_spent *spent);

#endif
