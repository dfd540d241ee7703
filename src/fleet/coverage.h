/* SPDX-License-Identifier: Apache-2.0 */
/* For how much of the time a problem could be seen at all. */
#ifndef HOSTLAT_FLEET_COVERAGE_H
#define HOSTLAT_FLEET_COVERAGE_H

#include "fleet/fleet.h"
#include "report/report.h"

/*
 * Adds the share of the connections' time for which each problem is known, and a finding where that
 * is less than half: such a problem can be missed. A connection's time is that of the problem that
 * is known for longest. O(connections).
 */
void fleet_coverage_report(const struct fleet *f, struct report *r);

#endif
