/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load that is made by agents: what each is told of the run, and the coordinator of theirs as the
 * maker of a live run. load/coordinator.h has the rest.
 */
#ifndef HOSTLAT_CMD_LOAD_AGENTS_H
#define HOSTLAT_CMD_LOAD_AGENTS_H

#include "cmd/load_backend.h"
#include "cmd/load_options.h"

/* What an agent is told: its share of the run, and what it is for. */
struct load_agent_options {
	struct load_options load;
	uint32_t role; /* enum load_role */
};

extern const struct opt load_agent_option_rows[];

/*
 * Starts the agents of one run of these options; of `config` the rate and the connections are those
 * of all that load. Returns 0, or -errno and `why`; -EINVAL: bad usage.
 */
int load_agents_new(struct load_backend *backend, const struct load_options *o,
		    const struct load_config *config, struct strbuf *why);

#endif
