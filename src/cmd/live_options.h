/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the packet probe, and the facts that a recording has about them. */
#ifndef HOSTLAT_CMD_LIVE_OPTIONS_H
#define HOSTLAT_CMD_LIVE_OPTIONS_H

#include "base/opt.h"
#include "event/source.h"
#include "probe/packet/pkt_config.h"

#define LIVE_FACT_PORT "watch.port"

/* Rows of struct pkt_probe_config, which commands share. */
extern const struct opt probe_option_rows[];

/*
 * Returns the mask of stages to measure live; without --stages, the default. A recording is shown
 * with all its stages.
 */
uint64_t live_options_stages(const struct pkt_probe_config *options);

/*
 * Returns the limit in bytes of the queue for one snapshot, for maps of `memory` bytes. A counter
 * takes 8 bytes in a map and 16 as an event; the rest is for names, counts and facts. Memory is
 * allocated as needed.
 */
uint64_t live_options_queue_bytes(uint64_t memory);

#define OPTIONS_PROBE(config, member)                                                              \
	OPT_ROWS(config, member, struct pkt_probe_config, probe_option_rows)

/*
 * Puts what is measured and of whom as EV_FACTs: one for each option that has a value, under the
 * `.fact` of its row. Returns 0 or an error of the sink.
 */
int live_options_put_facts(const struct pkt_probe_config *config, uint64_t interval_ns,
			   struct event_sink *sink, uint64_t now);

/*
 * Compares a fact of a recording with the options. Returns the name of the option that has another
 * value, or NULL. Adds the option's bit to `*recorded`.
 */
const char *live_options_fact_differs(const struct pkt_probe_config *config, const char *key,
				      const char *value, uint32_t *recorded);

/* Returns the name of an option that is given and that no fact named (`recorded`), or NULL. */
const char *live_options_fact_missing(const struct pkt_probe_config *config, uint32_t recorded);

#endif
