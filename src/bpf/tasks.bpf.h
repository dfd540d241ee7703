/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Readers: whether a packet woke them, whether they waited for a CPU, and which task had that CPU.
 *
 * sk_data_ready() of a packet wakes the waiting readers in the same call chain on the same CPU: a
 * sched_waking that follows at once is its effect. The wakeup is stored with the task, and used
 * when that task reads the packet: only then is the packet's reader known.
 */
#ifndef HOSTLAT_BPF_TASKS_H
#define HOSTLAT_BPF_TASKS_H

#include "bpf/abi.h"
#include "bpf/group.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/slow.bpf.h"
#include "event/layout.h"

/*
 * Maximum time in ns from sk_data_ready() to a wakeup that it caused. A task switch, the next
 * packet or a timer interrupt on the CPU clears `announced` earlier: the call chain of
 * sk_data_ready() has ended, or the wakeup has another reason.
 */
#define ANNOUNCE_WINDOW 1000000ULL

/* cpu_state.announced after sk_data_ready() of an unsampled packet: no time was taken */
#define ANNOUNCED_UNTIMED 1

/* Notes sk_data_ready() of an unsampled packet, which wakes its reader all the same. */
static __always_inline void wake_expect_untimed(void)
{
	struct cpu_state *c;

	if (!slot_selected(SLOT_RUNNABLE) && !slot_selected(SLOT_RUNNING))
		return;
	c = this_cpu();
	if (c)
		c->announced = ANNOUNCED_UNTIMED;
}

static __always_inline struct task_entry *task_entry(const void *t)
{
	__u32 low = (__u64)t; /* the verifier forbids shifting a whole pointer */

	return &task_table[low * 0x9e3779b1U >> (32 - TASK_TABLE_LOG2)];
}

static __noinline struct task_state *task_get_slow(struct task_struct *t, struct task_entry *e,
						   __u32 make)
{
	__u64 owner = e->task, key = (__u64)t;
	struct task_state *s = bpf_map_lookup_elem(&tasks, &key);

	if (s || !make)
		return s;
	if (tasks_end && owner <= TASK_GONE &&
	    __sync_val_compare_and_swap(&e->task, owner, (__u64)t) == owner)
		return &e->s;
	if (e->task == (__u64)t) /* another CPU has claimed the entry for this task */
		return &e->s;
	bpf_map_update_elem(&tasks, &key, &task_fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&tasks, &key);
}

enum task_make { TASK_FIND, TASK_MAKE };

/* Returns a task's state, made with TASK_MAKE; NULL: there is no state, or no free entry. */
static __always_inline struct task_state *task_get(struct task_struct *t, enum task_make make)
{
	struct task_entry *e = task_entry(t);

	if (likely(e->task == (__u64)t))
		return &e->s;
	/* a never used entry has had no collision that moved the state of `t` to the map `tasks` */
	if (tasks_end && !e->task && !make)
		return NULL;
	return task_get_slow(t, e, make);
}

/* Returns `group` or, with --by comm, the group with its traits and the current task's name. */
static __always_inline __u32 group_of_reader(struct task_state *t, __u32 group)
{
	const __u64 *comm;

	if (likely(!group) || !BY(GROUP_COMM))
		return group;
	comm = (const __u64 *)bpf_get_current_task_btf()->comm;
	if (likely(t->read_of == group && t->comm[0] == comm[0] && t->comm[1] == comm[1] &&
		   t->freed == groups_freed))
		return t->read_group;
	t->read_of = group;
	t->freed = groups_freed;
	t->comm[0] = comm[0];
	t->comm[1] = comm[1];
	t->read_group = group_read(group, t->comm);
	return t->read_group;
}

/*
 * Counts packets of a read that never ended: the task took the packets without a receive call (for
 * example TCP_ZEROCOPY_RECEIVE).
 */
static __noinline int read_abandon(struct task_state *t)
{
	struct cpu_state *c = this_cpu();

	if (c && t && t->n)
		count_loss(c, SLOT_READ, LOSS_UNSUPPORTED_SPLICE, ROW_TCP, t->n);
	if (t)
		t->n = 0;
	return 0;
}

/* Clears the state of a task that ends: its address may become another task's. */
static __always_inline void task_end(struct task_struct *t)
{
	struct task_entry *e = task_entry(t);
	__u64 key = (__u64)t;
	struct task_state *s;

	if (e->task != key) {
		s = bpf_map_lookup_elem(&tasks, &key);
		if (!s)
			return;
		read_abandon(s);
		bpf_map_delete_elem(&tasks, &key);
		return;
	}
	read_abandon(&e->s);
	e->s.runnable_since = e->s.stopped_since = 0;
	e->s.net_wake = e->s.net_run = 0;
	e->s.net = e->s.waits = 0;
	e->s.n = 0;
	e->s.since = 0;
	e->s.read_of = 0;
	e->task = TASK_GONE;
}

static __always_inline bool reader_selected(void)
{
	__u32 tgid;

	if (!filter_tgid)
		return true;
	tgid = bpf_get_current_task_btf()->tgid;
	return tgid == filter_tgid || tgid == test_tgid;
}

/* Finds a wait's culprit: of the last tasks on this CPU, the one that had the CPU longest. */
static __always_inline void wait_find_culprit(struct cpu_state *c, struct wait *w)
{
	__u64 end = w->end, best = 0;
	__u32 i, n = c->switches;

	for (i = 0; i < WAIT_RING; i++) {
		struct cpu_switch *s = &c->ring[(n - 1 - i) & (SWITCH_RING - 1)];
		__u64 from = s->since > w->start ? s->since : w->start;

		if (i >= n || end <= w->start)
			break;
		if (end - from > best) {
			best = end - from;
			w->pid = s->pid;
			w->tgid = s->tgid;
			__builtin_memcpy(w->comm, s->comm, sizeof(w->comm));
		}
		end = from;
	}
}

static __always_inline void task_runs(struct cpu_state *c, struct task_state *t, __u64 now)
{
	struct wait *w;

	if (!t->runnable_since)
		return;
	w = &t->wait[t->waits & (WAIT_RING - 1)];
	w->start = t->runnable_since;
	w->end = now;
	w->pid = w->tgid = 0;
	w->blamed = now;
	wait_find_culprit(c, w);
	t->waits++;
	t->runnable_since = 0;
	if (t->net) {
		t->net = 0;
		t->net_run = now;
	}
}

/*
 * Ends a stop, after SIGCONT or a tracer's release: the stopped time counts neither as a wait for a
 * CPU nor as the task's own time.
 */
static __always_inline void task_continued(struct task_state *t, __u64 now)
{
	struct wait *w = &t->wait[t->waits & (WAIT_RING - 1)];

	w->start = t->stopped_since;
	w->end = now;
	w->blamed = WAIT_STOPPED;
	t->waits++;
	t->stopped_since = 0;
}

static __always_inline void cpu_note_switch(struct cpu_state *c, struct task_struct *next,
					    __u64 now)
{
	struct cpu_switch *s = &c->ring[c->switches & (SWITCH_RING - 1)];

	s->since = now;
	s->pid = next->pid;
	s->tgid = next->tgid;
	bpf_probe_read_kernel(s->comm, sizeof(s->comm), next->comm);
	c->switches++;
}

/*
 * Charges the task that had the CPU with the part of a wait from `start` on that was not charged
 * before: a task that reads several sockets after one wait waited only once.
 */
static __always_inline void culprit_blame(struct cpu_state *c, struct wait *w, __u64 start,
					  __u32 proto)
{
	struct culprit *k, fresh = {};
	__u64 until = w->blamed;
	__u32 pid = w->pid; /* Linux 6.1 accepts map keys only on the stack or in a map */

	if (start >= until)
		return;
	w->blamed = start;
	k = bpf_map_lookup_elem(&culprits, &pid);
	if (!k) {
		fresh.tgid = w->tgid;
		__builtin_memcpy(fresh.comm, w->comm, sizeof(fresh.comm));
		bpf_map_update_elem(&culprits, &pid, &fresh, BPF_NOEXIST);
		k = bpf_map_lookup_elem(&culprits, &pid);
		if (!k) {
			count_loss(c, SLOT_CPU_WAIT, LOSS_CULPRITS_FULL, proto, 1);
			return;
		}
	}
	__sync_fetch_and_add(&k->ns, until - start);
	if (until == w->end)
		__sync_fetch_and_add(&k->count, 1);
}

struct waited {
	__u64 held;    /* ns while another task had the CPU */
	__u64 stopped; /* ns while the task was stopped */
};

/*
 * Returns the ns since `from` for which the task wanted a CPU; waited->held is part of it,
 * waited->stopped is not.
 */
GLOBAL_SUBPROG __u64 cpu_wait(struct cpu_state *c, struct task_state *t, __u64 from, __u32 proto,
			      struct waited *waited)
{
	__u64 sum = 0;
	__u32 i;

	barrier_var(proto);
	if (!c || !t || !waited || proto >= ROW_PROTOS)
		return 0;
	for (i = 0; i < WAIT_RING; i++) {
		struct wait *w = &t->wait[(t->waits - 1 - i) & (WAIT_RING - 1)];
		__u64 start = w->start > from ? w->start : from;

		if (i >= t->waits || w->end <= from)
			break;
		if (w->blamed == WAIT_STOPPED) {
			waited->stopped += w->end - start;
			continue;
		}
		sum += w->end - start;
		if (w->pid) {
			waited->held += w->end - start;
			culprit_blame(c, w, start, proto);
		}
	}
	return sum;
}

static __always_inline bool task_has_waited(const struct task_state *t, __u64 from)
{
	return t->waits && t->wait[(t->waits - 1) & (WAIT_RING - 1)].end > from;
}

static __always_inline bool task_was_woken_for(const struct task_state *t, const struct stamp *p)
{
	return t->net_run > p->enqueued;
}

/*
 * Records stages `runnable` and `running` of a packet whose reader is the task of `t`; the step of
 * the first of them begins at `before`.
 */
static __always_inline void record_woken(struct cpu_state *c, struct task_state *t,
					 const struct stamp *p, __u64 before, __u32 proto,
					 __u32 group)
{
	__u64 wake;

	if (!slot_selected(SLOT_RUNNABLE) && !slot_selected(SLOT_RUNNING))
		return;
	if (unlikely(!task_was_woken_for(t, p))) {
		c->count.excluded[EXCL_READER_RUNNING][proto]++;
		return;
	}
	/* the reader may have been waiting for a CPU already when the packet came */
	wake = t->net_wake > p->enqueued ? t->net_wake : p->enqueued;
	if (slot_selected(SLOT_RUNNABLE) && record_has_origin(c, p, SLOT_RUNNABLE, proto))
		record_stage(c, SLOT_RUNNABLE, proto, p->origin, group, wake - p->base,
			     wake - before, 1);
	if (slot_selected(SLOT_RUNNING) && record_has_origin(c, p, SLOT_RUNNING, proto))
		record_stage(c, SLOT_RUNNING, proto, p->origin, group, t->net_run - p->base,
			     t->net_run - (slot_selected(SLOT_RUNNABLE) ? wake : before), 1);
}

/* Adds the oldest packet's time in the socket to the sums by cause, for each of `n` packets. */
static __always_inline void record_share(struct cpu_state *c, struct task_state *t,
					 const struct stamp *p, __u32 proto, __u64 now, __u32 n)
{
	struct cpu_share *s = &c->share[proto];
	__u64 total = now - p->enqueued, wait = 0, wake = 0;
	struct waited waited = {};

	if ((__s64)total < 0)
		total = 0; /* the reader read the clock before sk_data_ready()'s program did */
	s->packets += n;
	if (unlikely(task_has_waited(t, p->enqueued))) {
		wait = cpu_wait(c, t, p->enqueued, proto, &waited);
		total = total > wait + waited.stopped ? total - wait - waited.stopped : 0;
		s->wait += wait * n;
		s->stopped += waited.stopped * n;
		if (waited.held)
			s->waited += n;
	}
	if (task_was_woken_for(t, p)) {
		if (t->net_wake > p->enqueued)
			wake = t->net_wake - p->enqueued;
		/* `wake` may include a wait for a CPU, which `total` no longer includes */
		if (wake > total)
			wake = total;
		s->wake += wake * n;
		s->run += (total - wake) * n;
	} else {
		s->busy += total * n;
	}
	record_latency(c, SLOT_CPU_WAIT, proto, ROW_LINK, 0, waited.held, n);
}

/* --pid: records a packet's stages up to `enqueued` at its read: only then is the reader known. */
static __always_inline void record_passed_stages(struct cpu_state *c, const struct queued *q,
						 __u32 proto)
{
	struct packet p = { .s = q->s, .link_ns = q->link_ns };

	p.link = q->s.enqueued - q->link;
	p.ip = q->ip ? q->s.enqueued - q->ip : 0;
	p.transport = q->transport ? q->s.enqueued - q->transport : 0;
	p.socket = q->socket ? q->s.enqueued - q->socket : 0;
	record_lower(c, &p, proto, slots, q->group);
	record_transport(c, &p, proto, slots, q->group);
	if (proto == ROW_TCP)
		record_socket(c, &p, slots, q->group);
	record_enqueued(c, &p, proto, q->s.enqueued, slots, q->group);
}

static __always_inline void task_read_start(struct task_state *t, const struct queued *q)
{
	t->oldest = q->s;
	t->youngest = q->s.base;
	t->n = 1;
	t->group = by ? q->group : 0;
	if (!slower_than)
		return;
	t->link = q->link;
	t->ip = q->ip;
	t->transport = q->transport;
	t->socket = q->socket;
	t->cores = q->cores;
	if (!t->since)
		t->since = bpf_ktime_get_ns();
}

/* Adds a packet that leaves the socket's queue to the task's read. */
static __always_inline void read_add(struct cpu_state *c, struct task_state *t, struct queued *q,
				     __u32 proto)
{
	if (filter_tgid)
		record_passed_stages(c, q, proto);
	record_woken(c, t, &q->s, before_reader(q, slots), proto, group_of_reader(t, q->group));
	if (!t->n) {
		task_read_start(t, q);
		if (!slot_selected(SLOT_ENQUEUED))
			t->before = before_reader(q, slots);
	} else if (t->oldest.origin != q->s.origin) {
		count_loss(c, SLOT_READ, LOSS_MIXED_ORIGIN, proto, 1);
	} else if (by && t->group != q->group) {
		count_loss(c, SLOT_READ, LOSS_MIXED_GROUP, proto, 1);
	} else {
		t->youngest = q->s.base;
		t->n++;
	}
}

/* Records a read of several packets of different ages, or of packets in a group (--by). */
static __noinline int record_read(struct cpu_state *c, struct task_state *t, __u32 proto,
				  __u64 now, __u64 step)
{
	__u64 n = t ? t->n : 0;
	__u32 group;

	if (!c || !t)
		return 0;
	group = group_of_reader(t, t->group);
	barrier_var(proto);
	if (proto >= ROW_PROTOS)
		return 0;
	if (t->oldest.base == t->youngest) {
		record_stage(c, SLOT_READ, proto, t->oldest.tag, group, now - t->oldest.base, step,
			     n);
		return 0;
	}
	hist_count_any(&row_find(c, SLOT_READ, proto, t->oldest.tag, group)->step,
		       (__s64)step < 0 ? 0 : step, n);
	record_stage(c, SLOT_READ_MIXED, proto, t->oldest.tag, group, now - t->oldest.base,
		     now - t->youngest, n);
	return 0;
}

/* Records a read when the call returns: only now does the application have the bytes. */
static __always_inline void task_read_finish(struct cpu_state *c, struct task_state *t, __u32 proto,
				     __u64 now)
{
	struct stamp *p = &t->oldest;
	__u64 before = p->enqueued, n = t->n;
	__u32 stages = slots;

	if (unlikely(p->tag & TAG(PKT_FORCED_MISS))) {
		count_loss(c, SLOT_READ, p->why, proto, n);
		t->n = 0;
		return;
	}
	if (slow_exceeds(p, now))
		slow_read(c, t, proto, now);
	if (unlikely(!slot_is_in(stages, SLOT_ENQUEUED)))
		before = t->before;
	if (stages & (1U << SLOT_RUNNING)) {
		if (task_was_woken_for(t, p))
			before = t->net_run;
		record_share(c, t, p, proto, now, n);
	} else if (stages & (1U << SLOT_RUNNABLE)) {
		if (task_was_woken_for(t, p))
			before = t->net_wake > p->enqueued ? t->net_wake : p->enqueued;
	}
	if (likely(p->base == t->youngest && !t->group))
		record_stage(c, SLOT_READ, proto, p->tag, 0, now - p->base, now - before, n);
	else
		record_read(c, t, proto, now, now - before);
	t->n = 0;
}

#endif
