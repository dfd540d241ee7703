/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the messages of recordings, one or several of each side: their latencies, and
 * the causes of the time in the same slice of each. The method: docs/design/compare.md.
 *
 * The means of a slice's causes sum to its mean latency, to the nanosecond.
 */
#ifndef HOSTLAT_DIAGNOSE_COMPARE_H
#define HOSTLAT_DIAGNOSE_COMPARE_H

#include "diagnose/commands.h"
#include "diagnose/subjects.h"
#include "event/reader.h"
#include "report/difference.h"

struct comparison;

/*
 * Creates a comparison of the slice of `selection`, whose reference options are ignored, without
 * recordings. Returns 0 or -ENOMEM. Free *out in either case with comparison_free(), which accepts
 * NULL.
 */
int comparison_new(struct comparison **out, const struct message_selection *selection);
void comparison_free(struct comparison *c);

/*
 * Reads a recording of side 0 (A) or 1 (B). `pids`: the run's hostlat processes besides the
 * recorder; NULL: unknown. Returns 0 or -errno as diagnosis_run(). The reader must live as long as
 * the comparison.
 */
int comparison_add(struct comparison *c, int side, struct event_reader *reader,
		   const struct hostlat_pids *pids);

/* Compares, after the last recording: each side has at least one. Returns 0 or -ENOMEM. */
int comparison_evaluate(struct comparison *c);

/* Returns the latencies of the recordings of a side. They are valid as long as the comparison. */
const struct difference_series *comparison_series(const struct comparison *c, int side);

/*
 * Returns a recording's number of messages. The next function: ns from their first begin to their
 * last end.
 */
uint64_t comparison_messages(const struct comparison *c, int side, size_t recording);
uint64_t comparison_duration_ns(const struct comparison *c, int side, size_t recording);

/*
 * Adds "quantiles", "slice", "causes", "applications", the findings and the reasons, and what was
 * tested to `tally`. Returns 0 or -ENOMEM.
 */
int comparison_report(const struct comparison *c, struct report *r,
		      struct difference_tally *tally);

#endif
