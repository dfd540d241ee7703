/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a finding: what happens at the resource, and what to do there. */
#ifndef HOSTLAT_FLEET_ADVICE_H
#define HOSTLAT_FLEET_ADVICE_H

#include <stdbool.h>

#include "fleet/fleet.h"

/* Readers of the report: each gets the findings on which that reader can act. */
enum fleet_audience { FLEET_FOR_ALL, FLEET_FOR_NETWORK, FLEET_FOR_APPLICATION };

/* Return words in lower case; static. The label is such as "fast retransmissions". */
const char *fleet_class_label(enum fleet_class class);

/* Returns what to do, without a full stop; static. */
const char *fleet_advice(enum fleet_class class, enum fleet_kind kind);

/*
 * Returns whether operators of the network (FLEET_FOR_NETWORK) or developers of an application
 * (FLEET_FOR_APPLICATION) can act on a problem at a resource of this kind.
 */
bool fleet_advice_is_for(enum fleet_audience reader, enum fleet_class class, enum fleet_kind kind);

#endif
