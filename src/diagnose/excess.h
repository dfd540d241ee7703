/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why some messages (targets) were slow. A message's breakdown is its time by cause. A target's
 * excess is the part of its breakdown above the baseline, which is the usual breakdown of reference
 * messages of the same application. Rules: docs/design/diagnose.md.
 *
 * For every target, struct excess is exact: expected + offset + the sum of `ns` = latency.
 */
#ifndef HOSTLAT_DIAGNOSE_EXCESS_H
#define HOSTLAT_DIAGNOSE_EXCESS_H

#include "diagnose/attrib.h"

/*
 * Time of one message with the same cause, phase (receive, application or transmit), culprit,
 * delaying message and detail.
 */
struct share {
	uint64_t ns;
	uint32_t culprit;  /* task behind the delay, in DICT_TASK; 0: none */
	uint32_t message;  /* index + 1 of the message that delayed this one; 0: none */
	uint32_t detail;   /* interrupt, softirq, flow or system call, as in struct slice */
	uint8_t place; /* cause and phase (receive, application or transmit), as CAUSE_PLACE() */
};

struct shares VEC_OF(struct share);

/*
 * One message's time, divided by cause and phase (receive, application or transmit), and by
 * culprit.
 */
struct breakdown {
	uint64_t ns[CAUSE_PLACES];
	struct shares shares;
	uint32_t slices; /* number of intervals (slices) into which the message's time is divided */
	uint32_t packets;        /* messages received before this one in the same softirqs */
	uint32_t served_before;  /* messages that the reader served while this one waited */
};

/* The usual breakdown of one application's reference messages. */
struct baseline {
	uint32_t pid;
	uint32_t n;                      /* number of reference messages; 0: none */
	uint64_t latency;                /* mean latency of the reference messages, in ns */
	uint64_t expected[CAUSE_PLACES]; /* mean ns by cause and phase; their sum is `latency` */
	uint64_t noise[CAUSE_PLACES];    /* median absolute deviation in ns, by cause and phase */
	uint64_t served_before; /* median of breakdown.served_before over the reference messages */
	uint64_t packets; /* median of breakdown.packets over the reference messages */
};

struct baselines VEC_OF(struct baseline);

/* Excess of one target (a message to explain) over its application's baseline. */
struct excess {
	uint32_t subject;
	uint32_t baseline;          /* index of the application's baseline */
	uint64_t latency;
	uint64_t expected;          /* latency of the baseline, in ns */
	int64_t offset;             /* sum of the causes' times below the baseline, in ns; <= 0 */
	uint64_t ns[CAUSE_PLACES];  /* excess in ns by cause and phase, even if the cause is
				     * unknown */
	uint64_t found;             /* part of the excess with a known cause, in ns */
	double coverage;            /* share of the excess with a known cause; NAN: excess below the
				     * granularity */
};

/* A cause, and whether it is in the client: of requests, that is another one. */
#define EXCESS_KEY(cause, where) ((cause) + ((where) == WHERE_CLIENT ? CAUSE_MAX : 0U))
#define EXCESS_KEYS (2U * CAUSE_MAX)

/* Returns a message's excess by a key, in all phases, in ns. */
uint64_t excess_by_key(const struct excess *excess, unsigned int key);

struct excess_options {
	uint64_t granularity; /* in ns: a cause's time up to this much above the baseline is
			       * noise */
	/* phase (receive, application or transmit) in which time within the noise is unexplained */
	enum where rest;
	/* time up to this many median absolute deviations of a cause above the baseline is noise */
	double noise_times;
};

/* Adds `slice` to the breakdown. Returns 0 or -ENOMEM. */
int breakdown_add(struct breakdown *breakdown, const struct slice *slice);
/* Adds another breakdown's times and culprits, scaled to sum to `total` ns. 0 or -ENOMEM. */
int breakdown_add_scaled(struct breakdown *breakdown, const struct breakdown *from, uint64_t total);
/* Adds time without a culprit. */
void breakdown_add_ns(struct breakdown *breakdown, unsigned int place, uint64_t ns);
uint64_t breakdown_sum(const struct breakdown *breakdown);
void breakdown_release(struct breakdown *breakdown);

/*
 * Merges the shares of one cause and phase by culprit, delaying message and detail, largest first,
 * and scales them to sum to `total`, in ns.
 */
void excess_merge_shares(struct shares *shares, uint64_t total);

/*
 * Computes a baseline, except its pid, from `n` >= 1 reference messages of one application. Returns
 * 0 or -ENOMEM.
 */
int baseline_make(struct baseline *baseline, const struct breakdown *const *breakdowns, uint32_t n);

/*
 * Computes a message's excess, except its subject and the baseline's index; the caller zeroes *out
 * before.
 */
void excess_of(const struct baseline *baseline, const struct breakdown *breakdown,
	       uint64_t latency, const struct excess_options *options, struct excess *out);

/* Returns the median of n >= 1 values, the lower of two; sorts the values. */
uint64_t excess_median(uint64_t *values, size_t n);

#endif
