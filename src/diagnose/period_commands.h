/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that run at the period at which a load's latency peaks: a timer, a cron job. The
 * period is found by the load's own analysis; both recordings are of one host's clock.
 */
#ifndef HOSTLAT_DIAGNOSE_PERIOD_COMMANDS_H
#define HOSTLAT_DIAGNOSE_PERIOD_COMMANDS_H

#include "diagnose/diagnose.h"
#include "diagnose/latency_period.h"

struct period_commands;

/*
 * Looks for the commands by the CPU activity that `d` was made from. `load` is the load's
 * recording; period->ns, from and to are of its requests. Without a period nothing is read. `d`
 * must outlive *out. Returns 0, -errno of the readers, -E2BIG for too many cores, or -ENOMEM; free
 * *out in either case.
 */
int period_commands_new(struct period_commands **out, const struct diagnosis *d,
			struct event_reader *load, const struct latency_period *period);
void period_commands_free(struct period_commands *found);

/* Adds the field "period" to the report, and a finding if there is a period. 0 or -ENOMEM. */
int period_commands_report(const struct period_commands *found, struct report *r);

#endif
