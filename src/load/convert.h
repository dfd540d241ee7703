/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent says, as it is told on: in our clock, and with numbers that no other agent of the
 * run has. An agent need not know its number, and what it says is checked: nothing that comes out
 * of here can make an analysis fail, but for what comes in too few.
 */
#ifndef HOSTLAT_LOAD_CONVERT_H
#define HOSTLAT_LOAD_CONVERT_H

#include "event/source.h"
#include "load/offset.h"

struct convert {
	uint32_t agent;
	bool probe;                  /* its samples are those of a latency agent */
	bool clock;                  /* the distance to realtime that it tells counts */
	uint64_t from_ns, until_ns;  /* of our clock: when its requests can be */
	struct offset offset;
};

/* Samples that fit into a block. */
#define CONVERT_SAMPLES (EVENT_BLOCK_SIZE / sizeof(struct event_sample))

/*
 * The samples from record *at of `in` on, as many as fit into `to`, as a block `out`; *at goes on.
 * -EBADMSG: they contradict themselves or the run.
 */
int convert_samples(const struct convert *c, const struct event_block *in, uint32_t *at,
		    struct event_sample to[CONVERT_SAMPLES], struct event_block *out);

/*
 * A record of the run into `sink`; kinds that are of no use there are left out. Returns 0,
 * -EBADMSG, or what the sink returns.
 */
int convert_record(const struct convert *c, const struct event *event, struct event_sink *sink);

#endif
