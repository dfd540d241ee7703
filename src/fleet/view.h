/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a report: whose findings it has, and how many. */
#ifndef HOSTLAT_FLEET_VIEW_H
#define HOSTLAT_FLEET_VIEW_H

#include "fleet/advice.h"

#define FLEET_ROWS 20u           /* rows of a table in text, without `all` */
#define FLEET_P_LEAST 1e-16      /* no p-value is known to be smaller */

struct fleet_view {
	enum fleet_audience reader;
	uint32_t application;    /* FLEET_FOR_APPLICATION: resource of kind FLEET_APP */
	bool all;                /* text: all rows and members */
};

#endif
