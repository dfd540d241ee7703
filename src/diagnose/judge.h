/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what messages' time was charged to, to why some were slow: each target against the messages
 * of its application that are the reference. The model: docs/design/diagnose.md.
 *
 * For every target, exactly: expected + offset + the sum of `ns` = its latency.
 */
#ifndef HOSTLAT_DIAGNOSE_JUDGE_H
#define HOSTLAT_DIAGNOSE_JUDGE_H

#include "diagnose/attrib_rx.h"

/* Of one message: who or what a part of its time went to. */
struct share {
	uint64_t ns;
	uint32_t culprit;  /* DICT_TASK */
	uint32_t message;  /* place + 1 */
	uint32_t detail;   /* as in struct slice */
	uint8_t place;     /* CAUSE_PLACE() */
};

struct shares VEC_OF(struct share);

/* One message's time by place, and by who. */
struct split {
	uint64_t ns[CAUSE_PLACES];
	struct shares shares;
	uint32_t slices;   /* that it is made of */
	uint32_t packets;  /* that were received before it in the same softirqs */
	uint32_t ahead;    /* messages that the reader served before it, while it waited */
};

/* What the messages of one application take usually. */
struct model {
	uint32_t pid;
	uint32_t n;                      /* references */
	uint64_t latency;                /* their median */
	uint64_t expected[CAUSE_PLACES]; /* sums to the latency */
	uint64_t noise[CAUSE_PLACES];    /* median absolute deviation */
	uint64_t ahead;                  /* of these, too, the medians */
	uint64_t packets;
};

struct models VEC_OF(struct model);

struct judged {
	uint32_t subject;
	uint32_t model;             /* place */
	uint64_t latency;
	uint64_t expected;
	int64_t offset;             /* <= 0 */
	uint64_t ns[CAUSE_PLACES];  /* deviation by place; blind and unexplained are places, too */
	uint64_t found;             /* ... the sum of those that explain */
	double coverage;            /* NAN: it is not slower by more than the granularity */
};

struct judging {
	uint64_t granularity;
	enum where rest;     /* of what is within the noise */
	double noise_times;  /* so many times the noise is nothing; 0: the granularity alone */
};

/* Adds `slice` to the split. 0 or -ENOMEM. */
int split_add(struct split *split, const struct slice *slice);
void split_release(struct split *split);

/* From the references of one application. `n` >= 1. 0 or -ENOMEM. */
int model_make(struct model *model, const struct split *const *splits, const uint64_t *latencies,
	       uint32_t n);

void judge(const struct model *model, const struct split *split, uint64_t latency,
	   const struct judging *judging, struct judged *out);

/* The middle one of n >= 1 values, the lower of two; sorts them. */
uint64_t median_of(uint64_t *values, size_t n);

#endif
