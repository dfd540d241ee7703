/* SPDX-License-Identifier: Apache-2.0 */
/* The results of many runs: a table of them, and what they say together. */
#ifndef HOSTLAT_CMD_LOAD_MANY_REPORT_H
#define HOSTLAT_CMD_LOAD_MANY_REPORT_H

#include "base/vec.h"
#include "cmd/load_result.h"
#include "load/between.h"
#include "load/findmax.h"

struct load_runs VEC_OF(struct load_summary);

/* Why there are fewer runs than were asked for, if there are. */
struct load_many_end {
	bool interrupted;
	const char *failed; /* the run that could not be made, or NULL */
};

/* All fill the report of the command, verdict included; `q` is the quantile in question. */
void load_sweep_report(const struct load_runs *runs, double q, const struct load_many_end *end,
		       struct report *r);
void load_repeat_report(const struct load_runs *runs, double q, double confidence,
			const struct load_many_end *end, struct report *r);
void load_find_max_report(const struct load_runs *runs, const struct load_condition *condition,
			  const struct findmax *fm, const struct load_many_end *end,
			  struct report *r);

/* `runs` are in pairs. Returns 0 or -ENOMEM. */
int load_against_report(const struct load_runs *runs, const char *const urls[2], double q,
			double confidence, struct rng *rng, const struct load_many_end *end,
			struct report *r);

/* The table as CSV. Returns 0 or, after a message, -errno. */
int load_runs_csv(const struct load_runs *runs, double q, const char *path);

#endif
