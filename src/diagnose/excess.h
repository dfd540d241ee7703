/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why some messages were slow: the excess of a target is its breakdown above the baseline of its
 * application, the usual breakdown of the reference messages. Rules: docs/design/diagnose.md.
 *
 * For every target, exactly: expected + offset + the sum of `ns` = latency.
 */
#ifndef HOSTLAT_DIAGNOSE_EXCESS_H
#define HOSTLAT_DIAGNOSE_EXCESS_H

#include "diagnose/attrib.h"

/* A part of one message's time with the same place, culprit, message and detail. */
struct share {
	uint64_t ns;
	uint32_t culprit;  /* task behind the delay, in DICT_TASK; 0: none */
	uint32_t message;  /* index + 1 of the message that delayed this one; 0: none */
	uint32_t detail;   /* as in struct slice */
	uint8_t place;     /* cause and phase, as CAUSE_PLACE() */
};

struct shares VEC_OF(struct share);

/* One message's time by place, and by culprit. */
struct breakdown {
	uint64_t ns[CAUSE_PLACES];
	struct shares shares;
	uint32_t slices;         /* number of slices in the message */
	uint32_t packets;        /* messages received before this one in the same softirqs */
	uint32_t served_before;  /* messages that the reader served while this one waited */
};

/* The usual breakdown of one application's reference messages. */
struct baseline {
	uint32_t pid;
	uint32_t n;                      /* number of references; 0: none */
	uint64_t latency;                /* median of the references' latencies, in ns */
	uint64_t expected[CAUSE_PLACES]; /* usual ns by place; their sum is the latency */
	uint64_t noise[CAUSE_PLACES];    /* median absolute deviation of each place, in ns */
	uint64_t served_before;          /* median of the references' served_before */
	uint64_t packets;                /* median of the references' packets */
};

struct baselines VEC_OF(struct baseline);

/* Excess of one target over its baseline. */
struct excess {
	uint32_t subject;
	uint32_t baseline;          /* index of the baseline in the list */
	uint64_t latency;
	uint64_t expected;          /* the baseline's latency */
	int64_t offset;             /* sum of the places below the baseline, in ns; <= 0 */
	uint64_t ns[CAUSE_PLACES];  /* ns by place, including places without a known cause */
	uint64_t found;             /* sum of `ns` in places with a known cause */
	double coverage;            /* share with a cause; NAN: excess below the granularity */
};

struct excess_options {
	uint64_t granularity; /* in ns: parts up to this much above the baseline are noise */
	enum where rest;      /* where time within the noise counts as unexplained */
	double noise_times;   /* parts up to this many median absolute deviations are noise */
};

/* Adds `slice` to the breakdown. Returns 0 or -ENOMEM. */
int breakdown_add(struct breakdown *breakdown, const struct slice *slice);
void breakdown_release(struct breakdown *breakdown);

/* Computes all but the pid from `n` >= 1 references of one application. Returns 0 or -ENOMEM. */
int baseline_make(struct baseline *baseline, const struct breakdown *const *breakdowns,
		  const uint64_t *latencies, uint32_t n);

/* Fills in all but the subject and the baseline's index; the caller zeroes *out before. */
void excess_of(const struct baseline *baseline, const struct breakdown *breakdown,
	       uint64_t latency, const struct excess_options *options, struct excess *out);

/* Returns the median of n >= 1 values, the lower of two; sorts the values. */
uint64_t excess_median(uint64_t *values, size_t n);

#endif
