/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_WATCH_OTHER_TRAFFIC_H
#define HOSTLAT_WATCH_OTHER_TRAFFIC_H

#include "report/report.h"
#include "watch/state.h"

/*
 * Adds the traffic that no stage covers, by protocol: `uncovered`, null with a reason where it was
 * not counted, and a sentence if there was any.
 */
void watch_add_uncovered(const struct watch *w, enum watch_span span, struct report *r);
int watch_put_uncovered(const struct watch *w, enum watch_span span, struct report *r);

#endif
