/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts an agent's events to the coordinator's clock and to core and flow numbers that are
 * unique in the run. Agents need not know their own numbers. Events are validated, so that a faulty
 * agent cannot make the analysis fail.
 */
#ifndef HOSTLAT_LOAD_CONVERT_H
#define HOSTLAT_LOAD_CONVERT_H

#include "event/source.h"
#include "load/offset.h"

struct convert {
	uint32_t agent;
	bool probe;                  /* the agent is a latency agent */
	bool clock;                  /* false: drop the agent's clock readings (EV_CLOCK) */
	uint64_t from_ns, until_ns;  /* valid times of requests, by the coordinator's clock */
	struct offset offset;
};

#define CONVERT_SAMPLES (EVENT_BLOCK_SIZE / sizeof(struct event_sample))

/*
 * Converts samples of block `in`, from record *at on, into the array `to` until it is full.
 * Advances *at, and sets `out` to a block of the converted samples. Returns 0, or -EBADMSG for
 * samples that contradict themselves or the run.
 */
int convert_samples(const struct convert *c, const struct event_block *in, uint32_t *at,
		    struct event_sample to[CONVERT_SAMPLES], struct event_block *out);

/*
 * Converts an event and puts it into `sink`; ignores all kinds except EV_LOAD, EV_NOISE, EV_FLOW
 * and EV_CLOCK. Returns 0, -EBADMSG, or the sink's error.
 */
int convert_record(const struct convert *c, const struct event *event, struct event_sink *sink);

#endif
