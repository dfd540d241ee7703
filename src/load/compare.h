/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two runs of `load`. Each run has its own intervals (load/interval.h); p comes from the
 * runs' windows (stats/contrast.h). Both allow for dependent requests.
 */
#ifndef HOSTLAT_LOAD_COMPARE_H
#define HOSTLAT_LOAD_COMPARE_H

#include "load/analysis.h"

/*
 * Adds the JSON object "load" and a finding, and a reason if the two runs cannot be compared. Both
 * analyses must be finished. Returns 0 or -ENOMEM.
 */
int load_compare_report(const struct load_analysis *a, const struct load_analysis *b,
			struct report *r);

#endif
