/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the programs' counters into events: latency histograms, those of groups (--by), and
 * statistics of interrupts.
 */
#ifndef HOSTLAT_PROBE_DELTAS_H
#define HOSTLAT_PROBE_DELTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/dict.h"
#include "event/names.h"
#include "probe/packet/pkt_internal.h"

struct delta_out {
	struct pkt_probe *probe;
	struct event_sink *sink; /* NULL: counts are updated, not reported */
	struct event_dict *dict;
	uint64_t now;
	bool not_covered; /* packets came from a namespace without a hook of hostlat */
	uint64_t seen[STAGE_MAX][ROW_PROTOS]; /* packets measured or lost */
	int err;        /* first error of `sink`; 0: none */
};

/*
 * Describes a slot, i.e. a stage or part of a stage with histograms of its own: the stage, and the
 * distributions (enum hist_dist) of the latency and of the step, the time since the previous stage.
 */
struct slot_meaning {
	uint8_t stage, latency, step;
};

extern const struct slot_meaning slot_meanings[SLOT_MAX];

/*
 * Describes a reason for which packets are excluded from measurement (enum excluded). reasons.c has
 * the table, and the names of the reasons for which packets are lost (enum loss_reason).
 */
struct pkt_excluded {
	const char *name;
	bool exact; /* unsampled packets (--sample) are counted as well */
	/* stage that counts the excluded packets; at STAGE_PROBE they may be of any protocol */
	uint8_t stage;
};

extern const char *const pkt_loss_names[LOSS_MAX];
extern const struct pkt_excluded pkt_excluded[EXCL_MAX];

/*
 * Puts the rows of histograms that have changed, summed over CPUs, as EV_HIST. Rows of groups are
 * not among them: pkt_groups_put().
 */
void deltas_rows(struct delta_out *o);

/*
 * Puts a row of histograms as 0 to 3 EV_HIST: the counts of `now` minus those of `before`, with the
 * minimum and maximum of `now`. `id` is the row's index in struct cpu_state. The EV_HIST are for
 * `group` or, by `flags`, for the overflow group, which pools the groups over the limit.
 */
void deltas_row(struct delta_out *o, uint32_t id, uint32_t group, uint16_t flags,
		struct stage_row *now, const struct stage_row *before);

/* Adds the counts of `h` to `sum`; moves its minimum and maximum there: resets them in `h`. */
void deltas_merge(struct row_hist *h, struct row_hist *sum);

/* Returns true if the packets excluded at `stage` may be of any protocol. */
bool deltas_any_protocol(uint32_t stage);

/*
 * groups.c (--by): pkt_groups_set_size() sizes the maps, before loading, to fit into `left` bytes;
 * it returns the bytes that they take, or 0 if `left` is too small. pkt_groups_open() maps them (0
 * or -errno), pkt_groups_put() puts the groups' rows, pkt_groups_close() unmaps.
 */
uint64_t pkt_groups_set_size(struct pkt_probe *probe, uint64_t left);
int pkt_groups_open(struct pkt_probe *probe);
void pkt_groups_put(struct delta_out *o);
void pkt_groups_close(struct pkt_probe *probe);

/* labels.c: names of groups, namespaces and interfaces. */
int pkt_labels_open(struct pkt_probe *probe);
void pkt_labels_free(struct pkt_probe *probe);
/* Fills one label for each key of --by, at most GROUP_KEY_MAX; returns the number of labels. */
uint32_t label_group(struct delta_out *o, const struct group_traits *traits,
		     struct event_label *labels);
/*
 * Looks up the namespace and interface names again, as the kernel reuses their numbers. Returns
 * true if a name has changed.
 */
bool label_group_again(struct delta_out *o, const struct group_traits *traits,
		       struct event_label *labels, uint32_t n);
/*
 * Returns the number of an interface's name in DICT_IFACE: "eth0", or "eth0@blue" in another
 * namespace than hostlat's. 0: the interface is gone.
 */
uint32_t label_iface_id(struct delta_out *o, uint32_t netns, uint32_t ifindex);

/*
 * irq_stats.c: statistics of interrupts and softirqs. pkt_irq_stats_memory() returns the bytes of
 * the BPF maps, ..._set_size() sizes the maps before loading, ..._open() maps them, ..._put() puts
 * histograms, receive queues and the kernel's counters as events, ..._close() unmaps the maps.
 */
uint64_t pkt_irq_stats_memory(const struct pkt_probe *probe);
int pkt_irq_stats_set_size(struct pkt_probe *probe);
int pkt_irq_stats_open(struct pkt_probe *probe);
void pkt_irq_stats_put(struct delta_out *o);
void pkt_irq_stats_close(struct pkt_probe *probe);

#endif
