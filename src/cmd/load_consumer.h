/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the stream of one run, live or recorded, in the same way: facts say what was asked for,
 * the analysis judges the rest, files of samples get theirs.
 */
#ifndef HOSTLAT_CMD_LOAD_CONSUMER_H
#define HOSTLAT_CMD_LOAD_CONSUMER_H

#include "cmd/load_files.h"
#include "cmd/run_facts.h"
#include "load/analysis.h"
#include "load/agent_list.h"
#include "load/setup.h"
#include "load/summary.h"

/* What a recording may be asked otherwise; 0: as it was recorded. */
struct load_question {
	double percentile, confidence;
	uint32_t method; /* enum load_method + 1 */
};

struct load_consumer {
	struct load_question question;
	struct load_files *files;        /* NULL: none */
	struct run_facts facts;
	struct load_setup setup;
	struct agent_list agents;            /* of agents */
	struct load_analysis *analysis;  /* NULL until all facts have come */
	bool interrupted;
	uint64_t ended;                  /* agents that have ended or are lost, a bit each */
	uint64_t unwritten;              /* records that the recording had no room for */
};

/* Zeroed members are as good as these. `files` must live as long. */
void load_consumer_init(struct load_consumer *consumer, const struct load_question *question,
			struct load_files *files);
void load_consumer_release(struct load_consumer *consumer);

/*
 * Returns LOAD_MORE, LOAD_DECIDED, or -errno; -EBADMSG: this is no stream of `load`.
 */
int load_consumer_add(struct load_consumer *consumer, const struct event_block *block);

/* All agents have said their last, or are lost. */
bool load_consumer_ended(const struct load_consumer *consumer);

/* Nothing more will come: decides finally. Returns 0 or as load_consumer_take(). */
int load_consumer_finish(struct load_consumer *consumer);

/* Sums up a finished run in one row; `q` is the percentile asked for. 0 or -errno. */
int load_consumer_summary(struct load_consumer *consumer, double q, struct load_summary *out);

/* Fills the report of the run, but for what only the command knows. Returns 0 or -errno. */
int load_consumer_report(struct load_consumer *consumer, struct report *report);

#endif
