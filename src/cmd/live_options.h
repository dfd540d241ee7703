/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the packet probe. A recording stores their values as facts: names with a text. */
#ifndef HOSTLAT_CMD_LIVE_OPTIONS_H
#define HOSTLAT_CMD_LIVE_OPTIONS_H

#include "base/opt.h"
#include "event/source.h"
#include "probe/packet/pkt_config.h"

#define LIVE_FACT_PORT "watch.port"

/* Option rows of struct pkt_probe_config, shared by watch and record. */
extern const struct opt probe_option_rows[];

/*
 * Returns the mask of stages to measure in a live run: those of --stages, or the default. (A view
 * of a recording shows all recorded stages by default.)
 */
uint64_t live_options_stages(const struct pkt_probe_config *options);

/*
 * Returns the memory limit, in bytes, of the event queue for one snapshot of maps of `memory`
 * bytes. A counter takes 8 bytes in a map and 16 as an event; the remainder is for names, counts
 * and facts. The memory is allocated on demand.
 */
uint64_t live_options_queue_bytes(uint64_t memory);

#define OPTIONS_PROBE(config, member)                                                              \
	OPT_ROWS(config, member, struct pkt_probe_config, probe_option_rows)

/*
 * Puts the measurement's options as EV_FACTs: one fact, under the `.fact` of its option row, for
 * each option that has a value. Returns 0 or an error of the sink.
 */
int live_options_put_facts(const struct pkt_probe_config *config, uint64_t interval_ns,
			   struct event_sink *sink, uint64_t now);

/*
 * Compares a recorded fact with the options. Returns the name of the option with a different value,
 * or NULL. Sets the option's bit in `*recorded`.
 */
const char *live_options_fact_differs(const struct pkt_probe_config *config, const char *key,
				      const char *value, uint32_t *recorded);

/*
 * Returns the name of an option that is given, but of which the recording stores no value: its bit
 * in `recorded` is not set. NULL: there is no such option.
 */
const char *live_options_fact_missing(const struct pkt_probe_config *config, uint32_t recorded);

#endif
