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

#define CORRELATION_MIN 20u     /* intervals needed: with fewer, no p could be 0.05 or less */
#define CORRELATION_MAX 8192u   /* intervals: the first ones are used */
#define CORRELATION_ALPHA 0.05
#define CORRELATION_STAGES 64u  /* series of stages, at most */
#define CORRELATION_LINES 3u    /* said to people, at most */

/* By preference; an interval needs so many requests, and half as many packets at a stage. */
enum correlation_quantile { CORRELATION_P99, CORRELATION_P90, CORRELATION_QUANTILES };

/* An interval of the server's recording. */
struct stretch {
	uint64_t from, to;
	uint32_t ncpus;
	bool sound;                     /* nothing before it is missing: its deltas are its own */
	struct event_pressure pressure; /* all flags set where it was not recorded */
	struct hist requests;           /* requests that were completed in it */
};

/* A distribution's quantiles in an interval. */
struct point {
	uint64_t count;
	double ns[CORRELATION_QUANTILES];
};

struct stage_series {
	uint8_t stage, direction, protocol, origin, dist;
	struct hist now;                      /* the interval that is being read */
	struct points VEC_OF(struct point) points; /* by interval */
};

/* One series against the requests' quantile. */
struct correlate {
	char name[64];
	const char *unit;        /* static */
	bool stage;              /* a stage of the server; else a figure of its host */
	bool known;
	double rho;
	double p;                /* corrected for the number of series */
	bool significant;
	const char *why;         /* why it is not known: static; NULL: it is */
};

struct correlation {
	struct stretches VEC_OF(struct stretch) stretches;
	struct stage_list VEC_OF(struct stage_series) stages;
	struct correlates VEC_OF(struct correlate) series;
	uint64_t first, last;    /* begin and end of the load */
	enum correlation_quantile quantile;
	bool known;
	uint32_t intervals;      /* intervals that were used; if unknown, that could have been */
	const char *why;         /* it is not known: static; else NULL */
};

/* To be freed in either case. 0 or -errno of the readers, -ENOMEM. */
int correlation_new(struct correlation **out, struct event_reader *server,
		    struct event_reader *load);
void correlation_free(struct correlation *c);

/* "p99" */
const char *correlation_quantile_name(enum correlation_quantile quantile);

/* Adds "correlation", and the strongest significant ones as findings, at most `lines`. */
void correlation_report(const struct correlation *c, size_t lines, struct report *r);

#endif
