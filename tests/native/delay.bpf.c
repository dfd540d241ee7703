/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Spins for a known time at one tracepoint of the receive path, for the test's packets only.
 * Attached after hostlat's own programs it runs after them, so it lengthens exactly the step from
 * that tracepoint's stage to the next one.
 */
#include "bpf/kernel/types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SPINS_MAX (1 << 22)

const volatile __u64 spin_ns;
const volatile __u32 port;  /* local port of the reader's socket */
const volatile int tgid;    /* the reader's process ID */
const volatile __u32 netns; /* inode of the reader's namespace */
const volatile __u32 only;  /* this packet alone is delayed; 1 is the first, 0: each is */
const volatile __u32 min_len; /* at `link`: shorter packets carry no payload */

__u64 delays, spent_ns;
__u32 seen;

static long until(__u64 i, __u64 *end)
{
	return bpf_ktime_get_ns() >= *end;
}

static void delay(void)
{
	__u64 start = bpf_ktime_get_ns(), end = start + spin_ns;

	if (only && __sync_fetch_and_add(&seen, 1) + 1 != only)
		return;
	bpf_loop(SPINS_MAX, until, &end, 0);
	__sync_fetch_and_add(&delays, 1);
	__sync_fetch_and_add(&spent_ns, bpf_ktime_get_ns() - start);
}

/* Receiving is asked for by this process: a sender over loopback. */
SEC("tp_btf/softirq_raise")
int BPF_PROG(at_raise, unsigned int vec)
{
	if (vec == 3 && bpf_get_current_pid_tgid() >> 32 == (__u64)tgid)
		delay();
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(at_link, struct sk_buff *skb)
{
	if (skb->dev->nd_net.net->ns.inum == netns && skb->len >= min_len)
		delay();
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(at_socket, struct sock *sk, struct sk_buff *skb)
{
	if (sk->__sk_common.skc_num == port)
		delay();
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(at_enqueued, struct sock *sk)
{
	if (sk->__sk_common.skc_num == port)
		delay();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(at_runnable, struct task_struct *task)
{
	if (task->tgid == tgid)
		delay();
	return 0;
}

/* Once per waking, also if the reader is preempted afterwards. */
int woken;

SEC("tp_btf/sched_waking")
int BPF_PROG(at_running_woken, struct task_struct *task)
{
	if (task->tgid == tgid)
		woken = 1;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_running, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->tgid == tgid && woken) {
		woken = 0;
		delay();
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
