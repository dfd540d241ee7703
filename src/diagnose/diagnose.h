/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat diagnose`: a recording of messages and of CPU activity in, the
 * causes of the slow ones out. Two passes: the messages alone, then of the activity what the chosen
 * ones need. What the rules are and why: docs/design/diagnose.md.
 */
#ifndef HOSTLAT_DIAGNOSE_DIAGNOSE_H
#define HOSTLAT_DIAGNOSE_DIAGNOSE_H

#include "diagnose/messages.h"
#include "event/reader.h"
#include "report/times.h"

/* The JSON document's schema, for struct provenance. */
#define DIAGNOSE_SCHEMA 1

/* Facts of a recording that the analysis goes by (EV_FACT). */
#define DIAGNOSE_FACT_MACHINE "host.machine"
#define DIAGNOSE_FACT_GRANULARITY "activity.granularity_ns"
#define DIAGNOSE_FACT_BOUNDARY "record.boundary"
#define DIAGNOSE_BY_REQUEST "request"
#define DIAGNOSE_BY_MARK "mark"
#define DIAGNOSE_FACT_RECORDER "run.pid" /* whose threads are hostlat's own cost */

#define DIAGNOSE_FACT_THROTTLED "activity.throttled" /* times that a quota held a group back */

/* Where a recording doesn't say: two tracepoints of about 0.2 us each, and their order. */
#define DIAGNOSE_GRANULARITY_NS 1000

struct nesting_rule;

/* Thresholds above which a deviation counts, and the rule by which nested functions share it. */
struct diagnose_method {
	double noise_times;     /* beyond so many times the baseline's median absolute deviation */
	uint32_t function_mads; /* the same for functions */
	const struct nesting_rule *nesting; /* NULL: nesting_judge()'s own */
};

struct diagnose_options {
	struct message_selection selection;
	enum times_style times; /* how text shows points in time */
	const struct diagnose_method *method; /* NULL: the usual one */
};

struct diagnosis;

/* Never opens a file: the readers are the caller's. */
int diagnosis_new(struct diagnosis **out, const struct diagnose_options *options);
void diagnosis_free(struct diagnosis *d);

/*
 * Reads it all; `against`: where the references are from, NULL: the same recording. 0, -errno of
 * the readers (-ESPIPE: a pipe can't be read twice), -ENOMEM, -E2BIG for too many cores.
 */
int diagnosis_run(struct diagnosis *d, struct event_reader *reader, struct event_reader *against);

/*
 * Joins the slowest `share` (0..1) of a load generator's requests, recorded on the same host, to
 * the messages: what of each was the client's, the network's and the server's. After
 * diagnosis_run(). 0 or -errno.
 */
int diagnosis_join(struct diagnosis *d, struct event_reader *load, double share);

/* Fills in `r`, which is initialised. 0 or -ENOMEM. */
int diagnosis_report(const struct diagnosis *d, struct report *r);

#endif
