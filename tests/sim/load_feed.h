/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays simulated requests into the real analysis, in the blocks and ticks that an engine makes:
 * samples when they are done, and each tick after all that ended before it.
 */
#ifndef LOAD_FEED_H
#define LOAD_FEED_H

#include "load/analysis.h"
#include "load_model.h"

#define FEED_ANALYSES 4

/* Faults beyond the model; all 0: none. */
struct feed_faults {
	uint64_t noise_every_ns, noise_ns; /* EV_NOISE gaps, as host interference */
	bool gaps;                /* EV_NOISE gaps where the client stalled */
	double cpu;               /* share of its time that the thread works */
	double samples_lost;      /* share of requests */
	double censored;          /* share of samples that share the stamp of a later reply */
	double unstamped;         /* share of samples without kernel stamps */
	uint64_t ends_ns;         /* the schedule is exhausted then */
	uint64_t stops_ns;        /* the stream ends then, without a last tick */
	uint32_t connections;     /* flow numbers; 0: 16 */
	double favoured;          /* share of requests that go over the first connection */
	bool unreachable;
	uint32_t unread;          /* LOAD_NO_STAT ... */
	bool probe;               /* a latency agent: its requests are no load */
	bool unordered;           /* samples between two ticks come backwards */
};

/* The requests of one agent. */
struct feed_agent {
	const struct requests *requests;
	struct feed_faults faults;
};

/*
 * Feeds `n` agents' requests to each of `analyses` until all have decided or there is no more; an
 * analysis that has decided gets nothing any more. Checks the balance of requests in every tick.
 */
void feed(const struct feed_agent *agents, uint32_t n, uint64_t duration_ns,
	  struct load_analysis **analyses, size_t n_analyses);

/* The analysis of what `model` declares; ci_width_ns 0: until the end. Exits without memory. */
struct load_analysis *feed_analysis(const struct model *model, uint32_t agents,
				    double percentile, uint64_t ci_width_ns);

/* Whether the interval of quantile q at 95 % for independent samples, the control, has `truth`. */
bool feed_iid_covers(const struct load_analysis *a, double q, uint64_t truth);

#endif
