/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a fleet: headline, findings with advice, problems by resource and application. */
#ifndef HOSTLAT_FLEET_REPORT_H
#define HOSTLAT_FLEET_REPORT_H

#include "fleet/fleet.h"
#include "fleet/view.h"

/* Adds the result to a report. Returns 0 or -ENOMEM. */
int fleet_report(const struct fleet *f, const struct fleet_result *result,
		 const struct fleet_view *view, struct report *r);

#endif
