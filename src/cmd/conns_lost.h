/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the connections, calls and counters that a live run lost, each loss once, as events. */
#ifndef HOSTLAT_CMD_CONNS_LOST_H
#define HOSTLAT_CMD_CONNS_LOST_H

#include <stdint.h>

#include "event/dict.h"
#include "probe/connection/conns_source.h"

/* The losses reported so far. Zero at first. */
struct conns_lost_reported {
	struct conns_lost lost;
	uint64_t calls, connections; /* calls not logged; new connections not observed */
};

/* Puts the losses since the last call into `sink`. Returns 0 or -errno. */
int conns_lost_put(struct conns_lost_reported *reported, struct conns_source *source,
		   struct event_sink *sink, struct event_dict *dict, uint64_t now);

#endif
