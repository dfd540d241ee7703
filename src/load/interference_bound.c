/* SPDX-License-Identifier: Apache-2.0 */
#include "load/interference_bound.h"

#include <math.h>

#include "stats/bucket_edges.h"

#define LATE_NS 1000           /* send lag below which a request is never late, ns */
#define LATE_HARMLESS 0.1      /* harmless send lag, as a share of the latency */
#define GAP_HARMLESS 0.05      /* gaps shorter than this share of the latency are harmless */

double interference_bound_limit(double q)
{
	return fmin(q, 1 - q) / 2;
}

static double late_share(const struct hist *lag, uint64_t ns)
{
	const double limit = fmax(LATE_NS, LATE_HARMLESS * (double)ns);
	int32_t index = INT32_MIN;
	uint64_t n, late = lag->over;

	while (hist_next(lag, &index, &n))
		late += (double)bucket_edges_floor(lag->schema, index - 1) >= limit ? n : 0;
	return lag->count ? (double)late / (double)lag->count : 0;
}

const struct hist *interference_bound_lag(const struct load_analysis *a, uint64_t ns)
{
	const struct hist *counted = &a->result.lag[LAG_COUNTED], *load = &a->result.lag[LAG_LOAD];

	return late_share(load, ns) > late_share(counted, ns) ? load : counted;
}

double interference_bound_late(const struct load_analysis *a, uint64_t ns)
{
	return late_share(interference_bound_lag(a, ns), ns);
}

bool interference_bound_counts(const struct load_analysis *a, const struct load_agent *agent)
{
	return !a->config.probes || agent->samples;
}

uint64_t interference_bound_lost(const struct load_analysis *a)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (interference_bound_counts(a, &a->agents[i]))
			lost += a->agents[i].last.samples_lost;
	}
	return lost;
}

/*
 * Returns the elapsed time of the run times the number of threads that measure the reported
 * latencies, in ns; 0: unknown.
 */
static double time_of_threads(const struct load_analysis *a)
{
	int threads = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (interference_bound_counts(a, &a->agents[i]))
			threads += __builtin_popcountll(a->agents[i].threads);
	}
	return fmax(1, threads) * (double)a->elapsed_ns;
}

uint64_t interference_bound_harmless(uint64_t ns)
{
	return (uint64_t)(GAP_HARMLESS * (double)ns);
}

double interference_bound_gaps(const struct load_analysis *a, uint64_t ns)
{
	const uint64_t harmless = interference_bound_harmless(ns);
	const double time = time_of_threads(a);
	double gaps = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (interference_bound_counts(a, &a->agents[i]))
			gaps += interference_sum_gaps_above(&a->agents[i].interference, harmless);
	}
	return time > 0 ? gaps / time : 0;
}

double interference_bound_stolen(const struct load_analysis *a)
{
	const double time = time_of_threads(a);
	double stolen = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (interference_bound_counts(a, agent))
			stolen += (double)(agent->interference.amount[NOISE_STEAL] +
					   agent->interference.amount[NOISE_PREEMPTED]);
	}
	return time > 0 ? stolen / time : 0;
}

uint32_t interference_bound_unknown(const struct load_analysis *a, bool all)
{
	uint32_t flags = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (all || interference_bound_counts(a, &a->agents[i]))
			flags |= a->agents[i].last.flags;
	}
	return flags & (LOAD_NO_STAT | LOAD_NO_SCHEDSTAT);
}

/*
 * Requests due in gaps are sent late, and replies that arrive in gaps are read late. By Poisson
 * arrivals, both are as large a share of the requests as gaps are of the time. The kernel's stamps
 * do not show how late a reply is read, unless the CPU was stolen.
 */
double interference_bound_touched(const struct load_analysis *a, enum load_from from, uint64_t ns)
{
	const double late = interference_bound_late(a, ns), gaps = interference_bound_gaps(a, ns);
	const double read = from == LOAD_KERNEL ? interference_bound_stolen(a) : gaps;

	/* Without the time around gaps, only other late sends are left. */
	if (from == LOAD_UNDISTURBED)
		return fmin(1, fmax(0, late - gaps));
	return fmin(1, fmax(late, gaps) + read);
}

bool interference_bound_breaks(const struct load_analysis *a, uint64_t ns)
{
	return interference_bound_gaps(a, ns) > INTERFERENCE_GAPS_MOST ||
	       interference_bound_stolen(a) > INTERFERENCE_GAPS_MOST;
}
