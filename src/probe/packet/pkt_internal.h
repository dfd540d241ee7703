/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the watch probe; nobody else includes it. */
#ifndef HOSTLAT_PROBE_PKT_INTERNAL_H
#define HOSTLAT_PROBE_PKT_INTERNAL_H

#include <bpf/libbpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "clock/follow.h"
#include "event/dict.h"
#include "event/source.h"
#include "event/writer.h"
#include "host/netns.h"
#include "host/root.h"
#include "probe/common/hook.h"
#include "probe/common/refusal.h"
#include "probe/common/netfilter.h"
#include "probe/packet/price.h"
#include "probe/packet/pkt_config.h"

#define WHY_MAX 192
/* The kernel switches receive stamping on in a worker, some milliseconds later. */
#define STAMPING_STARTS_NS 20000000

enum hook_state { HOOK_UNTRIED, HOOK_BOUND, HOOK_FAILED, HOOK_NOT_NEEDED };

struct hook_status {
	enum hook_state state;
	char why[WHY_MAX];
};

static const uint8_t pkt_protocol[ROW_PROTOS] = { [ROW_TCP] = PROTO_TCP, [ROW_UDP] = PROTO_UDP };

/* How often since the last reading, and how far apart on one CPU. */
struct cost_use {
	double n[COST_CLASSES], gap_ns[COST_CLASSES];
};

/* What the kernel's statistics say of the programs: PASSED and UDP are at TCP. */
struct cost_stats {
	uint64_t run_ns[COST_CLASSES], runs[COST_CLASSES];
};

struct cost {
	struct price curve[COST_CLASSES];
	double floor_ns; /* what the statistics themselves take of a run */
	char why[WHY_MAX]; /* the estimate can't be made; empty: it can */
	bool why_said;
	struct cost_stats stats_before;
	uint64_t beside_ns, beside_runs; /* the same of CPU activity's programs */
	bool stats_were_on;
	uint64_t *switches_before, *packets_before, *departures_before; /* by CPU */
	uint64_t seen_before[ROW_PROTOS], since_ns;
};

/* --probe: a place of that name, as a hook; `arg`: which of its arguments is the packet. */
struct function {
	struct hook hook;
	struct hook_status status;
	uint32_t arg;
};

/* A program on its hook. */
struct attachment {
	const struct bpf_program *program;
	struct bpf_link *link; /* NULL: cover.c has those of netfilter; or it was taken off */
	enum cost_class cost;
};

struct pkt_probe {
	struct pkt_probe_config config;
	char ifname[16];
	uint32_t ncpus;
	uint64_t memory;

	struct watch_bpf *skel;
	struct bpf_object *obj; /* of skel */
	struct hook_status status[HOOKS_MAX];
	struct refusals maps; /* that this kernel refuses; what needs them is not loaded */
	struct attachment attached[HOOKS_MAX * 2];
	uint32_t n_attached;
	struct netns_set *netns; /* of cover.c */

	struct cpu_state *cpus; /* mapped: ncpus, see pkt_cpu() */

	/* the previous snapshot, merged over CPUs */
	struct snapshot *last; /* of snapshot.c */
	struct stage_row *row_before;
	struct cpu_uncovered uncovered_before;
	uint64_t suppressed_before[ROW_PROTOS];

	struct function functions[2]; /* --probe: by function, by tracepoint */
	uint32_t n_functions;
	struct pkt_groups *groups; /* --by; or NULL */
	struct pkt_arrivals *arrivals; /* `irq`, `poll`; or NULL */
	struct labels *labels; /* of labels.c */
	bool proven; /* the self-test ran */
	struct told *told; /* messages are asked for */
	struct mark_hooks *marks; /* config.marks */
	struct clock_follow *follow;
	int stamp_fd; /* holds the kernel's receive stamping on */
	uint64_t stamps_from_ns; /* nothing is attached before */
	struct cost cost;
	uint32_t one_in;           /* of so many packets one is measured; 0: none */
	uint32_t shed_over;        /* intervals in a row above --max-overhead, at SHED_MAX */
	bool detached;             /* --max-overhead: the programs are taken off */
	uint64_t seen[ROW_PROTOS]; /* packets measured or lost at the stage that saw most */
};

/* --sample, --max-overhead: not each packet is measured, or may not be. */
static inline bool pkt_samples(const struct pkt_probe *probe)
{
	return probe->config.one_in > 1 || probe->config.max_overhead > 0;
}

/*
 * sample.c: a hook's program, and its second one or NULL; where packets are sampled, their
 * stand-ins (src/bpf/sampled.bpf.h).
 */
struct bpf_program *pkt_program(const struct pkt_probe *probe, const struct hook *hook);
struct bpf_program *pkt_second_program(const struct pkt_probe *probe, const struct hook *hook);

/*
 * Of so many packets one is measured from now on. After an interval: what it cost, as a share of
 * the CPUs' time, and what follows for the next; true if the programs have to be taken off.
 */
void pkt_sample(struct pkt_probe *probe, uint32_t one_in);
bool pkt_shed(struct pkt_probe *probe, double cost);
/* Only the loader's own packets are measured, or none: for prices of what isn't. */
void pkt_sample_none(struct pkt_probe *probe);

static inline struct cpu_state *pkt_cpu(const struct pkt_probe *probe, uint32_t cpu)
{
	return &probe->cpus[cpu];
}

#define STAGE_BIT(stage) (1U << (stage))

/*
 * ladder.c: binds the first hook of each place that has not failed, of those that --backend leaves.
 * Then: is a stage of the mask asked for, is a stage measured, is a hook of the role bound; and 0,
 * or -ENOENT and why nothing of a direction can be measured.
 */
void pkt_choose(struct pkt_probe *probe);
bool pkt_asked(const struct pkt_probe *probe, uint32_t stages);
bool pkt_gro_asked(const struct pkt_probe *probe);
bool pkt_bound(const struct pkt_probe *probe, uint32_t stage, uint32_t protocol);
/* Returns true if TCP's `transport` is asked for and has a hook. */
bool pkt_times_transport(const struct pkt_probe *probe);
bool pkt_has_role(const struct pkt_probe *probe, enum hook_role role);
/*
 * Are all hooks of UDP's transmit side bound? If not, none is of use; *why: what failed, or NULL.
 * Are packets counted that no stage covers? If not, *why.
 */
bool pkt_sends_udp(const struct pkt_probe *probe, const char **why);
bool pkt_counts_others(const struct pkt_probe *probe, const char **why);
int pkt_essential(struct pkt_probe *probe, char *why, size_t size);

/* loader.c: see pkt_probe_open() for errors. */
int pkt_load(struct pkt_probe *probe, char *why, size_t size);
void pkt_unload(struct pkt_probe *probe);
/* Takes the programs off their hooks; what they counted stays. */
void pkt_detach(struct pkt_probe *probe);

/* Which cells short latencies are in, for the tables of src/bpf/maps.bpf.h; see bpf/abi.h. */
void pkt_short_cells(__u16 *cells, __u8 *shorter);

/* kernel.c: does it have bpf_rdonly_cast() and bpf_cast_to_kern_ctx(), which came together? */
bool pkt_can_cast(void);

/* realtime.c: hands the last known offset to the programs; asks for a new one and reports it. */
void pkt_publish_clock(struct pkt_probe *probe, const struct clock_follow_params *params);
int pkt_clock(struct pkt_probe *probe, struct event_sink *sink);

/* describe.c */
int pkt_describe(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict);

/*
 * selftest.c: marks hooks that did not fire as failed; returns how many, or -errno. The kernel's
 * statistics must be on.
 */
int pkt_selftest(struct pkt_probe *probe);

/*
 * calibrate.c: learns what the programs cost, from traffic of our own, for the estimate. The
 * kernel's statistics must be on.
 */
void pkt_calibrate(struct pkt_probe *probe);

/*
 * cost.c: CPU time of this process so far. Of the programs since the last call: the kernel's own
 * figure if its statistics were on for others all the time (*exact), else the estimate. False, with
 * the reason in cost.why, if neither is known.
 */
bool watch_bpf_ns(struct pkt_probe *probe, uint64_t *ns, bool *exact);
/* Will watch_bpf_ns() know, as far as can be said beforehand? */
bool pkt_cost_known(const struct pkt_probe *probe);
/* Some packets are left out by what they are. */
bool pkt_filtered(const struct pkt_probe *probe);
int pkt_cost_open(struct pkt_probe *probe);
void pkt_cost_free(struct pkt_probe *probe);
/* Parts of it, for calibrate.c. */
bool pkt_cost_use(struct pkt_probe *probe, struct cost_use *use);
void pkt_cost_stats(const struct pkt_probe *probe, struct cost_stats *stats);

/* drop_reason.c: the kernel's name of a drop reason, as in "SOCKET_RCVBUFF"; its number by name. */
const char *drop_reason_name(uint32_t reason, char *buf, size_t size);
int drop_reason_number(const char *name);

/* TCP drops payload that had been received before: the application has it. */
bool drop_reason_is_duplicate(const char *name);

/* reasons.c: by enum loss_reason and enum excluded; the stage at which what is excluded is counted.
 */
struct pkt_excluded {
	const char *name;
	bool exact; /* also of packets that aren't measured (--sample) */
	uint8_t stage; /* what is counted at `probe` is of no protocol in particular */
};

extern const char *const pkt_loss_names[LOSS_MAX];
extern const struct pkt_excluded pkt_excluded[EXCL_MAX];

/*
 * slow.c: gives the ring its size, before loading; hands the slow messages since the last call to
 * `sink`, and how many found no room, or forgets them if it is NULL.
 */
int pkt_slow_size(struct pkt_probe *probe);
int pkt_slow(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
	       uint64_t now);

/*
 * told.c: messages for a recording. Gives the ring its size, before loading; after it, opens it,
 * without those that are in it already: the self-test's. Pulls: pkt_probe_messages().
 */
int pkt_told_size(struct pkt_probe *probe);
int pkt_told_open(struct pkt_probe *probe, char *why, size_t size);
int pkt_told_pull(struct pkt_probe *probe, struct event_writer *writer);
uint64_t pkt_told_lost(const struct pkt_probe *probe);
/* Are send calls told, too? Send calls lost since the last call, by reason: to `sink`. */
bool pkt_told_sends(const struct pkt_probe *probe);
int pkt_told_losses(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		      uint64_t now);
void pkt_told_free(struct pkt_probe *probe);

/*
 * mark_hooks.c: puts programs on the application's marks, after loading; says why not. Takes them
 * off. CPU time of theirs so far, by the kernel's statistics.
 */
int pkt_marks_open(struct pkt_probe *probe, char *why, size_t size);
void pkt_marks_close(struct pkt_probe *probe);
void pkt_marks_cost(const struct pkt_probe *probe, uint64_t *run_ns, uint64_t *runs);

/*
 * groups.c: --by. Sizes its tables, before loading, to fit into `left` bytes: what they take, or 0:
 * that is too little. Maps them, and forgets them.
 */
uint64_t pkt_groups_size(struct pkt_probe *probe, uint64_t left);
int pkt_groups_open(struct pkt_probe *probe);
void pkt_groups_close(struct pkt_probe *probe);

/* labels.c: what groups, namespaces and interfaces are called. */
int pkt_labels_open(struct pkt_probe *probe);
void pkt_labels_free(struct pkt_probe *probe);

/*
 * arrivals.c: what happens before the stack. Bytes that its maps take; their sizes, before loading;
 * maps them, and forgets them.
 */
uint64_t pkt_arrivals_memory(const struct pkt_probe *probe);
int pkt_arrivals_size(struct pkt_probe *probe);
int pkt_arrivals_open(struct pkt_probe *probe);
void pkt_arrivals_close(struct pkt_probe *probe);

/*
 * function.c: --probe. Finds what it names, or returns -ENOENT and says why not; binds the first
 * that has not failed, as pkt_choose() does; which one that is, or NULL.
 */
int pkt_function_find(struct pkt_probe *probe, char *why, size_t size);
void pkt_function_choose(struct pkt_probe *probe);
struct function *pkt_function(struct pkt_probe *probe);

/*
 * other_traffic.c: packets that no stage covers. Says in the stream whether they are counted; hands
 * on what was counted since the last call, or forgets it if `sink` is NULL.
 */
int pkt_describe_others(const struct pkt_probe *probe, struct event_sink *sink, uint64_t now);
int pkt_others(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		 uint64_t now);

/*
 * cover.c: network namespaces. Attaches a netfilter hook's program in every namespace that can be
 * entered, of the filter; fails only if there is none. Detaches all. Does so for namespaces that
 * have come and gone meanwhile, if it is time or packets were `lost` as not covered: then it tells
 * `sink` of whom.
 */
int pkt_cover_open(struct pkt_probe *probe);
void pkt_cover_free(struct pkt_probe *probe);
int pkt_cover(struct pkt_probe *probe, const struct hook *h);
void pkt_uncover(struct pkt_probe *probe);
void pkt_follow(struct pkt_probe *probe, bool lost, struct event_sink *sink, uint64_t now);

/*
 * snapshot.c: takes what the programs counted so far into `seen`; forgets it; reports what they
 * counted since.
 */
int pkt_snapshot_open(struct pkt_probe *probe);
void pkt_snapshot_free(struct pkt_probe *probe);
void pkt_count(struct pkt_probe *probe);
void pkt_baseline(struct pkt_probe *probe);
int pkt_snapshot(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		   uint32_t flags);

#endif
