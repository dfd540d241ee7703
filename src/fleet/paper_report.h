/* SPDX-License-Identifier: Apache-2.0 */
/* The table of --paper: what the method of the SNAP paper finds in the same data. */
#ifndef HOSTLAT_FLEET_PAPER_REPORT_H
#define HOSTLAT_FLEET_PAPER_REPORT_H

#include "fleet/fleet.h"

/* Adds the table "paper" to the report. Returns 0 or -ENOMEM. */
int fleet_paper_report(const struct fleet *f, struct report *r);

#endif
