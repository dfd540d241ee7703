/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares runs of `load`, one or several on each side. Each run has its own intervals
 * (load/interval.h). Of two runs, p comes from their windows (stats/contrast.h), which allow for
 * dependent requests; of several on each side, from the runs (stats/welch.h).
 */
#ifndef HOSTLAT_LOAD_COMPARE_H
#define HOSTLAT_LOAD_COMPARE_H

#include "load/analysis.h"
#include "report/difference.h"

/* The finished runs of one side. */
struct load_compared {
	const struct load_analysis *runs[DIFFERENCE_RECORDINGS_MAX];
	size_t n;
};

/*
 * Creates the latencies of a side's runs, as measured from the first run's main point. Their
 * histograms are the runs', so they are valid as long as those. Returns 0, -EINVAL (the runs
 * measure from different points) or -ENOMEM. Free *out with load_series_free(), which accepts NULL.
 */
struct load_series_of_runs;
int load_series_new(struct load_series_of_runs **out, const struct load_compared *side);
void load_series_free(struct load_series_of_runs *series);
const struct difference_series *load_series_get(const struct load_series_of_runs *series);

/* Gives a reason if the runs, of which a side may have none, do not all have one rate. */
void load_compare_check_rates(const struct load_compared *a, const struct load_compared *b,
			      struct report *r);

/*
 * Adds the JSON object "load", the findings, and a reason if the runs cannot be compared. Returns 0
 * or -ENOMEM.
 */
int load_compare_report(const struct load_compared *a, const struct load_compared *b,
			struct report *r, struct difference_tally *tally);

#endif
