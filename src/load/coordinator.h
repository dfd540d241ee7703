/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs agents whose processes the caller has started, and merges their events into one stream: an
 * event source with the same interface as an engine (load/engine.h). Samples and counters are
 * merged, never histograms or percentiles, after conversion to one clock (load/convert.h).
 *
 * An agent that is slow, silent or gone does not delay the others. A lost agent becomes the fact
 * LOAD_FACT_AGENT_LOST in the stream; events that came earlier from the agent count.
 *
 * Memory: two blocks and 256 KiB of lines per agent, plus the flows opened at the start.
 */
#ifndef HOSTLAT_LOAD_COORDINATOR_H
#define HOSTLAT_LOAD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/source.h"
#include "load/config.h"

struct coordinator_agent {
	const char *name;         /* name shown to users */
	/* descriptors of the agent's stdin, stdout and stderr; coordinator_new() takes ownership */
	int in, out, err;
	bool same_clock;          /* the agent runs on this host and shares its monotonic clock */
	uint32_t role;            /* enum load_role */
	const struct strbuf *setup; /* "arg WORD" lines: options for the agent (load/agent.h) */
};

struct coordinator_config {
	const struct load_config *run;
	/* array of n_agents; the coordinator owns the descriptors, also after an error */
	const struct coordinator_agent *agents;
	uint32_t n_agents;                      /* number of agents, 1 to LOAD_AGENTS_MAX */
	/* Called once for each lost agent, to end its process. May be NULL. */
	void (*lost)(void *ctx, uint32_t agent);
	void *ctx;
};

struct coordinator;

/* Makes a coordinator; copies `config`, and owns the descriptors. Returns 0 or -errno. */
int coordinator_new(struct coordinator **out, const struct coordinator_config *config);

/*
 * Waits until each agent has opened its connections or is lost: the barrier before the start. With
 * --preload, the first agent stores the keys before the others connect. Returns 0, -EINTR when
 * `stop_fd` becomes readable, or -ECONNREFUSED with a sentence in `why` when all agents are lost.
 */
int coordinator_connect(struct coordinator *c, int stop_fd, struct strbuf *why);

/* Starts all agents at one common time. Returns 0 or -errno. */
int coordinator_start(struct coordinator *c);

/*
 * Waits for events, the timeout (ns) or `stop_fd`. Returns 1: there may be events; 0: no agent sent
 * bytes, but the queue may have facts about agents; -EINTR: `stop_fd` is readable; or another
 * -errno.
 */
int coordinator_wait(struct coordinator *c, int stop_fd, uint64_t timeout_ns);

/* Stops sending. An agent that has not ended after twice the drain time is lost. */
void coordinator_stop(struct coordinator *c);

/* Stops sending and waiting for replies. An agent that has not ended within 2 s is lost. */
void coordinator_cut(struct coordinator *c);

struct event_source *coordinator_source(struct coordinator *c);

/* Closes the descriptors, which ends the agents at once. Accepts NULL. */
void coordinator_free(struct coordinator *c);

#endif
