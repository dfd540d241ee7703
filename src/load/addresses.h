/* SPDX-License-Identifier: Apache-2.0 */
/* Reports which addresses of host names the connections use, and which failed at the start. */
#ifndef HOSTLAT_LOAD_ADDRESSES_H
#define HOSTLAT_LOAD_ADDRESSES_H

#include "event/source.h"
#include "load/thread.h"

/* The open connections of an engine; borrowed. */
struct addresses {
	const struct load_thread *threads;
	uint32_t n_threads;
	const struct load_target *targets;
	uint32_t n_targets;
};

/* Puts EV_FACT events LOAD_FACT_ADDRESS and LOAD_FACT_DEAD_ADDRESS. Returns 0 or -errno. */
int addresses_put(const struct addresses *addresses, struct event_sink *sink);

#endif
