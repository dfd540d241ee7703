/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Recording a latency: the hot path of every stage.
 *
 * A row lives in one slot of a memory-mapped array per CPU, so that recording is plain additions
 * and user space reads without a system call. Only one program at a time runs on a CPU for one
 * row (the kernel refuses a program's recursion and counts it), hence no atomics.
 */
#ifndef HOSTLAT_BPF_RECORD_H
#define HOSTLAT_BPF_RECORD_H

#include "bpf/maps.h"
#include "stats/buckets.h"

/*
 * Makes the compiler forget what it knows of a value: it would drop a mask that it can prove
 * needless and the verifier can't, or move arithmetic before a check for NULL.
 */
#define keep(value) asm volatile("" : "+r"(value))

/*
 * The low half of an address, as a number. The verifier lets nothing be computed with a pointer,
 * but a 32-bit copy of it is one no more.
 */
static __always_inline __u32 low_half(const void *p)
{
	__u32 low;

	asm volatile("%0 = %1" : "=w"(low) : "w"((__u32)(__u64)p));
	return low;
}

static __always_inline struct cpu_state *this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline void count_loss(struct cpu_state *c, __u32 slot, __u32 why, __u32 proto,
				       __u64 n)
{
	if (slot < SLOT_MAX && why < LOSS_MAX && proto < ROW_PROTOS)
		c->count.loss[slot][why][proto] += n;
}

/* The pool gives out ids in order of first use; when it is used up, overflow rows serve. */
static __noinline __u32 row_alloc(__u32 key)
{
	__u32 id, old;

	if (key >= ROW_KEYS)
		return 0;
	id = row_next < row_pool ? __sync_fetch_and_add(&row_next, 1) : row_pool;
	if (id >= row_pool)
		id = OVERFLOW_ROW(key / (ROW_ORIGINS * ROW_PROTOS));
	old = __sync_val_compare_and_swap(&row_dir[key], 0, id);
	return old ? old : id;
}

static __always_inline __u32 row_id(__u32 slot, __u32 proto, __u32 origin)
{
	__u32 key = (slot * ROW_ORIGINS + (origin & (ROW_ORIGINS - 1))) * ROW_PROTOS + proto;
	__u32 id = row_dir[key];

	return id ? id : row_alloc(key);
}

static __noinline int row_turn(struct row *r)
{
	if (!r)
		return 0;
	r->latency.prev_min = r->latency.min;
	r->latency.prev_max = r->latency.max;
	r->step.prev_min = r->step.min;
	r->step.prev_max = r->step.max;
	r->latency.min = r->step.min = ~0ULL;
	r->latency.max = r->step.max = 0;
	r->prev_epoch = r->epoch;
	r->epoch = epoch;
	return 0;
}

static __noinline __u64 bucket_long(__u64 v)
{
	return bucket_index(v);
}

/* Which counter of a row_hist is v's. */
static __always_inline __u64 hist_cell(__u64 v)
{
	__u64 i = v;

	keep(i);
	if (v <= FINE_MAX)
		return v ? CELL_BUCKET + bucket_fine[i & FINE_MAX] : CELL_ZERO;
	if (v <= SHORT_MAX) {
		i = bucket_coarse[i >> 4 & SHORT_MAX >> 4];
		return CELL_BUCKET + i + ((bucket_edge[i] - v) >> 63);
	}
	i = CELL_BUCKET + bucket_long(v);
	/* not in C: the compiler would check a copy, and 6.1 doesn't see what that says of i */
	asm volatile("if %0 < %1 goto +1\n%0 = %2" : "+r"(i) : "i"(CELL_MAX), "i"(CELL_OVER));
	return i;
}

static __always_inline void hist_add(struct row_hist *h, __u64 v, __u64 cell, __u64 n)
{
	h->sum += v * n;
	if (v > h->max)
		h->max = v;
	if (v < h->min)
		h->min = v;
	h->cell[cell] += n;
}

/*
 * The kernel's fast monotonic clock may differ by some nanoseconds between CPUs while it is being
 * adjusted: that is 0. Anything else below zero is a defect of the measurement, and counted.
 */
static __noinline __u64 settle_negative(__u64 v)
{
	return (__s64)v < -1000 ? ~0ULL : 0;
}

#define NO_STEP ~0ULL
/* The step is the latency, as of all packets in this row (not so in an overflow row). */
#define SAME_STEP (~0ULL - 1)

/* Adds n packets of this latency, and of this step unless NO_STEP. */
static __always_inline void record(struct cpu_state *c, __u32 slot, __u32 proto, __u32 origin,
				   __u64 latency, __u64 step, __u64 n)
{
	__u64 id = row_id(slot, proto, origin);
	bool overflow = id < ROW_FIRST;
	struct row *r;
	__u64 cell;

	if ((__s64)latency < 0) {
		latency = settle_negative(latency);
		if (latency) {
			count_loss(c, slot, LOSS_NEGATIVE, proto, n);
			return;
		}
	}
	keep(id); /* 6.1 must see the check and the use on one register */
	if (id >= row_pool)
		return;
	r = &c->row[id];
	if (r->epoch != epoch)
		row_turn(r);
	cell = hist_cell(latency);
	hist_add(&r->latency, latency, cell, n);
	if (step == NO_STEP || (step == SAME_STEP && !overflow))
		return;
	if (step == SAME_STEP)
		step = latency;
	if ((__s64)step < 0)
		step = 0;
	if (step != latency)
		cell = hist_cell(step);
	hist_add(&r->step, step, cell, n);
}

/* When the packet passed the stage measured last before `enqueued`. */
static __always_inline __u64 before_enqueued(const struct packet *p)
{
	if (p->transport)
		return p->transport;
	return p->ip ? p->ip : p->link;
}

static __always_inline bool selected(__u32 slot)
{
	return slots & (1U << slot);
}

/*
 * Under --pid, what is lost before `read` counts if the process has read from that socket before:
 * what others lose is no loss of this measurement.
 */
static __always_inline bool counts(__u64 ours)
{
	return !filter_tgid || ours;
}

/* Into a queue, with all of its way if --pid will need it. */
static __always_inline __u32 ns_before(__u64 end, __u64 t)
{
	__u64 ns = end - t;

	return !t ? 0 : ns > ~0U ? ~0U : ns;
}

static __always_inline void queue_packet(struct queued *q, const struct packet *p)
{
	q->s = p->s;
	if (!filter_tgid)
		return;
	q->link = ns_before(p->s.enqueued, p->link);
	q->ip = ns_before(p->s.enqueued, p->ip);
	q->transport = ns_before(p->s.enqueued, p->transport);
	q->link_ns = p->link_ns > ~0U ? ~0U : p->link_ns;
}

/*
 * A packet without the origin that was asked for is a loss of that stage; with it, a recording.
 * False if there is nothing to record.
 */
static __always_inline bool has_origin(struct cpu_state *c, const struct stamp *s, __u32 slot,
				       __u32 proto)
{
	if (!(s->flags & PKT_FORCED_MISS))
		return true;
	count_loss(c, slot, s->why, proto, 1);
	return false;
}

/*
 * Stages up to `transport`, when the packet is known to be payload for a socket of the filter:
 * that is at `transport`, or at `enqueued` where no hook was there before.
 */
static __always_inline void record_lower(struct cpu_state *c, const struct packet *p, __u32 proto)
{
	if (selected(SLOT_LINK) && (p->s.flags & PKT_LINK))
		record(c, SLOT_LINK, proto, p->s.link_origin, p->link_ns, NO_STEP, 1);
	if (selected(SLOT_IP)) {
		if (!p->ip)
			count_loss(c, SLOT_IP, LOSS_NOT_COVERED, proto, 1);
		else if (has_origin(c, &p->s, SLOT_IP, proto))
			record(c, SLOT_IP, proto, p->s.origin, p->ip - p->s.base,
			       p->ip - p->link, 1);
	}
}

static __always_inline void record_transport(struct cpu_state *c, const struct packet *p,
					     __u32 proto)
{
	__u64 step = p->transport - (p->ip ? p->ip : p->link);

	if (!selected(SLOT_IP) && p->s.origin == ROW_LINK)
		step = SAME_STEP; /* probe/snapshot.c knows */
	if (selected(SLOT_TRANSPORT) && has_origin(c, &p->s, SLOT_TRANSPORT, proto))
		record(c, SLOT_TRANSPORT, proto, p->s.origin, p->transport - p->s.base, step, 1);
}

static __always_inline void record_enqueued(struct cpu_state *c, const struct packet *p,
					    __u32 proto)
{
	if (selected(SLOT_ENQUEUED) && has_origin(c, &p->s, SLOT_ENQUEUED, proto))
		record(c, SLOT_ENQUEUED, proto, p->s.origin, p->s.enqueued - p->s.base,
		       p->s.enqueued - before_enqueued(p), 1);
}

#endif
