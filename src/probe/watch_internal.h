/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the watch probe; nobody else includes it. */
#ifndef HOSTLAT_PROBE_WATCH_INTERNAL_H
#define HOSTLAT_PROBE_WATCH_INTERNAL_H

#include <bpf/libbpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "clock/follow.h"
#include "event/dict.h"
#include "event/source.h"
#include "host/netns.h"
#include "host/root.h"
#include "probe/hook.h"
#include "probe/watch_config.h"

#define HOOKS_MAX 32
#define WHY_MAX 160
#define NF_NETNS_MAX HOST_NETNS_MAX

enum hook_state { HOOK_UNTRIED, HOOK_BOUND, HOOK_FAILED, HOOK_NOT_NEEDED };

struct hook_status {
	enum hook_state state;
	char why[WHY_MAX];
};

struct netns_links {
	uint64_t inode;
	int links[4]; /* two hooks x two families; -1 = none */
};

struct cost {
	uint64_t run_ns, runs;
};

struct watch_probe {
	struct watch_probe_config config;
	char ifname[16];
	uint32_t ncpus, row_pool;
	uint64_t memory;

	struct watch_bpf *skel;
	struct bpf_object *obj; /* of skel */
	struct hook_status status[HOOKS_MAX];
	struct bpf_link *links[HOOKS_MAX * 2];
	uint32_t n_links;
	struct netns_links *netns;
	size_t n_netns;
	struct host_netns_vec uncovered;

	char *cpus;      /* mapped: ncpus x cpu_size, see watch_cpu() */
	size_t cpu_size; /* of struct cpu_state with its row_pool rows */

	/* the previous snapshot, merged over CPUs */
	struct row *row_before;
	struct cpu_counters counters_before;
	struct cpu_share share_before[ROW_PROTOS];
	struct culprit culprit_before[CULPRIT_MAX];
	uint32_t culprit_pid[CULPRIT_MAX];
	uint64_t recursion_before[HOOKS_MAX];
	uint64_t seq, from_ns;
	uint64_t user_before_ns;

	bool proven; /* the self-test ran */
	struct clock_follow *follow;
	int stamp_fd; /* holds the kernel's receive stamping on */
	int meter_fd; /* BPF statistics are on */
	uint64_t metered_ns, meter_since; /* 0 = not metered */
	struct cost meter_before, meter_sum;
};

static inline struct bpf_program *watch_program(const struct watch_probe *probe, const char *name)
{
	return bpf_object__find_program_by_name(probe->obj, name);
}

static inline struct cpu_state *watch_cpu(const struct watch_probe *probe, uint32_t cpu)
{
	return (struct cpu_state *)(probe->cpus + cpu * probe->cpu_size);
}

/* loader.c: see watch_probe_open() for errors. */
int watch_load(struct watch_probe *probe, char *why, size_t size);
void watch_unload(struct watch_probe *probe);

/* Which buckets short latencies are in, for the tables in src/bpf/maps.h of these names. */
void watch_bucket_tables(__u8 *fine, __u8 *coarse, __u16 *edge);

/* realtime.c: hands the last known offset to the programs; asks for a new one and reports it. */
void watch_publish_clock(struct watch_probe *probe, const struct clock_follow_params *params);
int watch_clock(struct watch_probe *probe, struct event_sink *sink);

/* describe.c */
int watch_describe(struct watch_probe *probe, struct event_sink *sink, struct event_dict *dict);

/* selftest.c: marks hooks that did not fire as failed; returns how many, or -errno. */
int watch_selftest(struct watch_probe *probe);

/*
 * cost.c: begins and ends a sample of the programs' cost; CPU time of this process so far; CPU time
 * of the programs in an interval that ends now.
 */
void watch_meter(struct watch_probe *probe, bool on);
uint64_t watch_user_ns(void);
uint64_t watch_bpf_ns(struct watch_probe *probe, uint64_t interval);

/* drop_reason.c: the kernel's name of a drop reason, as in "SOCKET_RCVBUFF"; its number by name. */
const char *drop_reason_name(uint32_t reason, char *buf, size_t size);
int drop_reason_number(const char *name);

/* snapshot.c: forgets what the programs counted so far; reports what they counted since. */
void watch_baseline(struct watch_probe *probe);
int watch_snapshot(struct watch_probe *probe, struct event_sink *sink, struct event_dict *dict,
		   uint32_t flags);

#endif
