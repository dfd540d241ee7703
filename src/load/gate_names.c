/* SPDX-License-Identifier: Apache-2.0 */
/* The names of gates, and the reasons that they give for n/a. */
#include "load/gates.h"

#include <string.h>

static const struct {
	const char *name, *code, *sentence;
} info[GATES] = {
	[GATE_SERVER] = { "server", "server-unreachable",
		"no connection to the server is open, and none can be opened" },
	[GATE_RATE] = { "rate", "rate-not-reached",
		"the target rate was not reached" },
	[GATE_SCHEDULE] = { "schedule", "arrivals-violated",
			    "requests do not follow the declared arrival process" },
	[GATE_ARRIVALS] = { "arrivals", "arrivals-violated",
			    "requests do not follow the declared arrival process" },
	[GATE_LOOP] = { "open-loop", "closed-loop-behaviour",
			"requests waited for a free connection: the load depends on the replies" },
	[GATE_CLIENT] = { "client-lag", "client-saturated",
		"the load generator could not keep up" },
	[GATE_CPU] = { "client-cpu", "client-saturated",
		"the load generator could not keep up" },
	[GATE_PORTS] = { "client-ports", "local-ports-exhausted",
			 "the load generator ran out of local ports for its connections" },
	[GATE_SAMPLES] = { "client-samples", "client-saturated",
			   "the load generator could not keep up" },
	[GATE_NOISE] = { "host-quiet", "host-noisy",
		"host interference on the load generator is larger than the result allows" },
	[GATE_HOST] = { "host-known", "host-unknown",
			"host interference on the load generator could not be measured" },
	[GATE_ERRORS] = { "errors", "errors-above-limit",
			  "more requests failed than --max-errors allows" },
	[GATE_STATUS] = { "status", "unexpected-status",
			  "the server's replies have no content (redirects or not found)" },
	[GATE_CONNECTIONS] = { "connections", "connections-unbalanced",
			       "some connections carried far more requests than others" },
	[GATE_TIMESTAMPS] = { "timestamps", "timestamps-missing",
		"requested time stamps are missing" },
	[GATE_AGENTS] = { "agents", "agents-disagree",
		"agents measured different latencies" },
	[GATE_DEPENDENCE] = { "dependence", "not-converged",
			      "the run was too short for a reliable confidence interval" },
	[GATE_UNIT_ROOT] = { "unit-root", "non-stationary-trend",
			     "the latency kept changing in one direction" },
	[GATE_TREND_MEDIAN] = { "trend-median", "non-stationary-trend",
				"the latency kept changing in one direction" },
	[GATE_TREND_TAIL] = { "trend-tail", "non-stationary-trend",
			      "the latency kept changing in one direction" },
	[GATE_SHIFT_MEDIAN] = { "shift-median", "non-stationary-shift",
				"the latency changed its level" },
	[GATE_SHIFT_TAIL] = { "shift-tail", "non-stationary-shift",
			      "the latency changed its level" },
	[GATE_PERIODIC_MEDIAN] = { "periodic-median", "non-stationary-periodic",
				   "the latency rises and falls periodically" },
	[GATE_PERIODIC_TAIL] = { "periodic-tail", "non-stationary-periodic",
				 "the latency rises and falls periodically" },
	[GATE_EXCEEDANCES] = { "exceedances", "too-few-exceedances",
			       "too few requests lie beyond the percentile for a confidence "
			       "interval" },
	[GATE_TAIL] = { "tail", "heavy-tail",
			"the tail is so heavy that more requests hardly narrow the interval" },
	[GATE_WIDTH] = { "width", "not-converged",
			 "the run was too short for a sound interval of the requested width" },
};

const char *gate_name(enum gate_id id)
{
	return info[id].name;
}

const char *gate_code(enum gate_id id)
{
	return info[id].code;
}

uint64_t gate_mask(const char *code)
{
	uint64_t mask = 0;

	_Static_assert(GATES <= 64, "a bit for each gate");
	for (int i = 0; i < GATES; i++)
		mask |= (uint64_t)!strcmp(info[i].code, code) << i;
	return mask;
}

const char *gate_sentence(enum gate_id id)
{
	return info[id].sentence;
}
