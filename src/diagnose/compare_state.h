/* SPDX-License-Identifier: Apache-2.0 */
/* State that diagnose/compare*.c share. */
#ifndef HOSTLAT_DIAGNOSE_COMPARE_STATE_H
#define HOSTLAT_DIAGNOSE_COMPARE_STATE_H

#include "diagnose/sections.h"
#include "report/difference.h"
#include "stats/contrast.h"

/* A block with fewer messages than this is not used. */
#define BLOCK_MESSAGES_MIN 8u

/* As fine as load's: 0.27 %. */
#define COMPARE_SCHEMA 8

/* One place more than causes: the latency itself. */
#define COMPARE_PLACES (CAUSE_PLACES + 1)
#define COMPARE_LATENCY CAUSE_PLACES

/* One recording, its messages in blocks of equal number, in the order of their reads. */
struct compared {
	struct recorded rec;
	size_t n_blocks;
	struct hist latency[CONTRAST_BLOCKS];
	const struct hist *blocks[CONTRAST_BLOCKS];
	uint64_t begin, end;                 /* ranks by latency: the slice is [begin, end) */
	uint64_t total[COMPARE_PLACES];      /* ns in the slice */
	int64_t mean[COMPARE_PLACES];        /* ns a message; places sum to the latency's */
	double score[COMPARE_PLACES][CONTRAST_BLOCKS]; /* each block's contribution to the mean */
	double effective;                    /* effective number of independent messages in the
					      * slice */
	uint64_t error;                      /* largest difference between the sum of parts and a
					      * latency */
	struct shares shares[CAUSE_PLACES];  /* merged; ns a message */
};

struct comparison {
	struct message_selection selection;
	struct compared sides[2];
	bool causes;                         /* both recordings have CPU activity */
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct difference places[COMPARE_PLACES];
};

/*
 * Returns true if the slice has enough independent messages for confidence intervals of its means.
 */
static inline bool comparison_slice_suffices(const struct compared *side)
{
	return side->effective >= CONTRAST_EFFECTIVE_MIN;
}

#endif
