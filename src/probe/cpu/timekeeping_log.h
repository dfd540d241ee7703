/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own account of its clocks, live: loads src/bpf/timekeeping.bpf.c. */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_LOG_H
#define HOSTLAT_PROBE_TIMEKEEPING_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "clock/changes.h"

struct timekeeping_log;

/*
 * From here on. -errno, with the reason in words in `why`: -EPERM, -EBUSY and others where this
 * kernel doesn't let its functions be watched, -ENOENT without the function, -EOPNOTSUPP where the
 * clock isn't read from the TSC.
 */
int timekeeping_log_open(struct timekeeping_log **out, char *why, size_t size);

/* NULL is fine. */
void timekeeping_log_free(struct timekeeping_log *log);

/*
 * Gives each change that has come to `take`; below 0 is an error, and ends it. *complete_ns: all
 * changes that were visible at this monotonic time have been given; 0 if that can't be said now.
 * -ENODATA: the clock isn't read from the TSC any more: what came from then on is not given.
 * To be called 4 times a second at least; what is missing otherwise, the sequence tells.
 */
int timekeeping_log_pull(struct timekeeping_log *log,
			 int (*take)(void *ctx, const struct clock_change *change), void *ctx,
			 int64_t *complete_ns);

/* Whether it can be opened on this kernel, without doing so; errors as above. */
int timekeeping_log_try(char *why, size_t size);

#endif
