/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat diagnose`: finds the causes of slow messages in a recording of
 * messages and CPU activity. The first pass reads the messages, the second the activity that the
 * chosen messages need. Rules and reasons: docs/design/diagnose.md.
 */
#ifndef HOSTLAT_DIAGNOSE_DIAGNOSE_H
#define HOSTLAT_DIAGNOSE_DIAGNOSE_H

#include "diagnose/commands.h"
#include "diagnose/subjects.h"
#include "event/reader.h"
#include "report/times.h"

/* The JSON document's schema, for struct provenance. */
#define DIAGNOSE_SCHEMA 1

/* Names of a recording's facts (EV_FACT) that the analysis uses. */
#define DIAGNOSE_FACT_MACHINE "host.machine"
#define DIAGNOSE_FACT_GRANULARITY "activity.granularity_ns"
#define DIAGNOSE_FACT_BOUNDARY "record.boundary"
#define DIAGNOSE_BY_REQUEST "request"
#define DIAGNOSE_BY_MARK "mark"
#define DIAGNOSE_FACT_RECORDER "run.pid" /* pid whose threads are hostlat's own overhead */

#define DIAGNOSE_FACT_THROTTLED "activity.throttled" /* how often CPU quotas throttled cgroups */

/*
 * Resolution of times, in ns, if the recording does not state it: it allows for the cost
 * of two tracepoints, 0.2 us each, and for the order of their events.
 */
#define DIAGNOSE_GRANULARITY_NS 1000

struct nesting_rule;

/* Median absolute deviations of the baseline up to which a time above it is noise. */
#define DIAGNOSE_NOISE_TIMES 3

/* Thresholds above which a time over the baseline counts, and how nested functions share it. */
struct diagnose_method {
	/* threshold for a cause's time above the baseline, in median absolute deviations */
	double noise_times;
	/* threshold for a function's time above the baseline, in median absolute deviations */
	uint32_t function_mads;
	const struct nesting_rule *nesting; /* NULL: the default rule of nesting_judge() */
};

/* A load generator's recording, made on the same host, and which of its requests are explained. */
struct diagnose_load {
	struct event_reader *reader; /* borrowed; NULL: there is none */
	double share;                /* the slowest share, 0..1 */
	/* only requests that were due in [from_ns, to_ns): the others are the warm-up */
	uint64_t from_ns, to_ns;
};

struct diagnose_options {
	struct message_selection selection;
	enum times_style times; /* how text shows points in time */
	const struct diagnose_method *method; /* NULL: the default method */
	struct hostlat_pids hostlat; /* the run's hostlat processes besides the recorder */
	/* its slow requests are divided between client, network and server, and by cause */
	struct diagnose_load load;
};

struct diagnosis;

/* Creates an analysis. The caller opens the recording files. Returns 0 or -ENOMEM. */
int diagnosis_new(struct diagnosis **out, const struct diagnose_options *options);
void diagnosis_free(struct diagnosis *d);

/*
 * Reads and analyzes the recording. `against` is the recording of the reference messages; NULL: the
 * same one. Returns 0, -errno of the readers (-ESPIPE: a pipe cannot be read twice), -ENOMEM, or
 * -E2BIG for too many cores.
 */
int diagnosis_run(struct diagnosis *d, struct event_reader *reader, struct event_reader *against);

/* The cause with most of the excess. */
struct main_cause {
	unsigned int cause;  /* enum cause */
	bool client;         /* it is in the load generator */
	double share;        /* its share of the excess, 0..1 */
};

/*
 * Finds the main cause of the slow requests, or of the messages to explain if those are not known.
 * Returns false if there is no excess.
 */
bool diagnosis_main_cause(const struct diagnosis *d, struct main_cause *out);

/*
 * Puts the main cause, and who is behind it, into words of `r`: "for 54 %
 * of the extra time the server waited for a CPU, held by gzip (4 processes)". *out: NULL if there
 * is no excess. Returns 0 or -ENOMEM.
 */
int diagnosis_headline_cause(const struct diagnosis *d, struct report *r, const char **out);

/* Adds the results to `r`, which the caller initialized. Returns 0 or -ENOMEM. */
int diagnosis_report(const struct diagnosis *d, struct report *r);

#endif
