/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why some messages were slow: the excess of each target, which is its breakdown above the baseline
 * of its application, the usual breakdown of the reference messages. docs/design/diagnose.md has
 * the rules.
 *
 * For every target, exactly: expected + offset + the sum of `ns` = its latency.
 */
#ifndef HOSTLAT_DIAGNOSE_EXCESS_H
#define HOSTLAT_DIAGNOSE_EXCESS_H

#include "diagnose/attrib.h"

/* A part of one message's time with the same place, culprit, message and detail. */
struct share {
	uint64_t ns;
	uint32_t culprit;  /* DICT_TASK */
	uint32_t message;  /* place + 1 */
	uint32_t detail;   /* as in struct slice */
	uint8_t place;     /* CAUSE_PLACE() */
};

struct shares VEC_OF(struct share);

/* One message's time by place, and by culprit. */
struct breakdown {
	uint64_t ns[CAUSE_PLACES];
	struct shares shares;
	uint32_t slices;         /* slices that it consists of */
	uint32_t packets;        /* messages received before it in the same softirqs */
	uint32_t served_before;  /* messages that the reader served before it, while it waited */
};

/* The usual breakdown of one application's reference messages. */
struct baseline {
	uint32_t pid;
	uint32_t n;                      /* number of references */
	uint64_t latency;                /* median of their latencies */
	uint64_t expected[CAUSE_PLACES]; /* sums to the latency */
	uint64_t noise[CAUSE_PLACES];    /* median absolute deviation */
	uint64_t served_before;          /* median */
	uint64_t packets;                /* median */
};

struct baselines VEC_OF(struct baseline);

/* Excess of one target over its baseline. */
struct excess {
	uint32_t subject;
	uint32_t baseline;          /* index of the baseline in the list */
	uint64_t latency;
	uint64_t expected;          /* the baseline's latency */
	int64_t offset;             /* <= 0 */
	uint64_t ns[CAUSE_PLACES];  /* by place, including those without a known cause */
	uint64_t found;             /* sum of the parts with a known cause */
	double coverage;            /* NAN: its excess is below the granularity */
};

struct excess_options {
	uint64_t granularity; /* ns */
	enum where rest;      /* counts time within the noise as unexplained */
	double noise_times;   /* up to so many times the noise a part is within it */
};

/* Adds `slice` to the breakdown. 0 or -ENOMEM. */
int breakdown_add(struct breakdown *breakdown, const struct slice *slice);
void breakdown_release(struct breakdown *breakdown);

/* Fills in all but the pid from the `n` >= 1 references of one application. 0 or -ENOMEM. */
int baseline_make(struct baseline *baseline, const struct breakdown *const *breakdowns,
		  const uint64_t *latencies, uint32_t n);

/* Fills in all but the subject and the baseline's place; *out is zeroed before. */
void excess_of(const struct baseline *baseline, const struct breakdown *breakdown,
	       uint64_t latency, const struct excess_options *options, struct excess *out);

/* The middle one of n >= 1 values, the lower of two; sorts them. */
uint64_t excess_median(uint64_t *values, size_t n);

#endif
