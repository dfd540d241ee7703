/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts for the CPU time that new and closing connections cost a live run of `conns`. */
#ifndef HOSTLAT_CMD_CONNS_ENDS_H
#define HOSTLAT_CMD_CONNS_ENDS_H

#include <stdint.h>

#include "conns/budget.h"
#include "probe/connection/conns_pass.h"

/*
 * Moves the CPU time for connections that began or ended from spent->cpu_ns and spent->push_ns to
 * spent->ends_ns. On entry, spent->ends_ns is hostlat's own CPU time for connections that ended.
 * `push_ns` is the BPF programs' CPU time for connections that began or ended. `last` holds the
 * counts of the previous call and is set to `now`.
 */
void conns_ends_account(struct conns_ends *last, const struct conns_ends *now, uint64_t push_ns,
			struct budget_spent *spent);

#endif
