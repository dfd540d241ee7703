/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Marks fired by the application (record --boundary mark). Their records go to the ring of reads,
 * so that a thread's marks and reads are in order; user space joins them
 * (src/probe/packet/marks.h).
 *
 * Uprobe programs can be preempted, and another thread may run the same program on the same CPU
 * meanwhile: the kernel prevents that for other tracing programs, not for these. So these programs
 * keep no data per CPU. That includes the stack: since 6.13 a function whose frame has 64 bytes or
 * more gets a stack per CPU (BPF_PRIV_STACK_MIN_SIZE), so meson.build forbids such frames.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Registers of user space as the kernel lays them out: the context of these programs. */
#ifdef __TARGET_ARCH_x86
#include <asm/ptrace.h>
#else
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
};
#endif

/* A file may have a mark at many places, each with its own arguments. */
#define BPF_USDT_MAX_SPEC_CNT 1024
#include <bpf/usdt.bpf.h>

#include <bpf/bpf_core_read.h>

#include "bpf/abi_record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct task_struct___mark {
	__u64 start_time;
} __attribute__((preserve_access_index));

/* Ring of message records, shared with bpf/watch.bpf.c; the loader passes it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} msg_ringbuf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} watch_counts SEC(".maps");

const volatile __u32 lost_at = 0; /* byte offset in watch_counts of msg_lost, the lost records */

static __always_inline int mark_report(struct pt_regs *ctx, bool end)
{
	__u64 now = bpf_ktime_get_ns(), caller = bpf_get_current_pid_tgid();
	struct task_struct___mark *task = (void *)bpf_get_current_task();
	__u32 first = 0;
	void *counts = bpf_map_lookup_elem(&watch_counts, &first);
	struct msg_mark *m;
	long id = 0;
	bool has_id;

	if (!counts)
		return 0;
	has_id = !bpf_usdt_arg(ctx, 0, &id);
	m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add((__u64 *)(counts + lost_at), 1);
		return 0;
	}
	m->type = MSG_TYPE_MARK;
	m->core = bpf_get_smp_processor_id();
	m->end = end;
	m->has_id = has_id;
	m->time = now;
	m->id = id;
	m->born = BPF_CORE_READ(task, start_time);
	m->lost = *(volatile __u64 *)(counts + lost_at);
	m->pid = caller >> 32;
	m->tid = caller;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("usdt")
int mark_begins(struct pt_regs *ctx)
{
	return mark_report(ctx, false);
}

SEC("usdt")
int mark_ends(struct pt_regs *ctx)
{
	return mark_report(ctx, true);
}
