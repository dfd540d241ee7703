/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the kernel's clock parameters, live: loads src/bpf/timekeeping.bpf.c. */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_LOG_H
#define HOSTLAT_PROBE_TIMEKEEPING_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "clock/changes.h"

struct timekeeping_log;

/*
 * Starts the log of clock changes. Returns 0, or -errno with the reason in words in `why`: -EPERM,
 * -EBUSY and others if this kernel refuses tracing of its functions, -ENOENT if it has no
 * update_vsyscall(), -EOPNOTSUPP if the clocksource is not the TSC.
 */
int timekeeping_log_open(struct timekeeping_log **out, char *why, size_t size);

/* Accepts NULL. */
void timekeeping_log_free(struct timekeeping_log *log);

/*
 * Calls on_change() for each new change; a negative result of it ends the call and is returned.
 * *complete_ns: all changes visible at this monotonic time have been reported; 0: unknown. Returns
 * -ENODATA once the clocksource is not the TSC any more; later changes are not reported. To be
 * called at least 4 times a second; gaps in the sequence numbers show lost changes.
 */
int timekeeping_log_pull(struct timekeeping_log *log,
			 int (*on_change)(void *ctx, const struct clock_change *change), void *ctx,
			 int64_t *complete_ns);

/* Returns 0 if timekeeping_log_open() would succeed, else its error; opens nothing. */
int timekeeping_log_try(char *why, size_t size);

#endif
