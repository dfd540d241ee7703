/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that turn what the programs counted into events. */
#ifndef HOSTLAT_PROBE_DELTAS_H
#define HOSTLAT_PROBE_DELTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/dict.h"
#include "event/names.h"
#include "probe/packet/pkt_internal.h"

struct out {
	struct pkt_probe *probe;
	struct event_sink *sink; /* NULL: nobody listens, what was counted is only taken note of */
	struct event_dict *dict;
	uint64_t now;
	bool not_covered; /* packets in namespaces without our hook */
	uint64_t seen[STAGE_MAX][ROW_PROTOS]; /* measured or lost */
	int err;        /* the first of the sink */
};

/* What a slot's row says: its latency, and its step or what is in place of one. */
struct slot_meaning {
	uint8_t stage, latency, step;
};

extern const struct slot_meaning slot_meanings[SLOT_MAX];

/* deltas.c: the rows that every CPU has. */
void deltas_rows(struct out *o);

/*
 * One row, by its place in struct cpu_state: what `now` has more than `before`. The extremes of
 * `now` are the interval's. Puts 0 to 3 EV_HIST, of a group or of the overflow as the rest says.
 */
void deltas_row(struct out *o, uint32_t id, uint32_t group, uint16_t flags, struct stage_row *now,
		  const struct stage_row *before);

/* Adds what `h` counted, and takes its extremes: those of the next interval begin. */
void deltas_merge(struct row_hist *h, struct row_hist *sum);

/* labels.c: one label for each key of --by, at most GROUP_KEY_MAX. Returns how many. */
uint32_t group_labels(struct out *o, const struct group_traits *traits,
		      struct event_label *labels);
/* Names the namespace and the interface anew: numbers are given again. Has one changed? */
bool group_relabel(struct out *o, const struct group_traits *traits, struct event_label *labels,
		   uint32_t n);

/* Is what was excluded for this reason of no protocol? */
bool deltas_any_protocol(uint32_t stage);

/* arrivals.c: rows, queues and the kernel's own counters from before the stack. */
void pkt_arrivals_put(struct out *o);

/* labels.c: "eth0", and of another namespace than ours "eth0@blue", in the dictionary; 0: gone. */
uint32_t label_iface_id(struct out *o, uint32_t netns, uint32_t ifindex);

/* groups.c: the rows of groups, with --by. */
void pkt_groups_put(struct out *o);

#endif
