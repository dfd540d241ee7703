/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which commands run at the period of the latency, by the phases at which their bursts begin.
 * Rules and reasons: docs/design/period.md.
 */
#ifndef HOSTLAT_DIAGNOSE_PERIOD_JUDGE_H
#define HOSTLAT_DIAGNOSE_PERIOD_JUDGE_H

#include "diagnose/bursts.h"
#include "diagnose/latency_period.h"

#define PERIOD_ALPHA 0.05
#define PERIOD_TESTED_MAX 4096u    /* commands that are tested, at most */
#define PERIOD_LENGTH_MIN 0.5      /* least length of the mean of the bursts' unit vectors */
#define PERIOD_BURSTS_MIN 4u
#define PERIOD_SHARE_MIN (2.0 / 3) /* least share of the periods in which the command bursts */
/* Bursts of a command that begin within this share of a period are one. */
#define PERIOD_APART 0.1

/* A command that was tested. */
struct period_command {
	uint32_t command;      /* index + 1 in the recording's commands */
	uint32_t bursts, same; /* number of bursts; of these, within the same tenth of the period */
	uint32_t periods;      /* periods with a burst */
	double length;         /* length of the mean of the bursts' unit vectors, 0..1 */
	double before;         /* their mean phase, in periods before the peaks' middle */
	double p;              /* p-value, corrected for the number of commands */
	uint64_t ns;           /* time on a CPU of all bursts, in ns */
	size_t first, end;     /* its bursts */
};

struct period_commands_list VEC_OF(struct period_command);

/*
 * Appends to `out`, which the caller initialized, the commands that run at the period, the one with
 * the most time on a CPU first. Sorts `bursts` by command and time. *beyond: bursts of commands
 * that were not tested as there are too many. Returns 0 or -ENOMEM.
 */
int period_judge(const struct latency_period *period, struct burst_list *bursts,
		 struct period_commands_list *out, uint64_t *beyond);

#endif
