/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two runs of `load` differ by. Intervals are those that each run has by itself
 * (load/interval.h), p is by their windows (stats/contrast.h): both hold for dependent requests.
 */
#ifndef HOSTLAT_LOAD_COMPARE_H
#define HOSTLAT_LOAD_COMPARE_H

#include "load/analysis.h"

/*
 * Adds "load", and a finding; and as reasons what keeps the two from being compared. Both analyses
 * are finished. 0 or -ENOMEM.
 */
int load_compare_report(const struct load_analysis *a, const struct load_analysis *b,
			struct report *r);

#endif
