/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Maps, settings and shared variables of the watch programs. */
#ifndef HOSTLAT_BPF_MAPS_H
#define HOSTLAT_BPF_MAPS_H

#include "bpf/kernel/types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/abi.h"
#include "event/layout.h"

/* since 6.2; called only if the loader has found the function in the kernel */
void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/* The loader sets max_entries of several maps from the number of CPUs and --memory. */

/* Counters and rows that a CPU writes: each program needs only one look-up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tcp_socket);
} tcp_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ooo_queue);
} ooo_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct udp_socket);
} udp_sockets SEC(".maps");

/*
 * Slots for datagrams whose slot in their UDP socket's storage is taken; all sockets share them
 * (bpf/udp_slots.bpf.h).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* the loader sizes the map by --memory, up to UDP_FAR_MAX */
	__uint(max_entries, UDP_FAR_MIN);
	__type(key, __u32);
	__type(value, struct udp_slot);
} udp_fars SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the loader sets the number of rings, up to EXT_MAX */
	__type(key, __u32);
	__type(value, struct ext_ring);
} ext_rings SEC(".maps");

/*
 * States of reading tasks. Preallocated, as they are made in wakeups, under a run queue's lock,
 * where an allocation may deadlock. A program at sched_process_free deletes entries.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MIN); /* the loader sizes the map by --memory */
	__type(key, __u64); /* address of the task */
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CULPRIT_MAX);
	__type(key, __u32); /* thread id */
	__type(value, struct culprit);
} culprits SEC(".maps");

/* Maps of groups (--by), with one entry without --by. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets GROUP_SETS */
	__type(key, __u32);
	__type(value, struct group_set);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets the number of sets, row_sets */
	__type(key, __u32);
	__type(value, struct row_set);
} row_keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets row_sets x ROW_WAYS, one entry per key */
	__type(key, __u32);
	__type(value, struct stage_row);
} group_rows SEC(".maps");

/* ---- settings, fixed before loading: the verifier prunes unused code ---- */

/* mask of 1 << enum row_slot: the stages, and parts of stages, that are recorded */
const volatile __u32 slots = ~0U;
/* origin of all packets: enum row_origin; ROW_ORIGINS: decided per packet */
const volatile __u32 origin_option = ROW_ORIGINS;
const volatile __u32 filter_port = 0;       /* --port: local port; 0: all */
const volatile __u32 filter_netns = 0;      /* inode of the network namespace; 0: all */
const volatile __u64 filter_cgroup = 0;     /* id in cgroup2, includes cgroups below; 0: all */
const volatile __u32 filter_level = 0;      /* depth of filter_cgroup in its hierarchy */
/* 1: filter_port, filter_netns or filter_cgroup is set; one test for most programs */
const volatile __u32 filter_sock = 0;
/* --pid: process id; latencies are then recorded when it reads; 0: all processes */
const volatile __u32 filter_tgid = 0;
const volatile __u64 filter_ifname[2] = {}; /* name of the interface; 0: all */
const volatile __u64 ifname_mask[2] = {};   /* bits to compare: the name and its NUL */
const volatile __u32 drop_not_yet = ~0U; /* this kernel's SKB_NOT_DROPPED_YET, which is no drop */
/* this kernel's SKB_CONSUMED (since 6.2), which is no drop */
const volatile __u32 drop_consumed = ~0U;
const volatile __u32 drop_unspecified = ~0U; /* this kernel's SKB_DROP_REASON_NOT_SPECIFIED */
const volatile __u32 drop_cpu_backlog = ~0U; /* this kernel's SKB_DROP_REASON_CPU_BACKLOG */
const volatile __u32 transport_udp = 1;     /* 1: stage `transport` has a hook for UDP */
const volatile __u32 transport_tcp = 1;     /* 1: stage `transport` is selected, with a TCP hook */
/* 1: the stage `read` has a hook; only then unread packets are stored */
const volatile __u32 read_tcp = 1, read_udp = 1;
const volatile __u32 udp_far_slots = UDP_FAR_MIN; /* number of entries of the map udp_fars */
const volatile __u32 sockets_end = 1;       /* 1: a program is attached to tcp_destroy_sock */
const volatile __u32 tasks_end = 1;         /* 1: a program is attached to sched_process_free */
const volatile __u32 ext_limit = 1;         /* number of rings in the map ext_rings */
const volatile __u32 fast_path = FAST_PATH_NONE;     /* form of the fast path: enum fast_path */
/* record: 1: each message is reported, and slower_than is 1 */
const volatile __u32 recording = 0;
const volatile __u64 slow_too = 0;          /* record: limit of --slower-than in ns; 0: none */
/* messages of this latency (ns) or more are reported; 0: none */
const volatile __u64 slower_than = 0;
const volatile __u32 hol = HOL_EXCLUDE;     /* --hol: enum hol */
const volatile __u32 function_arg = 0;      /* --probe: index of the packet's argument */
const volatile __u32 by = 0;                /* --by: a bit per enum group_key */
const volatile __u32 trait_mask[TRAIT_FIELDS] = {}, trait_shift[TRAIT_FIELDS] = {};
const volatile __u32 row_sets = 1;
const volatile __u32 uses_link_traits = 0;        /* 1: --by or --probe needs link_traits[] */
const volatile __u32 keep_times = 1;          /* 1: queued packets have the times of all stages */
const volatile __u32 sampling = 0;          /* 1: only sampled packets are measured: sample_below */
const volatile __u32 can_cast = 0;          /* 1: the kernel has bpf_rdonly_cast() */
const volatile __u32 uncovered = 0;         /* 1: count packets that no stage covers */
/* --min-queue: minimum of unread packets for a packet to be measured; 0: off */
const volatile __u32 min_queue = 0;
const volatile __u32 send_udp = 0;          /* 1: hooks see UDP's send calls */

const volatile __u16 short_cells[SHORT_ENTRIES] = {};
const volatile __u8 shorter_cells[SHORT_MIN] = {}; /* histogram cell of each ns below SHORT_MIN */

/* ---- shared with the running loader ---- */

__s64 realtime_offset; /* realtime - monotonic, ns */
__s64 tai_offset;     /* TAI - realtime, ns */
__u64 measured_since; /* --probe: packets received before this time do not count */
__u32 groups_freed; /* counts removals of --by groups: a group found before is looked up again */
__u32 sample_below = ~0U; /* (sample_below + 1) / 2^32 of the packets are sampled */
__u64 ext_used; /* bitmap of the rings in ext_rings that are borrowed */
/* The self-test's port and process pass the filters while it runs. */
__u32 test_port; /* NO_TEST_PORT until the self-test and after it */
__u32 test_tgid;

/* Global variables instead of maps: programs know an entry's address without a look-up. */
struct link_entry link_table[LINK_SETS * 2];
/* per entry of link_table: packet_traits_of() with --by, the namespace with --probe */
__u64 link_traits[LINK_SETS * 2];
__u32 tx_groups[TX_SETS * 2];   /* group of each packet in transmission */
struct tcp_entry tcp_table[TCP_TABLE];
struct task_entry task_table[TASK_TABLE];
struct task_state task_fresh; /* initial value of a task's state; never written */

#endif
