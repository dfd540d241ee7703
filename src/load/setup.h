/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that was asked of a run, as facts "load.NAME" that open its stream: a recording knows what a
 * live analysis knew, to the bit, and says it the same way.
 */
#ifndef HOSTLAT_LOAD_SETUP_H
#define HOSTLAT_LOAD_SETUP_H

#include "event/source.h"
#include "load/analysis.h"
#include "load/config.h"
#include "report/report.h"

#define LOAD_SETUP_TEXT_MAX 4352 /* the longest path, and what may stand before it */

#define LOAD_SETUP_NICS_MAX 1024

/* The engine puts one for each target. */
#define LOAD_FACT_TARGET "load.target"

/* ... and for each of a name's addresses that a connection was made to: "NAME is ADDRESS". */
#define LOAD_FACT_ADDRESS "load.address"

/* ... with STAMPS_NIC for each interface, and at the end for all of them the bound of an error. */
#define LOAD_FACT_NIC "load.nic"
#define LOAD_FACT_NIC_ERROR "load.nic_error_ns"

/* What happened to the run, put where it happened: the analysis was told then. */
#define LOAD_FACT_INTERRUPTED "load.interrupted"
#define LOAD_FACT_AGENT_LOST "load.agent_lost" /* "NUMBER: why" */

struct load_setup {
	struct load_config config;             /* taken from facts: without targets */
	struct load_analysis_config analysis;
	char arrival[LOAD_SETUP_TEXT_MAX];     /* config.arrival and analysis.arrival point here */
	char workload[LOAD_SETUP_TEXT_MAX];    /* config.workload does; "" is NULL */
	char ca[LOAD_SETUP_TEXT_MAX];          /* config.ca_file does; "" is NULL */
	char cert[LOAD_SETUP_TEXT_MAX];        /* config.cert_file does; "" is NULL */
	char expect[LOAD_SETUP_TEXT_MAX];      /* config.expect does; "" is NULL */
	char *targets[LOAD_TARGETS_MAX];       /* from facts; owned */
	uint32_t n_targets;
	char addresses[LOAD_SETUP_NICS_MAX];   /* from facts, with ", " between; may be "" */
	char nics[LOAD_SETUP_NICS_MAX];        /* from facts: names, with ", " between */
	uint64_t nic_error_ns;                 /* from facts: 0 if no stamp was converted */
	uint64_t seen;                         /* facts that were taken, a bit each */
};

/*
 * It points into itself: not to be moved after this or load_setup_complete().
 *
 * From what the options say; texts are copied. -EINVAL: `why` says what the arrival takes.
 */
int load_setup_init(struct load_setup *setup, const struct load_config *config,
		    const struct load_analysis_config *analysis, struct strbuf *why);

int load_setup_put(const struct load_setup *setup, struct event_sink *sink, uint64_t now);

/* LOAD_FACT_TARGET, without the URL's password. */
int load_setup_put_target(struct event_sink *sink, uint64_t now, const char *url);

/* For a zeroed setup, too. */
void load_setup_release(struct load_setup *setup);

/* Takes a fact into a zeroed setup; unknown keys are ignored. -EBADMSG for an impossible value. */
int load_setup_add_fact(struct load_setup *setup, const char *key, const char *value);

/* All facts have been taken. -EBADMSG if some are missing: this is no recording of `load`. */
int load_setup_complete(struct load_setup *setup);

/* The "setup" of the result; a line of text says what is in it. */
void load_setup_report(const struct load_setup *setup, struct report *r);

#endif
