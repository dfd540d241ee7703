/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by diagnose/compare*.c. */
#ifndef HOSTLAT_DIAGNOSE_COMPARE_STATE_H
#define HOSTLAT_DIAGNOSE_COMPARE_STATE_H

#include "diagnose/culprits.h"
#include "diagnose/sections.h"
#include "report/difference.h"
#include "stats/contrast.h"

/* Schema of the exponential latency histograms, as fine as those of `load`: 0.27 %. */
#define COMPARE_SCHEMA 8

/*
 * Number of compared times: one for each cause in each phase (receive, application, transmit), and
 * one for the latency itself.
 */
#define COMPARE_PLACES (CAUSE_PLACES + 1)
#define COMPARE_LATENCY CAUSE_PLACES

/* One recording; its messages are in blocks of equal number, ordered by the time of their reads. */
struct compared {
	struct recorded rec;
	size_t n_blocks;
	struct hist latency[CONTRAST_BLOCKS];
	const struct hist *blocks[CONTRAST_BLOCKS];
	/* the compared slice: messages whose rank by latency is in [begin, end) */
	uint64_t begin, end;
	/*
	 * ns of the compared slice's messages, by cause and phase (receive, application, transmit)
	 */
	uint64_t total[COMPARE_PLACES];
	int64_t mean[COMPARE_PLACES];        /* `total` per message of the compared slice, in ns */
	/* contribution of each block of successive messages to `mean` */
	double score[COMPARE_PLACES][CONTRAST_BLOCKS];
	double effective;                    /* effective number of independent messages in the
					      * slice */
	uint64_t error;                      /* largest difference between a message's latency and
					      * the sum of its parts, in ns */
	/* culprits of the slice's messages: by cause and phase; of waits for a CPU in any phase */
	struct cause_culprits culprits[CAUSE_PLACES], cpu_wait;
};

/* The recordings of one side. */
struct compared_side {
	struct compared *recordings[DIFFERENCE_RECORDINGS_MAX]; /* owned */
	size_t n;
	struct difference_series latency;
	uint64_t total[COMPARE_PLACES];      /* sum of the recordings' */
	/* the recordings' means, each counted once; they sum to the latency's, too */
	int64_t mean[COMPARE_PLACES];
	uint64_t messages;                   /* in all recordings */
	uint64_t targets;                    /* messages of all compared slices */
	double effective;                    /* sum of the recordings' */
	size_t n_blocks;                     /* the same */
	uint64_t error;                      /* largest of the recordings' */
	bool causes;                         /* all recordings have CPU activity, thus causes */
};

struct comparison {
	struct message_selection selection;
	struct compared_side sides[2];
	bool causes;                         /* both sides have */
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct difference places[COMPARE_PLACES];
	struct difference_tally tally;
};

/*
 * Returns the recording of the side with the longest mean time in a place, for its culprits; with
 * one recording that one.
 */
const struct compared *compare_longest(const struct compared_side *side, unsigned int place);

/*
 * Adds "new_commands" and "gone_commands", and findings for the first of each: commands that held
 * CPUs for which messages of one side's slice waited, and did not in the other. Of several
 * recordings: in most of the one side's, and in none of the other's.
 */
void compare_add_only_commands(const struct comparison *c, struct report *r);

/*
 * Returns true if the slice has enough independent messages for confidence intervals of its means.
 */
static inline bool comparison_slice_suffices(const struct compared *side)
{
	return side->effective >= CONTRAST_EFFECTIVE_MIN;
}

#endif
