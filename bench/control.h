/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The control: what the best published tool of the kind (netstacklat) does for one sample, written
 * from its paper's and documentation's description. Its cost, measured in the same run, is what
 * ours is compared with, so that a busy or slow machine changes neither verdict.
 *
 * One sample: a read of the TAI clock, the age of the kernel's receive stamp, the check of the
 * network namespace by a chain of safe reads, a base-2 logarithm by a loop, and two updates of a
 * per-CPU hash with a key of 16 bytes: the bucket's count and the sum. A TCP read also asks
 * whether the connection has seen reordering, in which case its samples are dropped.
 */
#ifndef HOSTLAT_BENCH_CONTROL_H
#define HOSTLAT_BENCH_CONTROL_H

#include "bpf/kernel/types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CONTROL_BUCKETS 35 /* the last one is for everything above */
#define CONTROL_SUM     35 /* the "bucket" that holds the sum */

enum control_hook {
	CONTROL_IP,
	CONTROL_TRANSPORT,
	CONTROL_ENQUEUED,
	CONTROL_READ,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock___control {
	int sk_rx_dst_ifindex;
};

struct tcp_sock___control {
	__u32 rcv_ooopack;
};

/* Until 6.x; later kernels have plain nanoseconds there. */
struct scm_timestamping_internal {
	struct {
		__s64 tv_sec;
		long tv_nsec;
	} ts[3];
};
#pragma clang attribute pop

struct control_key {
	__u64 cgroup;
	__u32 ifindex;
	__u16 hook;
	__u16 bucket;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct control_key);
	__type(value, __u64);
} control_histogram SEC(".maps");

/* State that a connection's reordering left behind; never touched while there is none. */
struct control_reordering {
	__u32 packets, end;
	__u32 active;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct control_reordering);
} control_sockets SEC(".maps");

/* As it is by default: one namespace, no grouping, samples behind a lost packet left out. */
const volatile __u32 control_netns = 0;
const volatile __s64 control_tai_offset = 0;
const volatile __u32 control_by_iface = 0;
const volatile __u32 control_by_cgroup = 0;
const volatile __u32 control_leave_out_reordered = 1;

static __always_inline void control_add(const struct control_key *key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&control_histogram, key), zero = 0;

	if (!value) {
		bpf_map_update_elem(&control_histogram, key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&control_histogram, key);
		if (!value)
			return;
	}
	*value += n;
}

/* Smallest b with v <= 2^b. */
static __always_inline __u32 control_log2(__u64 v)
{
	__u32 bits = 0;

	v--;
#pragma clang loop unroll(disable)
	while (bits < CONTROL_BUCKETS - 1 && v) {
		v >>= 1;
		bits++;
	}
	return bits;
}

static __always_inline void control_record(enum control_hook hook, __u64 stamp, __u32 ifindex)
{
	struct control_key key = { .hook = hook };
	__u64 now = bpf_ktime_get_tai_ns() - control_tai_offset;

	if (!stamp || stamp >= now)
		return;
	if (control_by_iface)
		key.ifindex = ifindex;
	if (control_by_cgroup)
		key.cgroup = bpf_get_current_cgroup_id();
	key.bucket = control_log2(now - stamp);
	control_add(&key, 1);
	key.bucket = CONTROL_SUM;
	control_add(&key, now - stamp);
}

static __always_inline bool control_selected(const struct net *net)
{
	return !control_netns || net->ns.inum == control_netns;
}

static __always_inline bool control_foreign_clock(struct sk_buff *skb)
{
	if (bpf_core_field_exists(skb->tstamp_type))
		return BPF_CORE_READ_BITFIELD(skb, tstamp_type);
	if (bpf_core_field_exists(((struct sk_buff___mono *)0)->mono_delivery_time))
		return BPF_CORE_READ_BITFIELD((struct sk_buff___mono *)skb, mono_delivery_time);
	return false;
}

static __always_inline void control_packet(enum control_hook hook, struct sk_buff *skb)
{
	if (!control_selected(skb->dev->nd_net.net))
		return;
	if (control_foreign_clock(skb))
		return;
	control_record(hook, skb->tstamp, skb->skb_iif);
}

/* Where the packet has a socket and no device any more. */
static __always_inline void control_socket(enum control_hook hook, struct sock *sk,
					   struct sk_buff *skb)
{
	if (!control_selected(sk->__sk_common.skc_net.net))
		return;
	if (control_foreign_clock(skb))
		return;
	control_record(hook, skb->tstamp, skb->skb_iif);
}

/* False for data that may have waited behind a lost packet. */
static __always_inline bool control_in_order(struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct control_reordering *r;
	__u32 packets;

	if (!tp)
		return false;
	packets = ((struct tcp_sock___control *)tp)->rcv_ooopack;
	if (!packets)
		return true;
	r = bpf_sk_storage_get(&control_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!r)
		return false;
	if (r->packets != packets) {
		r->packets = packets;
		r->end = tp->rcv_nxt;
		r->active = 1;
		return false;
	}
	if (r->active && (__s32)(tp->copied_seq - r->end) > 0)
		r->active = 0;
	return !r->active;
}

static __always_inline void control_read(struct sock *sk, __u64 stamp)
{
	if (!control_selected(sk->__sk_common.skc_net.net))
		return;
	if (control_leave_out_reordered && !control_in_order(sk))
		return;
	control_record(CONTROL_READ, stamp,
		       ((struct sock___control *)sk)->sk_rx_dst_ifindex);
}

#endif
