/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the messages of two recordings: their latencies, and the causes of the time
 * in the same slice of both. The method: docs/design/compare.md.
 *
 * The means of a slice's causes sum to its mean latency, to the nanosecond.
 */
#ifndef HOSTLAT_DIAGNOSE_COMPARE_H
#define HOSTLAT_DIAGNOSE_COMPARE_H

#include "diagnose/commands.h"
#include "diagnose/subjects.h"
#include "event/reader.h"
#include "report/report.h"

struct comparison;

/*
 * Reads both recordings and compares the slice of `selection`, whose reference options are ignored.
 * `pids`: each run's hostlat processes besides the recorder; NULL: unknown. Returns 0 or -errno as
 * diagnosis_run(); after an error *which is the reader that failed, or NULL. Free *out in either
 * case with comparison_free(), which accepts NULL.
 */
int comparison_new(struct comparison **out, const struct message_selection *selection,
		   struct event_reader *a, struct event_reader *b,
		   const struct hostlat_pids pids[2], const struct event_reader **which);
void comparison_free(struct comparison *c);

/*
 * Returns recording 0's or 1's number of messages. The next function: ns from their first begin to
 * their last end.
 */
uint64_t comparison_messages(const struct comparison *c, int side);
uint64_t comparison_duration_ns(const struct comparison *c, int side);

/*
 * Adds "quantiles", "slice", "causes", "applications", the findings and the reasons. Returns 0 or
 * -ENOMEM.
 */
int comparison_report(const struct comparison *c, struct report *r);

#endif
