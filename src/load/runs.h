/* SPDX-License-Identifier: Apache-2.0 */
/* The results of many runs: a table of them, and what they say together. */
#ifndef HOSTLAT_LOAD_RUNS_H
#define HOSTLAT_LOAD_RUNS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "load/between_runs.h"
#include "load/findmax.h"
#include "load/summary.h"

struct load_runs VEC_OF(struct load_summary);

/* Why there are fewer runs than were asked for, if there are. */
struct load_runs_end {
	bool interrupted;
	const char *failed; /* the run that could not be made, or NULL */
};

/* All fill the report of the command, verdict included; `q` is the quantile in question. */
void load_runs_sweep(const struct load_runs *runs, double q, const struct load_runs_end *end,
		       struct report *r);
void load_runs_repeat(const struct load_runs *runs, double q, double confidence,
			const struct load_runs_end *end, struct report *r);
void load_runs_find_max(const struct load_runs *runs, const struct load_condition *condition,
			  const struct findmax *fm, const struct load_runs_end *end,
			  struct report *r);

/* `runs` are in pairs. Returns 0 or -ENOMEM. */
int load_runs_against(const struct load_runs *runs, const char *const urls[2], double q,
			double confidence, struct rng *rng, const struct load_runs_end *end,
			struct report *r);

/* The table as CSV; see out->error. At most LOAD_RUNS_CSV_MAX bytes are of use. */
void load_runs_csv(const struct load_runs *runs, double q, struct strbuf *out);
#define LOAD_RUNS_CSV_MAX (4UL << 20)

#endif
