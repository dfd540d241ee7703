/* SPDX-License-Identifier: Apache-2.0 */
/* The headlines of results of several runs. */
#ifndef HOSTLAT_LOAD_RUNS_HEADLINE_H
#define HOSTLAT_LOAD_RUNS_HEADLINE_H

#include "load/between_runs.h"
#include "load/summary.h"

/* Sets the headline of runs at several rates: quantile q at the lowest and at the highest. */
void runs_headline_sweep(const struct load_runs *runs, double q, size_t sound, struct report *r);

/* The same of runs at one rate, and of two servers. `confidence` is that of the interval. */
void runs_headline_between(const struct between_runs *b, double q, double confidence,
			   struct report *r);
void runs_headline_pairs(const struct paired_diff *v, const char *const urls[2], double q,
			 double confidence, struct report *r);

#endif
