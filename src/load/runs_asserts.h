/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the conditions of --assert by several runs: --repeat and --against. */
#ifndef HOSTLAT_LOAD_RUNS_ASSERTS_H
#define HOSTLAT_LOAD_RUNS_ASSERTS_H

#include "load/asserts.h"
#include "load/between_runs.h"
#include "load/summary.h"

/*
 * Returns quantile q of a run: that of --percentile, p50, p90, p99 or p99.9; NULL: another one was
 * not kept.
 */
const struct load_quantile *runs_asserts_quantile(const struct load_summary *s, double asked,
						  double q);

/*
 * Judges each condition of --assert by its quantile over all runs that count
 * (load_summary_counts()), of which `asked` is that of --percentile, and adds the table "asserts".
 * A condition that all such runs together show stays open if another run does not count. More than
 * half of the runs decide a condition of --assert-seen (load_asserts_see_run()). Returns 0 or
 * -ENOMEM.
 */
int runs_asserts_repeat(const struct load_runs *runs, const struct load_conditions *conditions,
			double asked, double confidence, struct report *r,
			struct load_asserts *out);

/*
 * Judges conditions on the ratio of two servers. Slices that were left out (numbers of either
 * server) were slower than those that were not: without some of the first server's, the ratio may
 * be too large; without some of the second one's, too small.
 */
void runs_asserts_against(const struct paired_diff *diff, const size_t left_out[2],
			  const struct load_conditions *conditions, struct report *r,
			  struct load_asserts *out);

#endif
