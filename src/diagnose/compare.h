/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the messages of two recordings: their latencies, and the causes of the time
 * in the same slice of both. The method: docs/design/compare.md.
 *
 * Of a slice, the mean latency is the sum of the means of its causes, to the nanosecond.
 */
#ifndef HOSTLAT_DIAGNOSE_COMPARE_H
#define HOSTLAT_DIAGNOSE_COMPARE_H

#include "diagnose/messages.h"
#include "event/reader.h"
#include "report/report.h"

struct comparison;

/*
 * Reads both; `selection` says which slice is looked into, its references are of no concern. 0;
 * -errno as diagnosis_run(), and then *which is the reader that it is about, or NULL. To be freed
 * in either case; NULL is fine.
 */
int comparison_new(struct comparison **out, const struct message_selection *selection,
		   struct event_reader *a, struct event_reader *b,
		   const struct event_reader **which);
void comparison_free(struct comparison *c);

/* Return the messages of recording 0 or 1, and the time over which they were read, in ns. */
uint64_t comparison_messages(const struct comparison *c, int side);
uint64_t comparison_duration_ns(const struct comparison *c, int side);

/*
 * Adds "quantiles", "slice", "causes" and "applications", and the findings and reasons. 0 or
 * -ENOMEM.
 */
int comparison_report(const struct comparison *c, struct report *r);

#endif
