/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* fentry at the entry of TCP, with one field read by CO-RE: proof that both work on this kernel. */
#include "bpf/kernel/types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual BSD/GPL";

__u64 packets;
__u64 bytes;

SEC("fentry/tcp_v4_rcv")
int BPF_PROG(on_tcp_v4_rcv, struct sk_buff *skb)
{
	__sync_fetch_and_add(&packets, 1);
	__sync_fetch_and_add(&bytes, skb->len);
	return 0;
}
