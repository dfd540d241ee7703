/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of connections' begins and ends during a live run of `conns`. */
#ifndef HOSTLAT_CMD_CONNS_ENDS_H
#define HOSTLAT_CMD_CONNS_ENDS_H

#include <stdint.h>

#include "conns/budget.h"
#include "probe/connection/conns_pass.h"

/*
 * Moves the cost of begins and ends from spent->cpu_ns and spent->push_ns to spent->ends_ns. On
 * entry, spent->ends_ns is hostlat's own CPU time for connections that ended, and `push_ns` the BPF
 * programs' time for begins and ends. `last` holds the source's previous counts and becomes `now`.
 */
void conns_ends_account(struct conns_ends *last, const struct conns_ends *now, uint64_t push_ns,
			struct budget_spent *spent);

#endif
