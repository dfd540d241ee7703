/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that open a stream of any command: who measured, where, when, and on what set-up. */
#ifndef HOSTLAT_CMD_RUN_FACTS_H
#define HOSTLAT_CMD_RUN_FACTS_H

#include "event/source.h"
#include "report/report.h"

/* So that a stream can be shown again as the same run. */
#define FACT_VERSION "run.version"
#define FACT_HOST "run.host"
#define FACT_STARTED "run.started_ns"
#define FACT_RUN_PID "run.pid"

/* Puts the facts about this host and time. Returns 0 or what the sink returns. */
int run_facts_put(struct event_sink *sink, uint64_t now);

/* Puts the set-up facts of the host (host/facts.h). */
int run_facts_put_host(struct event_sink *sink, uint64_t now);

/* Facts of a run, as read from its stream. */
struct run_facts {
	char host[256], version[64];
	uint64_t started_ns;
};

/* Ignores keys of other facts. */
void run_facts_feed(struct run_facts *facts, const char *key, const char *value);

/* Borrows the facts. */
struct provenance run_facts_provenance(const struct run_facts *facts, const char *command,
				       unsigned int schema);

#endif
