/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The bodies of the activity programs, many times in a row. User space says whose turn it is. */
#include "bpf/activity.bpf.c"
#include "bench/activity.h"

const volatile __u32 bench_pid = 0;
__u32 chain; /* enum activity_chain */
__u64 spent; /* ns of BENCH_LOOP turns; 0: not yet */

struct round {
	struct task_struct *task;
};

static long round_empty(__u32 i, struct round *r)
{
	asm volatile("" : "+r"(i)); /* else turns are merged */
	return 0;
}

static long round_softirq(__u32 i, struct round *r)
{
	____act_softirq(NULL, 3);
	return 0;
}

static long round_interrupt(__u32 i, struct round *r)
{
	____act_local_timer(NULL, 236);
	return 0;
}

static long round_idle(__u32 i, struct round *r)
{
	____act_idle(NULL, 1, 0);
	return 0;
}

static long round_syscall(__u32 i, struct round *r)
{
	____act_syscall(NULL, NULL, 45);
	return 0;
}

static long round_waking(__u32 i, struct round *r)
{
	____act_waking(NULL, r->task);
	return 0;
}

static long round_switch(__u32 i, struct round *r)
{
	____act_switch(NULL, false, r->task, r->task, 1);
	return 0;
}

#define TIME(name, body)                                                                           \
	case name:                                                                                 \
		start = bpf_ktime_get_ns();                                                        \
		bpf_loop(BENCH_LOOP, body, &r, 0);                                                 \
		end = bpf_ktime_get_ns();                                                          \
		break

SEC("tp_btf/sys_exit")
int BPF_PROG(bench_activity)
{
	struct round r = { .task = bpf_get_current_task_btf() };
	__u32 pid = bpf_get_current_pid_tgid();
	struct act_ring *ring = act_this_ring();
	__u64 start = 0, end = 0;

	if (pid != bench_pid || spent || !ring)
		return 0;
	ring->tail = ring->head; /* nobody else reads it */
	ring->task = pid;
	ring->reads = 1;
	switch (chain) {
	TIME(CHAIN_EMPTY, round_empty);
	TIME(CHAIN_SOFTIRQ, round_softirq);
	TIME(CHAIN_INTERRUPT, round_interrupt);
	TIME(CHAIN_IDLE, round_idle);
	TIME(CHAIN_SYSCALL, round_syscall);
	TIME(CHAIN_WAKING, round_waking);
	TIME(CHAIN_SWITCH, round_switch);
	}
	spent = end - start;
	return 0;
}
