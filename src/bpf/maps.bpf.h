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

void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak; /* where `can_cast` says so */

/* Sizes of arrays marked "loader" are set there from the number of CPUs and --memory. */
/* Everything that a CPU writes: one lookup per program finds its counters and its rows. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* loader: CPUs */
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

/* For all sockets of which more is unread than their own storage holds: bpf/udp_slots.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UDP_FAR_MIN); /* loader: by --memory, up to UDP_FAR_MAX */
	__type(key, __u32);
	__type(value, struct udp_slot);
} udp_fars SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* loader: up to EXT_MAX */
	__type(key, __u32);
	__type(value, struct ext_ring);
} ext_rings SEC(".maps");

/*
 * Allocated beforehand: states are made while a task is woken, under its lock, where an allocation
 * may deadlock. sched_process_free empties the places.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MIN); /* loader: by --memory */
	__type(key, __u64); /* the task's address */
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CULPRIT_MAX);
	__type(key, __u32); /* pid (thread) */
	__type(value, struct culprit);
} culprits SEC(".maps");

/* --by; the loader makes them larger than 1 if it is asked for */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* loader: GROUP_SETS */
	__type(key, __u32);
	__type(value, struct group_set);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* loader: row_sets */
	__type(key, __u32);
	__type(value, struct row_set);
} row_keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* loader: row_sets x ROW_WAYS */
	__type(key, __u32);
	__type(value, struct stage_row);
} group_rows SEC(".maps");

/* ---- settings, fixed before loading: the verifier prunes what is switched off ---- */

const volatile __u32 slots = ~0U;           /* enum row_slot bits that are recorded */
const volatile __u32 origin_asked = ROW_ORIGINS; /* enum row_origin; ROW_ORIGINS = by packet */
const volatile __u32 filter_port = 0;       /* local port, 0 = all */
const volatile __u32 filter_netns = 0;      /* inode, 0 = all */
const volatile __u64 filter_cgroup = 0;     /* id in cgroup2, 0 = all; with those below it */
const volatile __u32 filter_level = 0;      /* how deep that is */
const volatile __u32 filter_sock = 0;       /* one of them: a read less for most */
const volatile __u32 filter_tgid = 0;       /* 0 = all; rows are then recorded at `read` */
const volatile __u64 filter_ifname[2] = {}; /* 0 = all */
const volatile __u64 ifname_mask[2] = {};   /* the name's bytes, with the NUL that ends it */
const volatile __u32 drop_not_yet = ~0U;    /* this kernel's SKB_NOT_DROPPED_YET: no drop */
const volatile __u32 drop_consumed = ~0U;   /* ... SKB_CONSUMED (since 6.2): no drop, either */
const volatile __u32 drop_unspecified = ~0U; /* ... SKB_DROP_REASON_NOT_SPECIFIED */
const volatile __u32 drop_cpu_backlog = ~0U; /* this kernel's SKB_DROP_REASON_CPU_BACKLOG */
const volatile __u32 transport_udp = 1;     /* a hook is bound there */
const volatile __u32 transport_tcp = 1;     /* the same, if TCP's `transport` is asked for */
const volatile __u32 read_tcp = 1, read_udp = 1; /* there, too: the FIFOs are kept for it */
const volatile __u32 udp_far_slots = UDP_FAR_MIN; /* in udp_fars */
const volatile __u32 sockets_end = 1;       /* tcp_destroy_sock is bound */
const volatile __u32 tasks_end = 1;         /* sched_process_free is */
const volatile __u32 ext_limit = 1;         /* rings in ext_rings */
const volatile __u32 fast_path = FAST_PATH_NONE;     /* enum fast_path */
const volatile __u32 recording = 0;           /* a recording: each message is; slower_than is 1 */
const volatile __u64 slow_too = 0;          /* ... and what --slower-than asks for; or 0 */
const volatile __u64 slower_than = 0;       /* ns from which a message is told of; 0 = none */
const volatile __u32 hol = HOL_EXCLUDE;     /* enum hol */
const volatile __u32 function_arg = 0;      /* --probe: which one is the packet */
const volatile __u32 by = 0;                /* 1 << enum group_key of those asked for */
const volatile __u32 trait_mask[TRAIT_FIELDS] = {}, trait_shift[TRAIT_FIELDS] = {};
const volatile __u32 row_sets = 1;
const volatile __u32 uses_link_traits = 0;        /* link_traits[] is used */
const volatile __u32 keep_times = 1;          /* queues hold all of a packet's way */
const volatile __u32 sampling = 0;          /* not every packet is measured: sample_below */
const volatile __u32 can_cast = 0;          /* the kernel has bpf_rdonly_cast() */
const volatile __u32 uncovered = 0;         /* what no stage covers is counted */
const volatile __u32 min_queue = 0;         /* packets that wait, for one to be measured */
const volatile __u32 send_udp = 0;          /* hooks see UDP's send calls */
const volatile __u32 read_announced = 1;    /* sock_recv_length (or its stand-in) closes a read */

const volatile __u16 short_cells[SHORT_ENTRIES] = {};
const volatile __u8 shorter_cells[SHORT_MIN] = {}; /* each value's */

/* ---- shared with the running loader ---- */

__s64 realtime_offset; /* realtime - monotonic */
__s64 tai_offset;     /* TAI - realtime */
__u64 measured_since; /* --probe: what was received before doesn't count */
__u32 groups_freed; /* how often places of groups were */
__u32 sample_below = ~0U; /* the share of packets that is measured, of 2^32 - 1 */
__u64 ext_used; /* bit per borrowed ring */
/* The self-test's sockets and its process pass the filters while it runs; else nobody's. */
__u32 test_port; /* NO_TEST_PORT from before loading on */
__u32 test_tgid;

/* Not maps: the address of an entry is then known to the programs, without a lookup. */
struct link_entry link_table[LINK_SETS * 2];
__u64 link_traits[LINK_SETS *
		  2]; /* of each entry: --by: packet_traits_of(); --probe: its namespace */
__u32 tx_groups[TX_SETS * 2];   /* ... and the group of each packet on its way out */
struct tcp_entry tcp_table[TCP_TABLE];
struct task_entry task_table[TASK_TABLE];
struct task_state task_fresh; /* never written: what a new state holds */

#endif
