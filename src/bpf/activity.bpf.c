/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Activity of each CPU for a recording: task switches, interrupts, softirqs, idle states, wakings;
 * system calls and page faults of tasks that read from sockets.
 *
 * Each CPU has a ring, which user space maps: an event is a clock read, an atomic addition and a
 * few stores. A full ring drops and counts events; user space then knows nothing of that CPU until
 * the next event.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi_record.h"
#include "event/layout.h"
#include "bpf/kernel/types.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct act_ring);
} rings SEC(".maps");

struct act_names names[NAME_SETS];

/* State of a task that reads from sockets, made at the task's first read. */
struct act_task {
	__u32 reads; /* 1: system calls and faults of the task are recorded */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct act_task);
} act_tasks SEC(".maps");

/* --pid: system calls and faults are recorded for this process only; 0: for all readers */
const volatile __u32 filter_tgid = 0;

static __always_inline struct act_ring *act_this_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/*
 * Returns true if the ring has a free entry. User space writes the cache line of `tail`, so `tail`
 * is read once per round of the ring.
 */
static __always_inline bool act_has_room(struct act_ring *r)
{
	if (likely((__s64)(r->room - r->head) > 0))
		return true;
	/* may replace an interrupt's higher value: harmless, `tail` is then read again sooner */
	r->room = r->tail + ACT_RING - ACT_SPARE;
	return (__s64)(r->room - r->head) > 0;
}

static __always_inline struct act *act_claim(struct act_ring *r, __u32 *lost)
{
	__u64 at;

	*lost = r->lost;
	if (unlikely(!act_has_room(r))) {
		__sync_fetch_and_add(&r->lost, 1);
		return NULL;
	}
	/* an interrupt may claim an entry at the same time */
	at = __sync_fetch_and_add(&r->head, 1);
	return &r->at[at & (ACT_RING - 1)];
}

/* Marks an entry as complete by storing its type last. */
static __always_inline void act_publish(struct act *e, __u8 type)
{
#ifdef __TARGET_ARCH_x86
	barrier();
	*(volatile __u8 *)&e->type = type;
#else /* not x86: the CPU may reorder plain stores */
	__sync_fetch_and_add((__u64 *)&e->a, (__u64)type << 48);
#endif
}

/* Adds an event to the ring. `b` is the task on the CPU; ACT_SWITCH: the next task. */
static __always_inline void act_put_in(struct act_ring *r, __u8 type, __u16 arg, __u32 a, __u32 b)
{
	__u32 lost = 0;
	struct act *e = act_claim(r, &lost);

	if (!e)
		return;
	e->time = bpf_ktime_get_ns();
	e->a = a;
	e->arg = arg;
	e->b = b;
	e->lost = lost;
	act_publish(e, type);
}

static __always_inline void act_put(__u8 type, __u16 arg, __u32 a)
{
	struct act_ring *r = act_this_ring();

	if (r)
		act_put_in(r, type, arg, a, bpf_get_current_pid_tgid());
}

/*
 * Returns the id of the task's cgroup in the default hierarchy; 0: unknown, also if it has more
 * than 48 bits. A task that has ended still has its cgroup.
 */
static __always_inline __u64 act_cgroup(const struct task_struct *task)
{
	__u64 id;

	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	return id >> 48 ? 0 : id;
}

/* Adds a task's name and cgroup to the ring. Returns false if the ring is full. */
static __always_inline bool act_put_name(struct act_ring *r, const struct act_name *n,
					 const struct task_struct *task)
{
	__u64 cgroup = act_cgroup(task);
	__u32 lost = 0;
	struct act *e = act_claim(r, &lost);

	if (!e)
		return false;
	e->tgid = n->id >> 32;
	e->cgroup = cgroup;
	e->a = n->id;
	e->arg = cgroup >> 32;
	((__u64 *)e->comm)[0] = n->comm[0];
	((__u64 *)e->comm)[1] = n->comm[1];
	act_publish(e, ACT_NAME);
	return true;
}

static __always_inline bool act_same_name(const struct act_name *a, const struct act_name *b)
{
	return a->id == b->id && a->started == b->started && a->comm[0] == b->comm[0] &&
	       a->comm[1] == b->comm[1] && a->cgroups == b->cgroups;
}

static __noinline int act_report_name(struct act_ring *r, const struct act_name *n,
				      struct act_names *s, const struct task_struct *task)
{
	if (!r || !n || !s)
		return 0;
	if (act_same_name(n, &s->at[1])) {
		s->at[1] = s->at[0];
		s->at[0] = *n;
	} else if (act_put_name(r, n, task)) {
		if (s->at[0].id != n->id)
			s->at[1] = s->at[0];
		s->at[0] = *n;
	}
	return 0;
}

static __always_inline void act_name_task(struct act_ring *r, const struct task_struct *task)
{
	const __u64 *comm = (const __u64 *)task->comm;
	struct act_name n = {
		.id = (__u64)task->tgid << 32 | (__u32)task->pid, .started = task->start_time,
		.comm = { comm[0], comm[1] },
		.cgroups = bpf_core_field_exists(task->cgroups) ? (__u64)task->cgroups : 0,
	};
	__u32 at = (__u32)task->pid * 0x9e3779b1U >> (32 - NAME_SETS_LOG2);

	if (unlikely(!act_same_name(&n, &names[at].at[0])))
		act_report_name(r, &n, &names[at], task);
}

#define ACT_DEAD 0x80 /* TASK_DEAD, include/linux/sched.h: the task has ended */

SEC("tp_btf/sched_switch")
int BPF_PROG(act_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u16 arg = prev_state & (ACT_PREEMPTED - 1);
	struct act_ring *r = act_this_ring();
	struct act_task *t = NULL;

	if (!r)
		return 0;
	if (next->pid) {
		t = bpf_task_storage_get(&act_tasks, next, NULL, 0);
		act_name_task(r, next);
	}
	/* A short process may end in the stretch in which exec gave it its name. */
	if (unlikely(prev_state & ACT_DEAD))
		act_name_task(r, prev);
	r->task = next->pid;
	r->reads = t && t->reads;
	if (preempt)
		arg |= ACT_PREEMPTED;
	if (arg && BPF_CORE_READ_BITFIELD(prev, in_iowait))
		arg |= ACT_IOWAIT;
	act_put_in(r, ACT_SWITCH, arg, prev->pid, next->pid);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(act_waking, struct task_struct *task)
{
	act_put(ACT_WAKE, task->wake_cpu, task->pid);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(act_irq, int irq)
{
	act_put(ACT_IRQ, 0, irq);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(act_irq_end, int irq)
{
	act_put(ACT_IRQ_END, 0, irq);
	return 0;
}

#define VECTOR(name, number)                                                                       \
	SEC("tp_btf/" #name "_entry")                                                              \
	int BPF_PROG(act_##name, int vector)                                                       \
	{                                                                                          \
		act_put(ACT_VECTOR, 0, number);                                                    \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" #name "_exit")                                                               \
	int BPF_PROG(act_##name##_end, int vector)                                                 \
	{                                                                                          \
		act_put(ACT_VECTOR_END, 0, number);                                                \
		return 0;                                                                          \
	}

VECTOR(local_timer, VECTOR_TIMER)
VECTOR(reschedule, VECTOR_RESCHEDULE)
VECTOR(call_function, VECTOR_CALL)
VECTOR(call_function_single, VECTOR_CALL_SINGLE)
VECTOR(irq_work, VECTOR_IRQ_WORK)

SEC("tp_btf/softirq_entry")
int BPF_PROG(act_softirq, unsigned int vector)
{
	act_put(ACT_SOFTIRQ, 0, vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(act_softirq_end, unsigned int vector)
{
	act_put(ACT_SOFTIRQ_END, 0, vector);
	return 0;
}

/* include/trace/events/power.h: the CPU leaves the idle state */
#define PWR_EVENT_EXIT (~0U)

SEC("tp_btf/cpu_idle")
int BPF_PROG(act_idle, unsigned int state, unsigned int cpu)
{
	act_put(state == PWR_EVENT_EXIT ? ACT_IDLE_END : ACT_IDLE, 0, state);
	return 0;
}

/* ---- system calls and faults of readers ---- */

/* Returns true if the current task is a reader; used if the switch to the task was not seen. */
static __noinline bool act_unseen_reads(void)
{
	struct act_task *t = bpf_task_storage_get(&act_tasks, bpf_get_current_task_btf(), NULL, 0);

	return t && t->reads;
}

static __always_inline bool act_is_followed(const struct act_ring *r, __u64 id)
{
	if (filter_tgid)
		return id >> 32 == filter_tgid;
	return likely(r->task == (__u32)id) ? r->reads : act_unseen_reads();
}

static __always_inline void act_put_call(__u8 type, __u32 a)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct act_ring *r = act_this_ring();

	if (r && act_is_followed(r, id))
		act_put_in(r, type, 0, a, id);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(act_syscall, struct pt_regs *regs, long id)
{
	act_put_call(ACT_SYSCALL, id);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(act_syscall_end, struct pt_regs *regs, long ret)
{
	act_put_call(ACT_SYSCALL_END, 0);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(act_fault)
{
	act_put_call(ACT_FAULT, 0);
	return 0;
}

static __always_inline int act_note_reader(void)
{
	__u32 pid = bpf_get_current_pid_tgid();
	struct act_ring *r = act_this_ring();
	struct act_task *t;

	if (filter_tgid || !r || likely(r->task == pid && r->reads))
		return 0;
	t = bpf_task_storage_get(&act_tasks, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->reads = 1;
	if (r->task == pid)
		r->reads = 1;
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(act_reads)
{
	return act_note_reader();
}

/* Handles reads from TCP on kernels without the tracepoint sock_recv_length. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(act_reads_tcp)
{
	return act_note_reader();
}

/* Handles the begin of a read from UDP on kernels without the tracepoint sock_recv_length. */
SEC("fentry/udp_recvmsg")
int BPF_PROG(act_reads_udp)
{
	return act_note_reader();
}

SEC("fentry/udpv6_recvmsg")
int BPF_PROG(act_reads_udp6)
{
	return act_note_reader();
}
