/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best guess of --find-max: the rate up to which a condition held by what trial runs saw,
 * without bounds. The search itself never uses it.
 */
#ifndef HOSTLAT_LOAD_FINDMAX_GUESS_H
#define HOSTLAT_LOAD_FINDMAX_GUESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/findmax.h"
#include "load/summary.h"
#include "report/report.h"

/* A trial run, by its observed quantile. */
struct findmax_seen {
	double rate;  /* requests/s */
	bool holds;   /* the quantile was below the limit, at the requested load */
};

/* The condition holds at most rates up to `rate`, and fails at most rates from `above` on. */
struct findmax_guess {
	double rate;  /* highest rate that holds; 0: it fails even at the lowest rate tried */
	double above; /* lowest rate tried above it; 0: none */
	size_t agree; /* trial runs that agree */
};

/*
 * Makes the guess that agrees with most trial runs, with ties the lowest one, so that lo <= rate
 * and, unless hi is 0, above <= hi: shown rates stay. Returns false if there are fewer than three
 * trial runs, or no more than half of them agree.
 */
bool findmax_guess(const struct findmax_seen *seen, size_t n, double lo, double hi,
		   struct findmax_guess *out);

/*
 * Adds the guess of the trial runs to `o`, and as a finding unless the answer is known as precisely
 * as requested. Trial runs without the requested load count only if the server was the reason.
 * Returns 0 or -ENOMEM.
 */
int findmax_guess_report(const struct load_runs *runs, const struct load_condition *condition,
			 const struct findmax *fm, struct object *o, struct report *r);

#endif
