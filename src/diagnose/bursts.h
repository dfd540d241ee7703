/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When commands begin to run: the starts of their threads' bursts, by the recorded activity of all
 * CPUs. A burst begins when a thread is woken, or first runs, after it was off the CPU for a while.
 *
 * Memory: BURSTS_MAX bursts (24 MiB), a few words a thread, and that of struct cpu_history.
 */
#ifndef HOSTLAT_DIAGNOSE_BURSTS_H
#define HOSTLAT_DIAGNOSE_BURSTS_H

#include "diagnose/state.h"

#define BURSTS_MAX (1u << 20)

struct burst {
	uint64_t at;       /* the waking, or the begin of running if none is known, in ns */
	uint64_t ns;       /* time on a CPU up to the thread's next burst, in ns */
	uint32_t command;  /* index + 1 in the recording's commands */
	uint32_t task;     /* in DICT_TASK */
};

struct burst_list VEC_OF(struct burst);

/*
 * Appends to `out`, which the caller initialized, the bursts of from <= t < to that began after at
 * least `off_ns` off the CPU: asleep, not merely waiting for a CPU, and, unless it is the thread's
 * first burst, not where events are missing. Threads of hostlat and of no command have none.
 * *beyond: bursts that `out` had no room for. Returns 0, -errno of the reader, -E2BIG for too many
 * cores, or -ENOMEM.
 */
int bursts_read(const struct recorded *rec, uint64_t from, uint64_t to, uint64_t off_ns,
		struct burst_list *out, uint64_t *beyond);

#endif
