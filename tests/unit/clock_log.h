/* SPDX-License-Identifier: Apache-2.0 */
/* A log of stretches (clock/reconcile.h) that is filled directly, and how often it breaks off. */
#ifndef HOSTLAT_TESTS_CLOCK_LOG_H
#define HOSTLAT_TESTS_CLOCK_LOG_H

#include "clock/reconcile.h"

static inline int clock_log_put(void *ctx, enum clock_domain domain,
				const struct clock_stretch *stretch)
{
	return clock_reconcile_add(ctx, domain, stretch);
}

static inline struct clock_taker clock_log_taker(struct clock_reconcile *r)
{
	return (struct clock_taker){ .put = clock_log_put, .ctx = r };
}

/* Returns how often the log is interrupted, by steps and by lost changes. */
static inline size_t clock_log_breaks(const struct clock_reconcile *r, enum clock_domain domain)
{
	return r->logs[domain].runs.len ? r->logs[domain].runs.len - 1 : 0;
}

#endif
