/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Another user of sockops: it asks for round trips of the connections to one port, whichever of
 * the two programs comes first, and counts what it is told.
 */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 port = 0; /* the server's port, in host order */
__u64 round_trips = 0;

SEC("sockops")
int count_round_trips(struct bpf_sock_ops *ops)
{
	if (ops->local_port != port && bpf_ntohl(ops->remote_port) != port)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags |
					       BPF_SOCK_OPS_RTT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_RTT_CB:
		__sync_fetch_and_add(&round_trips, 1);
		break;
	}
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
