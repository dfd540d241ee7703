/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Counts the IP packets that each network namespace receives, at the tracepoint that most of
 * hostlat's programs depend on. A test compares this count with the kernel's own counters: where
 * the kernel counted a packet and this program did not run, hostlat's programs did not run either.
 */
#include <linux/bpf.h>
#include "bpf/kernel/types.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define NAMESPACES_MAX 1024

struct net___cookie {
	__u64 net_cookie;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NAMESPACES_MAX);
	__type(key, __u64); /* the namespace's cookie */
	__type(value, __u64);
} packets SEC(".maps");

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(count_packet, struct sk_buff *skb)
{
	__u64 cookie, zero = 0, *count;

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return 0;
	cookie = ((struct net___cookie *)skb->dev->nd_net.net)->net_cookie;
	count = bpf_map_lookup_elem(&packets, &cookie);
	if (!count) {
		bpf_map_update_elem(&packets, &cookie, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&packets, &cookie);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
