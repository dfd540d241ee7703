/* SPDX-License-Identifier: Apache-2.0 */
/* State of the packet probe, for the files of this folder only. */
#ifndef HOSTLAT_PROBE_PKT_INTERNAL_H
#define HOSTLAT_PROBE_PKT_INTERNAL_H

#include <bpf/libbpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "clock/follow.h"
#include "event/dict.h"
#include "event/source.h"
#include "probe/common/refusal.h"
#include "probe/packet/hooks.h"
#include "probe/packet/pkt_config.h"

/* Time in ns from a request for receive timestamps until a kernel worker has switched them on. */
#define STAMPING_STARTS_NS 20000000

#define STAGE_BIT(stage) (1U << (stage))

static const uint8_t pkt_protocol[ROW_PROTOS] = { [ROW_TCP] = PROTO_TCP, [ROW_UDP] = PROTO_UDP };

/* A hook for --probe's target; its argument number `arg` (from 0) points to the packet. */
struct function {
	struct pkt_hook hook;
	struct hook_status status;
	uint32_t arg;
};

/* A program that is attached to its hook. */
struct attachment {
	const struct bpf_program *program;
	struct bpf_link *link; /* NULL: detached, or a netfilter program (netns_attach.c) */
	enum cost_class cost;
};

struct pkt_probe {
	struct pkt_probe_config config;
	char ifname[16];
	uint32_t ncpus;
	uint64_t memory; /* bytes of all maps */

	/* BPF programs and their hooks (loader.c, hook_select.c) */
	struct watch_bpf *skel;
	struct bpf_object *obj; /* owned by `skel` */
	struct hook_status status[HOOKS_MAX]; /* status of each row of pkt_hooks[] */
	/* maps refused by this kernel; programs that need one are not loaded */
	struct refusals maps;
	struct attachment attached[HOOKS_MAX * 2];
	uint32_t n_attached;
	struct function functions[2]; /* --probe's candidates: a function, a tracepoint */
	uint32_t n_functions;
	bool proven;   /* the self-test ran over IPv4 or IPv6 */
	bool detached; /* --max-overhead has detached the programs */
	int stamp_fd;  /* socket that keeps the kernel's receive stamping on */
	uint64_t stamps_from_ns; /* programs are not attached before this time */

	/* each module's own state; NULL where it is not used */
	struct netns_set *netns;
	struct snapshot *last;
	struct pkt_groups *groups;
	struct pkt_irq_stats *irq_stats;
	struct labels *labels;
	struct pkt_messages *messages;
	struct mark_hooks *marks;
	struct cost *cost;
	struct clock_follow *follow;

	/* counters, and their values at the previous snapshot */
	struct cpu_state *cpus; /* counters of each CPU: `ncpus` mapped entries, see pkt_cpu() */
	struct stage_row *row_before; /* histograms at the previous snapshot, merged over CPUs */
	struct cpu_uncovered uncovered_before;
	uint64_t suppressed_before[ROW_PROTOS];
	uint64_t seen[ROW_PROTOS]; /* packets measured or lost, at the stage that saw most */

	/* state of sampling (sample.c) */
	uint32_t one_in;    /* one packet in this many is measured; 0: none */
	/* successive intervals above --max-overhead at the lowest sampling rate, 1/SHED_MAX */
	uint32_t shed_over;
};

/* Returns true if --sample or --max-overhead may leave packets unmeasured. */
static inline bool pkt_samples(const struct pkt_probe *probe)
{
	return probe->config.one_in > 1 || probe->config.max_overhead > 0;
}

static inline struct cpu_state *pkt_cpu(const struct pkt_probe *probe, uint32_t cpu)
{
	return &probe->cpus[cpu];
}

/* ---- sample.c ---- */

/*
 * Return a hook's program and its second program (NULL: none). With sampling, they return the
 * variant in src/bpf/sampled.bpf.h if there is one.
 */
struct bpf_program *pkt_find_program(const struct pkt_probe *probe, const struct pkt_hook *hook);
struct bpf_program *pkt_find_second_program(const struct pkt_probe *probe,
					    const struct pkt_hook *hook);

/* Measures one packet in `one_in` from now on. */
void pkt_set_sampling(struct pkt_probe *probe, uint32_t one_in);
/* Measures the self-test's packets only, to learn the cost of unsampled packets. */
void pkt_set_sampling_none(struct pkt_probe *probe);
/*
 * Adapts sampling to --max-overhead. `cost`: the last interval's overhead, as a share of the CPUs'
 * time. Returns true if the programs have to be detached.
 */
bool pkt_shed_load(struct pkt_probe *probe, double cost);

/* ---- loader.c ---- */

/* Loads and attaches the programs. Returns errors as pkt_probe_open() does. */
int pkt_load(struct pkt_probe *probe, char *why, size_t size);
void pkt_unload(struct pkt_probe *probe);
/* Detaches the programs; the counters in their maps stay. */
void pkt_detach(struct pkt_probe *probe);
/*
 * Fills two tables of src/bpf/maps.bpf.h with which programs find the histogram cell of a short
 * latency; see bpf/abi.h.
 */
void pkt_short_cells(__u16 *cells, __u8 *shorter);

/*
 * selftest.c: sends packets over loopback. Returns how many hooks did not fire and are now marked
 * as failed, or -errno. The kernel's statistics must be on.
 */
int pkt_run_selftest(struct pkt_probe *probe);

/* realtime.c: passes the realtime clock's offset to the programs; NULL: the last known offset. */
void pkt_publish_clock(struct pkt_probe *probe, const struct clock_follow_params *params);

/* ---- events ---- */

/*
 * snapshot.c: pkt_snapshot_open() allocates the state (0 or -ENOMEM). pkt_snapshot_put() puts the
 * counts since the last call (0 or the sink's error); ..._skip() and ..._begin() discard them.
 */
int pkt_snapshot_open(struct pkt_probe *probe);
void pkt_snapshot_free(struct pkt_probe *probe);
void pkt_snapshot_skip(struct pkt_probe *probe);
void pkt_snapshot_begin(struct pkt_probe *probe);
int pkt_snapshot_put(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		     uint32_t flags);

/*
 * slow.c: pkt_slow_set_size() sizes the ring of slow messages, before loading. pkt_slow_put() puts
 * the slow messages since the last call, and how many were suppressed; a NULL sink discards them.
 */
int pkt_slow_set_size(struct pkt_probe *probe);
int pkt_slow_put(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		 uint64_t now);

/*
 * other_traffic.c: packets that no stage covers. pkt_describe_other_traffic() puts the fact whether
 * they are counted. pkt_put_other_traffic() puts the counts since the last call; a NULL `sink`
 * discards them.
 */
int pkt_describe_other_traffic(const struct pkt_probe *probe, struct event_sink *sink,
			       uint64_t now);
int pkt_put_other_traffic(struct pkt_probe *probe, struct event_sink *sink,
			  struct event_dict *dict, uint64_t now);

#endif
