/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consumes the stream of a run, live or recorded: facts give the configuration, other events go to
 * the analysis, and all to the output files.
 */
#ifndef HOSTLAT_CMD_LOAD_CONSUMER_H
#define HOSTLAT_CMD_LOAD_CONSUMER_H

#include "cmd/load_files.h"
#include "cmd/run_facts.h"
#include "load/analysis.h"
#include "load/agent_list.h"
#include "load/setup.h"
#include "load/summary.h"

/* Settings of an analysis that may differ from those of the recording; 0: as recorded. */
struct load_question {
	double percentile, confidence;
	uint32_t method; /* enum load_method + 1 */
};

struct load_consumer {
	struct load_question question;
	struct load_files *files;        /* NULL: none */
	struct run_facts facts;
	struct load_setup setup;
	struct agent_list agents;            /* the agents of the run */
	struct load_analysis *analysis;  /* NULL until all facts have come */
	bool interrupted;
	uint64_t ended;                  /* agents that have ended or are lost, a bit each */
	uint64_t unwritten;              /* records that the recording had no room for */
};

/* Initializes a consumer; `files` may be NULL and must outlive it. */
void load_consumer_init(struct load_consumer *consumer, const struct load_question *question,
			struct load_files *files);
void load_consumer_release(struct load_consumer *consumer);

/*
 * Adds a block of events. Returns LOAD_MORE, LOAD_DECIDED, or -errno; -EBADMSG: it is not a stream
 * of `load`.
 */
int load_consumer_add(struct load_consumer *consumer, const struct event_block *block);

/* Returns whether all agents have ended or are lost. */
bool load_consumer_ended(const struct load_consumer *consumer);

/* Ends the stream and evaluates the run. Returns 0 or as load_consumer_add(). */
int load_consumer_finish(struct load_consumer *consumer);

/* Summarizes a finished run; `q` is the requested percentile. Returns 0 or -errno. */
int load_consumer_summary(struct load_consumer *consumer, double q, struct load_summary *out);

/*
 * Fills the report of the run, except for the parts that only the command knows. Returns 0 or
 * -errno.
 */
int load_consumer_report(struct load_consumer *consumer, struct report *report);

#endif
