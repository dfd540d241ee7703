/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs agents that others have started, and merges what they tell into one stream: an event source
 * that is used as an engine is (load/engine.h). Histograms and percentiles are never merged, only
 * samples and counters, in one clock and under numbers of their own (load/convert.h).
 *
 * One that is slow, silent or gone delays nobody. A lost one becomes the fact LOAD_FACT_AGENT_LOST
 * in the stream, at the place where it was lost; what it had told before counts.
 *
 * Memory: two blocks and 256 KiB of lines per agent, and the flows of the start.
 */
#ifndef HOSTLAT_LOAD_COORDINATOR_H
#define HOSTLAT_LOAD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/source.h"
#include "load/config.h"

struct coordinator_agent {
	const char *name;         /* for people */
	/* its stdin, stdout and stderr; the coordinator's from now on */
	int in, out, err;
	bool same_clock;          /* its monotonic clock is ours */
	uint32_t role;            /* enum load_role */
	const struct strbuf *setup; /* its "arg" lines */
};

struct coordinator_config {
	const struct load_config *run;
	/* their descriptors are taken, also in failure */
	const struct coordinator_agent *agents;
	uint32_t n_agents;                      /* 1 to LOAD_AGENTS_MAX */
	/* Called once for one that is lost: whatever is left of it is to be ended. May be NULL. */
	void (*lost)(void *ctx, uint32_t agent);
	void *ctx;
};

struct coordinator;

/* All but the descriptors is copied, or used in the call only. Returns 0 or -errno. */
int coordinator_new(struct coordinator **out, const struct coordinator_config *config);

/*
 * Until each agent has opened its connections or is lost: the barrier before the start. With
 * preloading the first agent does it before the others connect. -EINTR when `stop_fd` became
 * readable; -ECONNREFUSED when all are lost, and `why` says why.
 */
int coordinator_connect(struct coordinator *c, int stop_fd, struct strbuf *why);

/* All begin at one time. Returns 0 or -errno. */
int coordinator_start(struct coordinator *c);

/* As load_engine_wait(). */
int coordinator_wait(struct coordinator *c, int stop_fd, uint64_t timeout_ns);

/* Nothing more is sent; an agent that has not ended after twice the drain's time is lost. */
void coordinator_stop(struct coordinator *c);

/* And waits for no reply; an agent that has not ended within 2 s is lost. */
void coordinator_cut(struct coordinator *c);

struct event_source *coordinator_source(struct coordinator *c);

/* Closes the descriptors: agents that live end at once. Accepts NULL. */
void coordinator_free(struct coordinator *c);

#endif
