/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the programs' counters into events: rows, groups and statistics of interrupts. */
#ifndef HOSTLAT_PROBE_DELTAS_H
#define HOSTLAT_PROBE_DELTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/dict.h"
#include "event/names.h"
#include "probe/packet/pkt_internal.h"

struct delta_out {
	struct pkt_probe *probe;
	struct event_sink *sink; /* NULL: counts are noted and not reported */
	struct event_dict *dict;
	uint64_t now;
	bool not_covered; /* packets were seen in a namespace without our hook */
	uint64_t seen[STAGE_MAX][ROW_PROTOS]; /* packets measured or lost */
	int err;        /* the sink's first error */
};

/* How a slot's row is reported: its stage, its latency, and its step or what replaces the step. */
struct slot_meaning {
	uint8_t stage, latency, step;
};

extern const struct slot_meaning slot_meanings[SLOT_MAX];

/* reasons.c: names by enum loss_reason and enum excluded. */
struct pkt_excluded {
	const char *name;
	bool exact; /* counted for unsampled packets as well (--sample) */
	uint8_t stage; /* that counts it; STAGE_PROBE: of no protocol in particular */
};

extern const char *const pkt_loss_names[LOSS_MAX];
extern const struct pkt_excluded pkt_excluded[EXCL_MAX];

/* Puts the rows that every CPU has. */
void deltas_rows(struct delta_out *o);

/*
 * Puts one row, named by its index in struct cpu_state: `now` minus `before`. The extremes of `now`
 * are the interval's. Puts 0 to 3 EV_HIST, for `group` or, by `flags`, for the overflow.
 */
void deltas_row(struct delta_out *o, uint32_t id, uint32_t group, uint16_t flags,
		struct stage_row *now, const struct stage_row *before);

/* Adds the counts of `h` to `sum` and resets the extremes of `h`, for the next interval. */
void deltas_merge(struct row_hist *h, struct row_hist *sum);

/* Returns true if exclusions at that stage belong to no protocol. */
bool deltas_any_protocol(uint32_t stage);

/*
 * groups.c: --by. Sets the sizes of its maps, before loading, to fit into `left` bytes; returns the
 * bytes that they take, or 0 if `left` is too small. Then: maps them (0 or -errno), puts the rows
 * of groups, unmaps.
 */
uint64_t pkt_groups_set_size(struct pkt_probe *probe, uint64_t left);
int pkt_groups_open(struct pkt_probe *probe);
void pkt_groups_put(struct delta_out *o);
void pkt_groups_close(struct pkt_probe *probe);

/* labels.c: names of groups, namespaces and interfaces. */
int pkt_labels_open(struct pkt_probe *probe);
void pkt_labels_free(struct pkt_probe *probe);
/* Fills one label for each key of --by, at most GROUP_KEY_MAX; returns how many. */
uint32_t label_group(struct delta_out *o, const struct group_traits *traits,
		     struct event_label *labels);
/*
 * Looks up the namespace and the interface again, as the kernel reuses their numbers. Returns true
 * if a name has changed.
 */
bool label_group_again(struct delta_out *o, const struct group_traits *traits,
		       struct event_label *labels, uint32_t n);
/*
 * Returns the dictionary's number of an interface's name: "eth0", or "eth0@blue" in another
 * namespace than ours. 0: the interface is gone.
 */
uint32_t label_iface_id(struct delta_out *o, uint32_t netns, uint32_t ifindex);

/*
 * irq_stats.c: interrupts and softirqs, before the stack. Returns the bytes of its maps; sets their
 * sizes, before loading; maps them; puts rows, queues and the kernel's counters; unmaps.
 */
uint64_t pkt_irq_stats_memory(const struct pkt_probe *probe);
int pkt_irq_stats_set_size(struct pkt_probe *probe);
int pkt_irq_stats_open(struct pkt_probe *probe);
void pkt_irq_stats_put(struct delta_out *o);
void pkt_irq_stats_close(struct pkt_probe *probe);

#endif
