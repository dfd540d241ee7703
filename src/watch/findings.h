/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: sentences under the stage table. */
#ifndef HOSTLAT_WATCH_FINDINGS_H
#define HOSTLAT_WATCH_FINDINGS_H

#include "watch/state.h"

/* Adds findings to `r`. Returns 0 or -ENOMEM. */
int watch_findings(const struct watch *w, enum watch_span span, struct report *r);

/* Waits for a CPU, of all messages that were read. */
struct watch_waits {
	uint64_t least_ns;   /* shorter waits do not count */
	double share;        /* share of the messages that waited as long or longer, 0..1 */
	uint64_t median_ns;  /* median of these waits */
	bool notable;        /* they are enough to be reported */
};

/* Sums up the waits. Returns 0 or -ENOMEM. */
int watch_cpu_waits(const struct watch *w, enum watch_span span, struct watch_waits *out);

/*
 * Sums a distribution over the rows of a stage; 0 stands for any protocol or origin. Returns 0 or
 * -ENOMEM. Release `sum` in any case.
 */
int watch_pool_rows(const struct watch *w, enum watch_span span, unsigned int dist,
		    unsigned int stage, unsigned int protocol, unsigned int origin,
		    struct hist *sum);

/* Sets the headline, after the findings. Returns 0 or -ENOMEM. */
int watch_headline(const struct watch *w, enum watch_span span, struct report *r);

#endif
