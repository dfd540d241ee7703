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

void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak; /* if `can_cast` */

/* Entries of arrays marked "loader" are set there from the number of CPUs and --memory. */
/* Data that a CPU writes: one look-up per program finds its counters and rows. */
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

/* Slots for all UDP sockets whose own storage is full: bpf/udp_slots.bpf.h. */
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
 * Preallocated: a state is made while its task is woken, under a run queue's lock, where an
 * allocation may deadlock. sched_process_free frees entries.
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

/* Groups (--by); without it these maps have one entry. */
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

const volatile __u32 slots = ~0U;           /* selected slots, a bit per enum row_slot */
/* enum row_origin; ROW_ORIGINS = decided per packet */
const volatile __u32 origin_option = ROW_ORIGINS;
const volatile __u32 filter_port = 0;       /* local port, 0 = all */
const volatile __u32 filter_netns = 0;      /* inode, 0 = all */
const volatile __u64 filter_cgroup = 0;     /* id in cgroup2, 0 = all; with those below it */
const volatile __u32 filter_level = 0;      /* depth of that cgroup */
/* a filter of sockets is set: one test for most programs */
const volatile __u32 filter_sock = 0;
const volatile __u32 filter_tgid = 0;       /* 0 = all; with it, rows are recorded at `read` */
const volatile __u64 filter_ifname[2] = {}; /* 0 = all */
const volatile __u64 ifname_mask[2] = {};   /* mask of the name's bytes, with its NUL */
const volatile __u32 drop_not_yet = ~0U;    /* this kernel's SKB_NOT_DROPPED_YET: no drop */
/* this kernel's SKB_CONSUMED (since 6.2): no drop, either */
const volatile __u32 drop_consumed = ~0U;
const volatile __u32 drop_unspecified = ~0U; /* this kernel's SKB_DROP_REASON_NOT_SPECIFIED */
const volatile __u32 drop_cpu_backlog = ~0U; /* this kernel's SKB_DROP_REASON_CPU_BACKLOG */
const volatile __u32 transport_udp = 1;     /* UDP's `transport` has a hook */
const volatile __u32 transport_tcp = 1;     /* TCP's `transport` has a hook and is selected */
const volatile __u32 read_tcp = 1, read_udp = 1; /* `read` has a hook, and FIFOs are kept for it */
const volatile __u32 udp_far_slots = UDP_FAR_MIN; /* entries of udp_fars */
const volatile __u32 sockets_end = 1;       /* a program at tcp_destroy_sock is attached */
const volatile __u32 tasks_end = 1;         /* a program at sched_process_free is attached */
const volatile __u32 ext_limit = 1;         /* entries of ext_rings */
const volatile __u32 fast_path = FAST_PATH_NONE;     /* enum fast_path */
/* record: each message is reported; slower_than is 1 */
const volatile __u32 recording = 0;
const volatile __u64 slow_too = 0;          /* record: the limit of --slower-than; or 0 */
const volatile __u64 slower_than = 0;       /* ns from which a message is reported; 0 = none */
const volatile __u32 hol = HOL_EXCLUDE;     /* enum hol */
const volatile __u32 function_arg = 0;      /* --probe: index of the packet's argument */
const volatile __u32 by = 0;                /* --by: a bit per enum group_key */
const volatile __u32 trait_mask[TRAIT_FIELDS] = {}, trait_shift[TRAIT_FIELDS] = {};
const volatile __u32 row_sets = 1;
const volatile __u32 uses_link_traits = 0;        /* link_traits[] is used */
const volatile __u32 keep_times = 1;          /* queues keep all times of a packet */
const volatile __u32 sampling = 0;          /* only packets below sample_below are measured */
const volatile __u32 can_cast = 0;          /* the kernel has bpf_rdonly_cast() */
const volatile __u32 uncovered = 0;         /* packets that no stage covers are counted */
/* --min-queue: unread packets needed for a packet to be measured; 0 = off */
const volatile __u32 min_queue = 0;
const volatile __u32 send_udp = 0;          /* hooks see UDP's send calls */
/* a hook at the end of receive calls ends a read (sock_recv_length, or its stand-in) */
const volatile __u32 read_announced = 1;

const volatile __u16 short_cells[SHORT_ENTRIES] = {};
const volatile __u8 shorter_cells[SHORT_MIN] = {}; /* cell of each value */

/* ---- shared with the running loader ---- */

__s64 realtime_offset; /* realtime - monotonic, ns */
__s64 tai_offset;     /* TAI - realtime, ns */
__u64 measured_since; /* --probe: packets received before do not count */
__u32 groups_freed; /* number of times that groups were freed */
__u32 sample_below = ~0U; /* share of packets that is measured, of 2^32 - 1 */
__u64 ext_used; /* a bit per borrowed ring */
/* The self-test's port and process pass the filters while it runs. */
__u32 test_port; /* NO_TEST_PORT until the self-test and after it */
__u32 test_tgid;

/* Global variables instead of maps: programs know an entry's address without a look-up. */
struct link_entry link_table[LINK_SETS * 2];
__u64 link_traits[LINK_SETS *
		  /*
		   * per entry of link_table: packet_traits_of() with --by; the namespace with
		   * --probe
		   */
		  2];
__u32 tx_groups[TX_SETS * 2];   /* group of each packet being sent */
struct tcp_entry tcp_table[TCP_TABLE];
struct task_entry task_table[TASK_TABLE];
struct task_state task_fresh; /* never written: initial value of a state */

#endif
