/* SPDX-License-Identifier: Apache-2.0 */
/* The network cards that stamp the packets of an engine (--timestamps nic). */
#ifndef HOSTLAT_LOAD_ENGINE_NICS_H
#define HOSTLAT_LOAD_ENGINE_NICS_H

#include "base/restorer.h"
#include "load/thread.h"

#define ENGINE_NICS_MAX 16

struct engine_nics {
	struct net_nic list[ENGINE_NICS_MAX];
	uint32_t n;
	/* process that restores the NICs' time stamp settings if this process is killed */
	struct restorer restorer;
};

/*
 * Enables the stamps of the NICs towards the targets, and drops addresses without a route. Returns
 * 0, or -errno with a sentence in `why`; in both cases the caller calls engine_nics_release().
 */
int engine_nics_init(struct engine_nics *nics, struct load_target *targets, uint32_t n_targets,
		     struct strbuf *why);

/* Restores the settings of the NICs. Accepts zeroed memory. */
void engine_nics_release(struct engine_nics *nics);

#endif
