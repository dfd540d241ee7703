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
#include "load/dial_times.h"
#include "load/excise.h"
#include "load/gap_series.h"
#include "load/gaps.h"
#include "load/interim.h"
#include "load/interval.h"
#include "load/interference.h"
#include "load/outcomes.h"
#include "load/parts.h"
#include "load/regimes.h"
#include "load/series.h"
#include "load/stationarity.h"
#include "load/cluster_counts.h"
#include "load/tls_counts.h"

#define AGENT_WHY_MAX 256

struct method;

struct load_agent {
	bool seen, lost, final, exhausted, unreachable;
	/* time of the last tick (every 100 ms) at which a server was reachable */
	uint64_t reachable_ns;
	struct event_load last;       /* counters at the last tick (EV_LOAD, every 100 ms) */
	/* counters at an earlier tick (EV_LOAD), after 1/4 to 1/2 of the ticks so far */
	struct event_load before;
	/* counters at tick (EV_LOAD) 1, 2, 4, 8 ..., whichever was last: the next `before` */
	struct event_load half;
	/* counters at the last tick (EV_LOAD) before the end of the schedule */
	struct event_load sending;
	/* time from the schedule's start to the last tick (EV_LOAD) before its end; 0: unknown */
	uint64_t sending_ns;
	uint64_t exhausted_ns;        /* end of the agent's schedule, since its start */
	/* number of ticks (EV_LOAD) during the schedule; of these, ticks with unsent requests */
	uint64_t ticks, ticks_waiting;
	uint64_t threads;             /* bit mask of the threads that delivered samples */
	uint64_t samples;             /* number of samples that count as latency */
	/* latency from intended send, if several agents are compared */
	struct hist latency;
	struct interference_sum interference;
	struct gap_series gap_times;  /* when its threads did not run */
	struct gap_queue gaps;
	struct excise_queue excise;
	char why[AGENT_WHY_MAX];      /* why the agent was lost */
};

#define GATE_ALPHA 0.05

enum gate_id {
	GATE_SERVER,        /* fails with reason server-unreachable */
	GATE_RATE,          /* fails with reason rate-not-reached */
	/* fails with reason arrivals-violated: scheduled gaps are not as declared */
	GATE_SCHEDULE,
	/* fails with reason arrivals-violated: gaps between actual sends are not as declared */
	GATE_ARRIVALS,
	GATE_LOOP,          /* fails with reason closed-loop-behaviour */
	GATE_CLIENT,        /* fails with reason client-saturated: the load generator sends late */
	GATE_CPU,           /* fails with reason client-saturated: threads use too much CPU time */
	GATE_PORTS,         /* fails with reason local-ports-exhausted */
	GATE_SAMPLES,       /* fails with reason client-saturated: too many samples were lost */
	GATE_NOISE,         /* fails with reason host-noisy */
	GATE_HOST,          /* fails with reason host-unknown */
	GATE_ERRORS,        /* fails with reason errors-above-limit */
	GATE_STATUS,        /* fails with reason unexpected-status */
	GATE_CONNECTIONS,   /* fails with reason connections-unbalanced */
	GATE_TIMESTAMPS,    /* fails with reason timestamps-missing */
	GATE_AGENTS,        /* fails with reason agents-disagree */
	/* fails with reason not-converged: latencies depend on each other for too long */
	GATE_DEPENDENCE,
	/* fails with reason non-stationary-trend: ADF and KPSS tests indicate a unit root */
	GATE_UNIT_ROOT,
	GATE_TREND_MEDIAN, GATE_TREND_TAIL,       /* fails with reason non-stationary-trend */
	GATE_SHIFT_MEDIAN, GATE_SHIFT_TAIL,       /* fails with reason non-stationary-shift */
	GATE_PERIODIC_MEDIAN, GATE_PERIODIC_TAIL, /* fails with reason non-stationary-periodic */
	GATE_EXCEEDANCES,   /* fails with reason too-few-exceedances */
	GATE_TAIL,          /* fails with reason heavy-tail */
	GATE_WIDTH,         /* fails with reason not-converged */
	GATES,
};

struct gate {
	bool known;        /* the gate was judged: `statistic` and `threshold` are valid */
	bool pass;         /* the gate passed, or was not judged */
	/* the gate failed, but the bounds allow for what it found: the result stands */
	bool allowed;
	bool run_only;     /* allowed, since the bounds are those of this run alone */
	bool drifts;       /* objects only to a latency that drifts: see load_result.drift */
	bool tolerated;    /* allowed, since the user asked for that (--tolerate) */
	const char *untested; /* why a gate that applies could not be judged; otherwise NULL */
	double statistic, threshold;
	bool tested;       /* `p` is valid: the gate has a significance test */
	double p;          /* p value, Holm-adjusted over all tested gates */
};

/* Number of quantiles of a result: the reported quantiles, and config.percentile as the last. */
#define LOAD_QUANTILES (REPORT_QUANTILES + 1)

struct load_result {
	double confidence;            /* confidence level of each interval */
	/* evaluated windows of the time series, [from, to); the warm-up is before `from` */
	uint32_t from, to;
	uint64_t with_warmup_ns; /* config.percentile of all windows; 0: there is no warm-up */
	struct hist pooled[LOAD_FROMS];
	struct hist lag[SERIES_LAGS];
	/*
	 * replies in the evaluated part of the run that have only the receive stamp of a later
	 * reply
	 */
	uint64_t censored;
	/*
	 * failed requests in the evaluated part of the run, and all that have not ended or whose
	 * sample was lost
	 */
	uint64_t failed;
	double q[LOAD_QUANTILES];
	struct interval quantiles[LOAD_FROMS][LOAD_QUANTILES];
	/* interval of config.percentile by batches of samples, as a check; check_hi_ns 0: none */
	uint64_t check_lo_ns, check_hi_ns;
	/* sums of latency parts for each range of latencies: SERIES_PART_ROWS structs; owned */
	struct parts_row *parts;
	struct stationarity_tests median, tail;
	double period_ns;             /* period of the tail, by narrow blocks; 0: none was found */
	struct regimes regimes;
	struct gap_fit schedule, sent;
	double shape;                 /* shape of the tail's generalized Pareto fit; NaN: unknown */
	/* correlation of neighboring time windows' shares of fast requests */
	double spearman;
	struct gate gates[GATES];
	/* the latency changed, or had few slow stretches: all bounds are those of this run alone */
	bool run_only;
	struct load_drift drift;
	/* first state of the run with a gate that did not pass; LOAD_STATE_DONE: all passed */
	enum load_state state;
};

struct load_analysis {
	struct load_analysis_config config;
	struct series series;
	struct gaps gaps;
	struct excise excise;
	struct balance balance;
	struct interference_sum interference; /* host interference, summed over all agents */
	const struct method *method;
	void *method_state;           /* private state of the measurement method */
	enum load_from main;          /* the latency that --ci-width and the verdict apply to */
	struct load_agent agents[LOAD_AGENTS_MAX];
	struct cluster_counts cluster; /* nodes, from the start; the other counts at the end */
	struct tls_counts tls;        /* TLS handshakes; known at the end of the run */
	struct causes causes;         /* causes of failures; known at the end of the run */
	struct dial_times dial_times; /* likewise */
	struct outcomes outcomes;     /* latency by what the server answered */
	uint64_t retransmitted;
	uint64_t never_sent; /* failed requests that were never sent, counted from samples */
	uint32_t looks;      /* interim analyses made so far */
	uint32_t next_look;  /* number of the next one that is due (interim.h) */
	/* monotonic times up to which interim analyses took samples, at times fixed in advance */
	uint64_t look_ns[INTERIM_LOOKS];
	uint32_t looks_timed;
	/* quantile tested as the tail if config.percentile is at most 0.5 */
	double tail_q;
	/* confidence of each interim analysis, or of the run's only analysis (interim.h) */
	double look_confidence;
	/* requests due that neither completed nor failed by the end */
	uint64_t unfinished;
	/* end of the samples that count, if an interim analysis ended the run; UINT64_MAX: all */
	uint64_t decided_ns;
	/* time from the start of the schedule to the last tick (EV_LOAD); 0: unknown */
	uint64_t elapsed_ns;
	struct abort_on_watch abort_on; /* --abort-on; its condition, if it has ended the run */
	bool interrupted, decided, finished;
	bool evaluated;               /* `result` holds an evaluation */
	struct load_result result;
};

/* Returns the monotonic time, in ns, since which all agents' schedules run; 0: none has started. */
uint64_t load_analysis_start(const struct load_analysis *analysis);

/* Sums one counter over all agents. */
#define SUM(type, a, field)                                                                        \
	({                                                                                         \
		type sum_ = 0;                                                                     \
		for (uint32_t i_ = 0; i_ < (a)->config.agents; i_++)                               \
			sum_ += (type)(a)->agents[i_].field;                                       \
		sum_;                                                                              \
	})

#endif
