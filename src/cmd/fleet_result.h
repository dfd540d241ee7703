/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a fleet's report what it was made from, and what was missing there. */
#ifndef HOSTLAT_CMD_FLEET_RESULT_H
#define HOSTLAT_CMD_FLEET_RESULT_H

#include "cmd/fleet_inputs.h"
#include "report/report.h"

/* Adds hosts, recordings, and reasons and sentences about them. */
void fleet_result_add(const struct fleet_inputs *in, struct report *r);

#endif
