/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of a run with a Redis cluster. Each thread of an engine counts; the engine puts an EV_FACT
 * event before the run, with the number of nodes, and one before its last EV_LOAD event.
 */
#ifndef HOSTLAT_LOAD_CLUSTER_COUNTS_H
#define HOSTLAT_LOAD_CLUSTER_COUNTS_H

#include <stdint.h>

#include "event/source.h"

/* Key of the EV_FACT event: "NODES MOVED ASKED". */
#define LOAD_FACT_CLUSTER "load.cluster"

struct cluster_counts {
	uint64_t nodes; /* masters, each with connections; 0: the run is of no cluster */
	uint64_t moved; /* MOVED replies whose request was sent again to the node that they name */
	uint64_t asked; /* the same of ASK replies */
};

/* Puts the counts, unless there are no nodes. Returns 0 or -errno. */
int cluster_counts_put(const struct cluster_counts *counts, struct event_sink *sink, uint64_t now);

/*
 * Adds the counts of a value of LOAD_FACT_CLUSTER; the nodes are those of the agent that sees most.
 * Returns 0, or -EBADMSG for a malformed value.
 */
int cluster_counts_add_fact(struct cluster_counts *counts, const char *value);

#endif
