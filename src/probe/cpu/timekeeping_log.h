/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the kernel's clock parameters, live: loads src/bpf/timekeeping.bpf.c. */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_LOG_H
#define HOSTLAT_PROBE_TIMEKEEPING_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "clock/changes.h"

struct timekeeping_log;

/*
 * Starts. Returns 0, or -errno with the reason in words in `why`: -EPERM, -EBUSY and others if this
 * kernel refuses tracing of its functions, -ENOENT without the function, -EOPNOTSUPP if the
 * clocksource is not the TSC.
 */
int timekeeping_log_open(struct timekeeping_log **out, char *why, size_t size);

/* NULL is fine. */
void timekeeping_log_free(struct timekeeping_log *log);

/*
 * Passes each new change to on_change(); its negative result ends the call and is returned.
 * *complete_ns: all changes visible at this monotonic time have been passed; 0 if that is unknown.
 * Returns -ENODATA once the clocksource is not the TSC any more; later changes are not passed.
 * To be called at least 4 times a second; gaps in the sequence numbers show lost changes.
 */
int timekeeping_log_pull(struct timekeeping_log *log,
			 int (*on_change)(void *ctx, const struct clock_change *change), void *ctx,
			 int64_t *complete_ns);

/* Returns 0 if timekeeping_log_open() would succeed, without opening; errors as above. */
int timekeeping_log_try(char *why, size_t size);

#endif
