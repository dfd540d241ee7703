/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Empty programs where a recording has its own: what the kernel's statistics take themselves. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define EMPTY(name, tracepoint)                                                                    \
	SEC("tp_btf/" tracepoint)                                                                  \
	int BPF_PROG(name)                                                                         \
	{                                                                                          \
		return 0;                                                                          \
	}

EMPTY(empty_switch, "sched_switch")
EMPTY(empty_waking, "sched_waking")
EMPTY(empty_vector, "call_function_single_entry")
EMPTY(empty_softirq, "softirq_entry")
EMPTY(empty_idle, "cpu_idle")
EMPTY(empty_syscall, "sys_enter")
EMPTY(empty_link, "netif_receive_skb")
EMPTY(empty_probe, "tcp_probe")
EMPTY(empty_read, "sock_recv_length")
EMPTY(empty_sent, "net_dev_start_xmit")
