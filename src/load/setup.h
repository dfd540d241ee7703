/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The complete configuration of a run, as facts "load.NAME" at the start of its stream, so that a
 * recording is analyzed exactly as the live run.
 */
#ifndef HOSTLAT_LOAD_SETUP_H
#define HOSTLAT_LOAD_SETUP_H

#include "event/source.h"
#include "load/analysis.h"
#include "load/config.h"
#include "report/report.h"

#define LOAD_SETUP_TEXT_MAX 4352 /* the longest path, and a prefix */

#define LOAD_SETUP_NICS_MAX 1024

/* The engine puts one for each target. */
#define LOAD_FACT_TARGET "load.target"

/* One for each address of a host name that a connection was made to: "NAME is ADDRESS". */
#define LOAD_FACT_ADDRESS "load.address"

/* With STAMPS_NIC, one for each interface; and at the end one with the largest error of all. */
#define LOAD_FACT_NIC "load.nic"
#define LOAD_FACT_NIC_ERROR "load.nic_error_ns"

/* Events of the run, put at that point of the stream. */
#define LOAD_FACT_INTERRUPTED "load.interrupted"
#define LOAD_FACT_AGENT_LOST "load.agent_lost" /* "NUMBER: why" */

struct load_setup {
	struct load_config config;             /* from facts: without targets */
	struct load_analysis_config analysis;
	char arrival[LOAD_SETUP_TEXT_MAX];     /* config.arrival and analysis.arrival point here */
	char workload[LOAD_SETUP_TEXT_MAX];    /* config.workload does; "" is NULL */
	char ca[LOAD_SETUP_TEXT_MAX];          /* config.ca_file does; "" is NULL */
	char cert[LOAD_SETUP_TEXT_MAX];        /* config.cert_file does; "" is NULL */
	char expect[LOAD_SETUP_TEXT_MAX];      /* config.expect does; "" is NULL */
	char *targets[LOAD_TARGETS_MAX];       /* from facts; owned */
	uint32_t n_targets;
	char addresses[LOAD_SETUP_NICS_MAX];   /* from facts, separated by ", "; may be "" */
	char nics[LOAD_SETUP_NICS_MAX];        /* from facts: names, separated by ", " */
	uint64_t nic_error_ns;                 /* from facts: 0 if no stamp was converted */
	uint64_t seen;                         /* facts that were read, a bit each */
};

/*
 * Initializes a setup from configs; texts are copied. Returns 0, -ENAMETOOLONG, or -EINVAL with a
 * sentence in `why`. The result points into itself: not to be moved after this or
 * load_setup_complete().
 */
int load_setup_init(struct load_setup *setup, const struct load_config *config,
		    const struct load_analysis_config *analysis, struct strbuf *why);

int load_setup_put(const struct load_setup *setup, struct event_sink *sink, uint64_t now);

/* Puts LOAD_FACT_TARGET, without the URL's password. */
int load_setup_put_target(struct event_sink *sink, uint64_t now, const char *url);

/* Accepts a zeroed setup. */
void load_setup_release(struct load_setup *setup);

/*
 * Adds a fact to a setup, zeroed at first; unknown keys are ignored. Returns 0, -ENOMEM, or
 * -EBADMSG for an invalid value.
 */
int load_setup_add_fact(struct load_setup *setup, const char *key, const char *value);

/*
 * Completes a setup after all facts. Returns 0, or -EBADMSG if facts are missing: it is not a
 * recording of `load`.
 */
int load_setup_complete(struct load_setup *setup);

/* Adds "setup" to the report, and its main values as a line of text. */
void load_setup_report(const struct load_setup *setup, struct report *r);

#endif
