/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consumes the stream of a run, live or recorded: facts give the configuration, other events go to
 * the analysis.
 */
#ifndef HOSTLAT_LOAD_CONSUMER_H
#define HOSTLAT_LOAD_CONSUMER_H

#include "load/agent_list.h"
#include "load/analysis.h"
#include "load/setup.h"
#include "load/summary.h"

/* Settings of an analysis that replace the recorded settings; 0: as recorded. */
struct load_question {
	double percentile, confidence;
	uint32_t method; /* enum load_method + 1; 0: as recorded */
	bool excise;     /* false: as recorded */
	uint64_t tolerated; /* gates (gate_mask()) that are no objection */
};

struct load_consumer {
	struct load_question question;
	/* Called with each event block before the analysis; NULL: none. Returns 0 or -errno. */
	int (*tap)(void *tap_ctx, const struct event_block *block);
	void *tap_ctx;
	struct load_setup setup;
	struct agent_list agents;
	struct load_analysis *analysis;  /* NULL until the configuration (EV_FACT) has come */
	bool interrupted;
	uint64_t ended;                  /* bit mask of the agents that have ended or are lost */
	uint64_t unwritten;              /* records dropped at the recording's size limit */
};

/* Initializes a consumer with `tap` NULL: only the analysis gets the events. */
void load_consumer_init(struct load_consumer *consumer, const struct load_question *question);
void load_consumer_release(struct load_consumer *consumer);

/*
 * Adds a block of events. Returns LOAD_DECIDED (the run may end), LOAD_MORE, or -errno; -EBADMSG:
 * not a stream of `load`.
 */
int load_consumer_add(struct load_consumer *consumer, const struct event_block *block);

/* Returns whether all agents have ended or are lost. */
bool load_consumer_ended(const struct load_consumer *consumer);

/* Ends the stream and evaluates the run. Returns 0, or -errno as load_consumer_add(). */
int load_consumer_finish(struct load_consumer *consumer);

/*
 * Summarizes a finished run; `q` is the requested percentile, `conditions` those of all runs or
 * NULL. Returns 0 or -errno.
 */
int load_consumer_summary(struct load_consumer *consumer, double q,
			  const struct load_conditions *conditions, struct load_summary *out);

/*
 * Fills the report of the run. The caller adds the results of --assert and the errors of output
 * files. Returns 0 or -errno.
 */
int load_consumer_report(struct load_consumer *consumer, struct report *report);

#endif
