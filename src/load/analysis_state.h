/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis knows, and what its last evaluation made of it. Filled by analysis_feed.c,
 * judged by evaluate.c and gates.c, shown by analysis_report.c.
 */
#ifndef HOSTLAT_LOAD_ANALYSIS_STATE_H
#define HOSTLAT_LOAD_ANALYSIS_STATE_H

#include "load/analysis.h"
#include "load/balance.h"
#include "load/causes.h"
#include "load/gaps.h"
#include "load/interval.h"
#include "load/interference_sum.h"
#include "load/parts.h"
#include "load/series.h"
#include "load/stationarity.h"

#define AGENT_WHY_MAX 256

struct method;

struct load_agent {
	bool seen, lost, final, exhausted, unreachable;
	uint64_t reachable_ns;       /* when it last was, as far as known */
	struct event_load last;       /* its counters now */
	struct event_load before;     /* ... after half as many ticks, or up to half of that */
	struct event_load half;       /* what `before` will be */
	struct event_load sending;    /* ... at the last tick before the schedule's end, or at it */
	/* when that was, from the schedule's begin; 0: unknown */
	uint64_t sending_ns;
	uint64_t exhausted_ns;        /* from the schedule's begin */
	uint64_t ticks, ticks_waiting; /* while sending; of these, with requests waiting */
	uint64_t threads;             /* mask of those that samples came from */
	uint64_t samples;             /* that count as latency */
	/* ... `intended`, where several agents are compared */
	struct hist latency;
	struct interference_sum interference;
	struct gap_queue gaps;
	char why[AGENT_WHY_MAX];      /* lost: what the caller says */
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
	bool known;        /* it was judged */
	bool pass;         /* it objects to nothing: also where it was not judged */
	const char *untested; /* why a gate that applies could not be judged; otherwise NULL */
	double statistic, threshold;
	bool tested;       /* p means something */
	double p;          /* adjusted for all that were tested */
};

/* The quantiles of reports, and config.percentile as the last. */
#define LOAD_QUANTILES (REPORT_QUANTILES + 1)

struct load_result {
	double confidence;            /* of each interval */
	uint32_t from, to;            /* windows: the warm-up is before `from` */
	struct hist pooled[LOAD_FROMS];
	struct hist lag[SERIES_LAGS];
	uint64_t censored;            /* series_censored() of these windows */
	uint64_t failed;              /* in these windows, like all above; and what had no end */
	double q[LOAD_QUANTILES];
	struct interval quantiles[LOAD_FROMS][LOAD_QUANTILES];
	uint64_t check_lo_ns, check_hi_ns; /* of config.percentile by batches; 0, 0: none */
	struct parts_row *parts;      /* SERIES_PART_ROWS */
	struct stationarity_tests median, tail;
	struct gap_fit schedule, sent;
	double shape;                 /* of the tail; NaN: unknown */
	/* of neighbouring windows' shares of fast requests */
	double spearman, spearman_p;
	struct gate gates[GATES];
	enum load_state state;        /* the first that isn't passed */
};

struct load_analysis {
	struct load_analysis_config config;
	struct series series;
	struct gaps gaps;
	struct balance balance;
	struct interference_sum interference;         /* of all agents */
	const struct method *method;
	void *method_state;           /* of the method alone */
	enum load_from main;          /* latency of which the interval must be narrow enough */
	struct load_agent agents[LOAD_AGENTS_MAX];
	struct causes causes;         /* of failures: known at the end */
	uint64_t retransmitted;
	uint64_t never_sent;          /* of those that failed, by their samples */
	uint32_t looks;
	/* what is tested as the tail if the percentile is none */
	double tail_q;
	/* of one look, or of the end (interim.h) */
	double look_confidence;
	/* at the end: due, and neither completed nor failed */
	uint64_t unfinished;
	uint64_t decided_ns;          /* what came before is what the decision stands on */
	/* of the schedule, at the last tick; 0: unknown */
	uint64_t elapsed_ns;
	bool interrupted, decided, finished;
	bool evaluated;               /* `result` holds something */
	struct load_result result;
};

/* Over all agents, of one of their counters. */
#define SUM(type, a, field)                                                                        \
	({                                                                                         \
		type sum_ = 0;                                                                     \
		for (uint32_t i_ = 0; i_ < (a)->config.agents; i_++)                               \
			sum_ += (type)(a)->agents[i_].field;                                       \
		sum_;                                                                              \
	})

#endif
