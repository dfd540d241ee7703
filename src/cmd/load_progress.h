/* SPDX-License-Identifier: Apache-2.0 */
/* The line on a terminal with the progress of a load: running percentiles, and the rate reached. */
#ifndef HOSTLAT_CMD_LOAD_PROGRESS_H
#define HOSTLAT_CMD_LOAD_PROGRESS_H

#include "base/progress.h"
#include "event/source.h"
#include "load/consumer.h"
#include "stats/hist.h"

struct load_progress {
	struct progress line;
	struct hist latency; /* latencies so far, with the warm-up; empty if no line is drawn */
};

void load_progress_begin(struct load_progress *p, bool quiet);

/* Adds the samples of a block. Memory that is lacking only makes the percentiles n/a. */
void load_progress_add(struct load_progress *p, const struct load_setup *setup,
		       const struct event_block *block);

/* Draws the line; `label` is its beginning, or NULL. */
void load_progress_show(struct load_progress *p, const struct load_consumer *consumer,
			const char *label);

/* Clears the line. */
void load_progress_end(struct load_progress *p);

#endif
