/* SPDX-License-Identifier: Apache-2.0 */
/* Facts at the start of every event stream: version, host, start time, pid and set-up. */
#ifndef HOSTLAT_CMD_RUN_FACTS_H
#define HOSTLAT_CMD_RUN_FACTS_H

#include "event/reader.h"
#include "event/source.h"
#include "report/report.h"

/* Keys of the facts that identify the run when its recording is shown. */
#define FACT_VERSION "run.version"
#define FACT_HOST "run.host"
#define FACT_STARTED "run.started_ns"
#define FACT_RUN_PID "run.pid"
#define FACT_KERNEL "kernel.release" /* one that run_facts_put_host() puts */

/* Puts version, host, start time and pid of this run as facts. Returns 0 or the sink's error. */
int run_facts_put(struct event_sink *sink, uint64_t now);

/* Puts the host's set-up facts (host/facts.h). Returns 0 or the sink's error. */
int run_facts_put_host(struct event_sink *sink, uint64_t now);

/* Reads the pid of the process that made a recording; 0: unknown. Returns 0 or -errno. */
int run_facts_read_pid(struct event_reader *reader, uint64_t *pid);

/* Facts about a run, read from its event stream. */
struct run_facts {
	char host[256], version[64], kernel[128]; /* empty: not recorded */
	uint64_t started_ns;
};

/* Stores a fact about the run. Ignores other keys. */
void run_facts_feed(struct run_facts *facts, const char *key, const char *value);

/* Returns the provenance of a report by `command`. Borrows strings from `facts`. */
struct provenance run_facts_provenance(const struct run_facts *facts, const char *command,
				       unsigned int schema);

#endif
