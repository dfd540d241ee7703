/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correlates a load's latency, interval by interval, with quantiles of the server's stages and with
 * its CPUs' load (the netstacklat paper, 5.3, there by Kendall's tau). Tests and reasons:
 * docs/design/correlation.md. Both recordings are of one host's clock.
 *
 * Memory: at most CORRELATION_MAX histograms of 2.6 KB, and 24 bytes a stage and interval.
 */
#ifndef HOSTLAT_DIAGNOSE_CORRELATION_H
#define HOSTLAT_DIAGNOSE_CORRELATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/reader.h"
#include "report/report.h"
#include "stats/hist.h"

#define CORRELATION_MIN 20u     /* intervals needed: with fewer, no p-value could be 0.05 or less */
#define CORRELATION_MAX 8192u   /* intervals, at most: the first ones are used */
#define CORRELATION_ALPHA 0.05
#define CORRELATION_STAGES 64u  /* series of stages, at most */
#define CORRELATION_LINES 3u    /* correlations in the text report, at most */

/*
 * Quantiles to correlate, the preferred one first. An interval needs a minimum of requests for
 * each, and half as many packets at a stage.
 */
enum correlation_quantile { CORRELATION_P99, CORRELATION_P90, CORRELATION_QUANTILES };

/* An interval of the server's recording. */
struct stretch {
	uint64_t from, to;
	uint32_t ncpus;
	bool sound;                     /* no gap before this interval: its counters cover no other
					 * time */
	struct event_pressure pressure; /* a missing value has its PRESSURE_NO_* flag */
	struct hist requests;           /* latencies of the requests completed in the interval */
};

/* Number of values and quantiles of a distribution in one interval. */
struct point {
	uint64_t count;
	double ns[CORRELATION_QUANTILES];
};

struct stage_series {
	uint8_t stage, direction, protocol, origin, dist;
	struct hist now;                      /* histogram of the interval that is being read */
	struct points VEC_OF(struct point) points; /* one per interval, in order */
};

/* Correlation of one series with the requests' quantile. */
struct correlate {
	char name[64];
	const char *unit;        /* unit of the series; static text */
	bool stage;              /* true: latency of a stage of the server; false: a figure of its
				  * host */
	bool known;
	double rho;
	double p;                /* p-value, corrected for the number of series */
	bool significant;
	const char *why;         /* why rho, p are unknown: static text; NULL: they are known */
};

struct correlation {
	struct stretches VEC_OF(struct stretch) stretches;
	struct stage_list VEC_OF(struct stage_series) stages;
	struct correlates VEC_OF(struct correlate) series;
	uint64_t first, last;    /* begin and end of the load, in ns */
	enum correlation_quantile quantile;
	bool known;
	uint32_t intervals;      /* intervals used; if nothing was correlated, usable ones */
	const char *why;         /* why nothing was correlated: static text; NULL: something was */
};

/*
 * Correlates the latency in recording `load` with the stages and CPUs in recording `server`.
 * Returns 0, -errno of the readers, or -ENOMEM; free *out in either case.
 */
int correlation_new(struct correlation **out, struct event_reader *server,
		    struct event_reader *load);
void correlation_free(struct correlation *c);

/* Returns the quantile's name, e.g. "p99". */
const char *correlation_quantile_name(enum correlation_quantile quantile);

/*
 * Adds the field "correlation" to the report. The strongest significant series, at most `lines`,
 * become findings.
 */
void correlation_report(const struct correlation *c, size_t lines, struct report *r);

#endif
