/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `hostlat watch`. Each function adds one field to the report's body. */
#ifndef HOSTLAT_WATCH_TABLES_H
#define HOSTLAT_WATCH_TABLES_H

#include "watch/row_table.h"

struct watch_common watch_common(const struct watch *w);

/* Adds the table of stages, with lines for requested stages that were not measured, and why. */
void watch_add_stages(const struct watch *w, enum watch_span span, const struct watch_common *c,
		      struct report *r);
void watch_add_counts(const struct watch *w, enum watch_span span, enum count_what what,
		      struct report *r);
void watch_add_bindings(const struct watch *w, struct report *r);
/* Adds the scheduler's table, which borrows sums made in `w`. Returns 0 or -ENOMEM. */
int watch_add_scheduler(struct watch *w, enum watch_span span, struct report *r);
void watch_add_culprits(const struct watch *w, enum watch_span span, struct report *r);
/* arrival.c: adds the tables of packets before the network stack. */
void watch_add_arrival(const struct watch *w, enum watch_span span, const struct watch_common *c,
		       struct report *r);
/* slow.c: adds the messages slower than --slower-than. */
void watch_add_slow(const struct watch *w, enum watch_span span, struct report *r);

#endif
