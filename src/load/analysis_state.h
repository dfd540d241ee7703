/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an analysis, and the result of its last evaluation. analysis_feed.c fills it,
 * evaluate.c and gates.c judge it, analysis_report.c shows it.
 */
#ifndef HOSTLAT_LOAD_ANALYSIS_STATE_H
#define HOSTLAT_LOAD_ANALYSIS_STATE_H

#include "load/analysis.h"
#include "load/balance.h"
#include "load/causes.h"
#include "load/gaps.h"
#include "load/interval.h"
#include "load/interference.h"
#include "load/parts.h"
#include "load/series.h"
#include "load/stationarity.h"

#define AGENT_WHY_MAX 256

struct method;

struct load_agent {
	bool seen, lost, final, exhausted, unreachable;
	uint64_t reachable_ns;       /* last time the server was reachable */
	struct event_load last;       /* counters at the last tick */
	struct event_load before;     /* counters after a quarter to a half of the ticks so far */
	struct event_load half;       /* next value of `before` */
	struct event_load sending;    /* counters at the last tick before the end of the schedule */
	/* time of `sending` since the start of the schedule; 0: unknown */
	uint64_t sending_ns;
	uint64_t exhausted_ns;        /* end of its schedule, since the start */
	uint64_t ticks, ticks_waiting; /* ticks while sending; those with requests waiting */
	uint64_t threads;             /* mask of the threads that samples came from */
	uint64_t samples;             /* samples that count as latency */
	/* latency from intended send, if several agents are compared */
	struct hist latency;
	struct interference_sum interference;
	struct gap_queue gaps;
	char why[AGENT_WHY_MAX];      /* why the agent was lost */
};

#define GATE_ALPHA 0.05

enum gate_id {
	GATE_SERVER,        /* server-unreachable */
	GATE_RATE,          /* rate-not-reached */
	GATE_SCHEDULE,      /* arrivals-violated: as made */
	GATE_ARRIVALS,      /* arrivals-violated: as sent */
	GATE_LOOP,          /* closed-loop-behaviour */
	GATE_CLIENT,        /* client-saturated: it sends late */
	GATE_CPU,           /* client-saturated: no time is left */
	GATE_PORTS,         /* local-ports-exhausted */
	GATE_SAMPLES,       /* client-saturated: samples lost */
	GATE_NOISE,         /* host-noisy */
	GATE_HOST,          /* host-unknown */
	GATE_ERRORS,        /* errors-above-limit */
	GATE_STATUS,        /* unexpected-status */
	GATE_CONNECTIONS,   /* connections-unbalanced */
	GATE_TIMESTAMPS,    /* timestamps-missing */
	GATE_AGENTS,        /* agents-disagree */
	GATE_DEPENDENCE,    /* not-converged: it reaches too far for this run */
	GATE_UNIT_ROOT,     /* non-stationary-trend: ADF and KPSS agree */
	GATE_TREND_MEDIAN, GATE_TREND_TAIL,       /* non-stationary-trend */
	GATE_SHIFT_MEDIAN, GATE_SHIFT_TAIL,       /* non-stationary-shift */
	GATE_PERIODIC_MEDIAN, GATE_PERIODIC_TAIL, /* non-stationary-periodic */
	GATE_EXCEEDANCES,   /* too-few-exceedances */
	GATE_TAIL,          /* heavy-tail */
	GATE_WIDTH,         /* not-converged */
	GATES,
};

struct gate {
	bool known;        /* the gate was judged */
	bool pass;         /* true also if the gate was not judged */
	const char *untested; /* why a gate that applies could not be judged; otherwise NULL */
	double statistic, threshold;
	bool tested;       /* p is valid */
	double p;          /* Holm-adjusted over all tested gates */
};

/* The quantiles of reports, and config.percentile as the last. */
#define LOAD_QUANTILES (REPORT_QUANTILES + 1)

struct load_result {
	double confidence;            /* of each interval */
	uint32_t from, to;            /* windows: the warm-up is before `from` */
	struct hist pooled[LOAD_FROMS];
	struct hist lag[SERIES_LAGS];
	uint64_t censored;            /* series_censored() of these windows */
	uint64_t failed;              /* failed and unfinished requests in these windows */
	double q[LOAD_QUANTILES];
	struct interval quantiles[LOAD_FROMS][LOAD_QUANTILES];
	uint64_t check_lo_ns, check_hi_ns; /* interval of config.percentile by batches; 0: none */
	struct parts_row *parts;      /* SERIES_PART_ROWS */
	struct stationarity_tests median, tail;
	struct gap_fit schedule, sent;
	double shape;                 /* of the tail; NaN: unknown */
	/* correlation of neighbouring windows' shares of fast requests */
	double spearman, spearman_p;
	struct gate gates[GATES];
	enum load_state state;        /* the first state that did not pass */
};

struct load_analysis {
	struct load_analysis_config config;
	struct series series;
	struct gaps gaps;
	struct balance balance;
	struct interference_sum interference;         /* of all agents */
	const struct method *method;
	void *method_state;           /* private to the method */
	enum load_from main;          /* the latency that --ci-width and the verdict apply to */
	struct load_agent agents[LOAD_AGENTS_MAX];
	struct causes causes;         /* causes of failures; known at the end of the run */
	uint64_t retransmitted;
	uint64_t never_sent;          /* failed requests that were never sent, by their samples */
	uint32_t looks;
	/* quantile tested as the tail if config.percentile is at most 0.5 */
	double tail_q;
	/* confidence of each interim analysis, or of the only one (interim.h) */
	double look_confidence;
	/* requests due that neither completed nor failed by the end */
	uint64_t unfinished;
	uint64_t decided_ns;          /* the decision uses samples intended before this time */
	/* time since the start of the schedule at the last tick; 0: unknown */
	uint64_t elapsed_ns;
	bool interrupted, decided, finished;
	bool evaluated;               /* `result` holds something */
	struct load_result result;
};

/* Sums one counter over all agents. */
#define SUM(type, a, field)                                                                        \
	({                                                                                         \
		type sum_ = 0;                                                                     \
		for (uint32_t i_ = 0; i_ < (a)->config.agents; i_++)                               \
			sum_ += (type)(a)->agents[i_].field;                                       \
		sum_;                                                                              \
	})

#endif
