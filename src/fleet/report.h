/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a fleet: headline, findings with advice, problems by resource and application. */
#ifndef HOSTLAT_FLEET_REPORT_H
#define HOSTLAT_FLEET_REPORT_H

#include "fleet/advice.h"
#include "fleet/fleet.h"

#define FLEET_ROWS 20u           /* rows of a table in text, without `all` */

struct fleet_view {
	enum fleet_audience reader;
	uint32_t application;    /* FLEET_FOR_APPLICATION: resource of kind FLEET_APP */
	bool all;                /* text: all rows and members */
};

/* Adds the result to a report. Returns 0 or -ENOMEM. */
int fleet_report(const struct fleet *f, const struct fleet_result *result,
		 const struct fleet_view *view, struct report *r);

#endif
