/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Recording of latencies: the hot path of every stage.
 *
 * A row of histograms lies in a memory-mapped array per CPU, so that recording is plain additions
 * and user space reads without a system call. Only one program at a time runs on a CPU for one row
 * (the kernel refuses a program's recursion and counts it), hence no atomics.
 */
#ifndef HOSTLAT_BPF_RECORD_H
#define HOSTLAT_BPF_RECORD_H

#include "bpf/abi.h"
#include "bpf/group.bpf.h"
#include "bpf/maps.bpf.h"
#include "stats/buckets.h"

/*
 * Gives the code after a test a separate path. The verifier removes a test whose one branch is
 * never taken, but not if the compiler has merged it with another test.
 */
#define separate_path(value) asm volatile("%0 = %0" : "+r"(value))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A global subprogram: the verifier checks it once, for any arguments, not for each state of each
 * caller, which is most of a program's load time. The subprogram must test its pointer arguments
 * for NULL.
 */
#define GLOBAL_SUBPROG __noinline

#define NO_STEP ~0ULL

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))

/*
 * Returns the low half of an address as a number: the verifier forbids arithmetic on pointers, but
 * not on a 32-bit copy.
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

/* Returns the index of a value's counter in the cells of a row_hist. */
static __always_inline __u64 hist_cell(__u64 v)
{
	__u64 i = CELL_BUCKET + bucket_index(v);

	/*
	 * assembler: the compiler would check a copy, and 6.1's verifier would not know i's limit
	 */
	asm volatile("if %0 < %1 goto +1\n%0 = %2" : "+r"(i) : "i"(CELL_MAX), "i"(CELL_OVER));
	return i;
}

/* Counts before it updates the extremes, which the loader resets before it reads the counter. */
static __always_inline void hist_count(struct row_hist *h, __u64 *cell, __u64 v, __u64 n)
{
	*cell += n;
	h->sum += v * n;
	if (v > h->max)
		h->max = v;
	if (v < h->min)
		h->min = v;
}

#define NOT_SHORT (SHORT_MAX - SHORT_MIN + 1)

/* Counts a short value. `above`: v - SHORT_MIN, less than NOT_SHORT. */
static __always_inline void hist_short(struct row_hist *h, __u64 v, __u64 above, __u64 n)
{
	__u32 entry = (__u32)above / 4, at; /* byte offsets in short_cells, h->cell */

	barrier_var(entry);
	entry &= 2 * (SHORT_ENTRIES - 1);
	at = *(const volatile __u16 *)((char *)short_cells + entry);
	at = (at + ((__u32)above & 7)) & SHORT_OFFSET;
	hist_count(h, (__u64 *)((char *)h->cell + at), v, n);
}

/* Counts a value of any size. */
GLOBAL_SUBPROG int hist_count_any(struct row_hist *h, __u64 v, __u64 n)
{
	__u64 above = v - SHORT_MIN, cell;

	if (!h)
		return 0;
	barrier_var(above);
	if (above < NOT_SHORT) {
		hist_short(h, v, above, n);
		return 0;
	}
	cell = v;
	barrier_var(cell);
	if (cell < SHORT_MIN)
		cell = shorter_cells[cell];
	else
		cell = hist_cell(v);
	barrier_var(cell);
	if (cell < CELL_MAX)
		hist_count(h, &h->cell[cell], v, n);
	return 0;
}

/*
 * Records a latency of any size. Returns -1 for a value below -1000 ns, a measurement error, which
 * is not recorded. Values from -1000 ns count as 0: a clock reading on another CPU may be earlier
 * by some ns while the clock is adjusted.
 */
GLOBAL_SUBPROG int record_any(struct stage_row *r, __u64 latency, __u64 step, __u64 n)
{
	if (!r)
		return 0;
	if ((__s64)latency < 0) {
		if ((__s64)latency < -1000)
			return -1;
		latency = 0;
	}
	hist_count_any(&r->latency, latency, n);
	if (step != NO_STEP)
		hist_count_any(&r->step, (__s64)step < 0 ? 0 : step, n);
	return 0;
}

/*
 * Returns this CPU's histograms of a slot (a stage, or a part of a stage): with --by the group's;
 * without a group, or if no memory is free for the group, those of all packets.
 */
static __always_inline struct stage_row *row_find(struct cpu_state *c, __u32 slot, __u32 proto,
						  __u64 origin, __u32 group)
{
	__u32 index = origin & (ORIGINS_AT_ONCE - 1);
	struct stage_row *r;

	/* in this order of tests, packets without a group read no setting */
	if (unlikely(group) && by) {
		r = group_row(group, (proto * SLOT_MAX + slot) * ORIGINS_AT_ONCE + index);
		if (r)
			return r;
	}
	return &c->row[proto][slot][index];
}

/* Records the latency of n packets. */
static __always_inline void record_latency(struct cpu_state *c, __u32 slot, __u32 proto,
					   __u64 origin, __u32 group, __u64 latency, __u64 n)
{
	struct stage_row *r = row_find(c, slot, proto, origin, group);
	__u64 above = latency - SHORT_MIN;

	barrier_var(above);
	if (likely(above < NOT_SHORT))
		hist_short(&r->latency, latency, above, n);
	else if (record_any(r, latency, NO_STEP, n))
		count_loss(c, slot, LOSS_NEGATIVE, proto, n);
}

/* Records latency and step (time since the previous measured stage) of n packets. */
static __always_inline void record_stage(struct cpu_state *c, __u32 slot, __u32 proto, __u64 origin,
					 __u32 group, __u64 latency, __u64 step, __u64 n)
{
	struct stage_row *r = row_find(c, slot, proto, origin, group);
	__u64 above = latency - SHORT_MIN, step_above = step - SHORT_MIN;

	barrier_var(above);
	barrier_var(step_above);
	if (likely(above < NOT_SHORT && step_above < NOT_SHORT)) {
		hist_short(&r->latency, latency, above, n);
		hist_short(&r->step, step, step_above, n);
	} else if (record_any(r, latency, step, n)) {
		count_loss(c, slot, LOSS_NEGATIVE, proto, n);
	}
}

/* Returns whether bit `slot` is set in `stages`, the caller's copy of the setting `slots`. */
static __always_inline bool slot_is_in(__u32 stages, __u32 slot)
{
	return stages & (1U << slot);
}

static __always_inline bool slot_selected(__u32 slot)
{
	return slot_is_in(slots, slot);
}

/*
 * before_X() returns when the step of stage X begins: at the previous measured stage that the
 * packet passed, else at the origin. `ip` and TCP's `transport` have a time only if they are
 * selected.
 */
static __always_inline __u64 before_ip(const struct packet *p)
{
	return p->s.flags & PKT_LINK ? p->link : p->s.base;
}

static __always_inline __u64 before_transport(const struct packet *p)
{
	return p->ip ? p->ip : before_ip(p);
}

static __always_inline __u64 before_socket(const struct packet *p, __u32 stages)
{
	return p->transport && slot_is_in(stages, SLOT_TRANSPORT) ? p->transport
								  : before_transport(p);
}

static __always_inline __u64 before_enqueued(const struct packet *p, __u32 stages)
{
	return p->socket && slot_is_in(stages, SLOT_SOCKET) ? p->socket : before_socket(p, stages);
}

/* --pid: losses before `read` count if the process has read from that socket (`ours`) before. */
static __always_inline bool loss_is_counted(__u64 ours)
{
	return !filter_tgid || ours;
}

/* Recordings: bit from which `link_ns` holds the number of the CPU that received the packet. */
#define LINK_CORE 48

static __always_inline __u64 link_latency(const struct packet *p)
{
	return recording ? (__s64)(p->link_ns << (64 - LINK_CORE)) >> (64 - LINK_CORE) : p->link_ns;
}

static __always_inline void link_note_core(struct packet *p)
{
	p->link_ns = (p->link_ns & ((1ULL << LINK_CORE) - 1)) |
		     (__u64)bpf_get_smp_processor_id() << LINK_CORE;
}

/* Returns the ns from `t` to `end`, at most 2^32 - 1; 0 if `t` is unknown. */
static __always_inline __u32 ns_before(__u64 end, __u64 t)
{
	__u64 ns = end - t;

	return !t ? 0 : ns > ~0U ? ~0U : ns;
}

static __always_inline void queue_packet(struct queued *q, const struct packet *p, __u64 enqueued,
					 __u32 group)
{
	q->s = p->s;
	q->s.enqueued = enqueued;
	if (by)
		q->group = group;
	if (!keep_times)
		return;
	q->link = ns_before(enqueued, p->link);
	q->ip = ns_before(enqueued, p->ip);
	q->transport = ns_before(enqueued, p->transport);
	q->socket = ns_before(enqueued, p->socket);
	q->link_ns = link_latency(p) > ~0U ? ~0U : link_latency(p);
	if (recording)
		q->cores = p->link_ns >> LINK_CORE | bpf_get_smp_processor_id() << 16;
}

/*
 * Returns the begin of the step of `runnable` or a later stage: at `enqueued`, or if that is not
 * selected, at the last measured stage before it.
 */
static __always_inline __u64 before_reader(const struct queued *q, __u32 stages)
{
	__u64 enqueued = q->s.enqueued;

	if (slot_is_in(stages, SLOT_ENQUEUED))
		return enqueued;
	if (q->socket && slot_is_in(stages, SLOT_SOCKET))
		return enqueued - q->socket;
	if (q->transport && slot_is_in(stages, SLOT_TRANSPORT))
		return enqueued - q->transport;
	if (q->ip)
		return enqueued - q->ip;
	return q->s.flags & PKT_LINK ? enqueued - q->link : q->s.base;
}

/* --min-queue: returns true for an unmeasured packet, stored only to count unread packets. */
static __always_inline bool is_filtered(const struct stamp *s)
{
	return min_queue && (s->flags & PKT_SKIP);
}

/* Returns whether the packet has the required origin; if not, counts a loss at the stage. */
static __always_inline bool record_has_origin(struct cpu_state *c, const struct stamp *s,
					      __u32 slot, __u32 proto)
{
	if (likely(!(s->tag & TAG(PKT_FORCED_MISS))))
		return true;
	count_loss(c, slot, s->why, proto, 1);
	return false;
}

/* Returns why a stage time is missing: no entry in the link table, or no hook in the namespace. */
static __always_inline __u32 why_no_time(const struct stamp *s)
{
	bool unknown = s->flags & PKT_FORCED_MISS && s->why == LOSS_NO_LINK_STAMP;

	return unknown ? LOSS_NO_LINK_STAMP : LOSS_NOT_COVERED;
}

/*
 * Records the stages below `transport` (`link`, `ip`) once the packet is known to be payload for a
 * selected socket: at `socket`, or at `enqueued` if no earlier hook saw that.
 */
static __always_inline void record_lower(struct cpu_state *c, const struct packet *p, __u32 proto,
					 __u32 stages, __u32 group)
{
	if (slot_is_in(stages, SLOT_LINK) && (p->s.flags & PKT_LINK))
		record_latency(c, SLOT_LINK, proto, p->s.link_origin, group,
			       link_latency(p), 1);
	if (slot_is_in(stages, SLOT_IP)) {
		if (!p->ip)
			count_loss(c, SLOT_IP, why_no_time(&p->s), proto, 1);
		else if (record_has_origin(c, &p->s, SLOT_IP, proto))
			record_stage(c, SLOT_IP, proto, p->s.origin, group, p->ip - p->s.base,
				     p->ip - before_ip(p), 1);
	}
}

/* Returns true if `transport` is selected and has a hook for the protocol. */
static __always_inline bool times_transport(__u32 proto, __u32 stages)
{
	return slot_is_in(stages, SLOT_TRANSPORT) &&
	       (proto == ROW_TCP ? transport_tcp : transport_udp);
}

static __always_inline void record_transport(struct cpu_state *c, const struct packet *p,
					     __u32 proto, __u32 stages, __u32 group)
{
	__u64 latency = p->transport - p->s.base;

	if (!times_transport(proto, stages))
		return;
	if (!p->transport) {
		count_loss(c, SLOT_TRANSPORT, why_no_time(&p->s), proto, 1);
		return;
	}
	if (!record_has_origin(c, &p->s, SLOT_TRANSPORT, proto))
		return;
	/* if the step equals the latency, record the latency alone: user space copies it */
	if (!slot_is_in(stages, SLOT_IP) && p->s.origin == ROW_LINK)
		record_latency(c, SLOT_TRANSPORT, proto, ROW_LINK, group, latency, 1);
	else
		record_stage(c, SLOT_TRANSPORT, proto, p->s.origin, group, latency,
			     p->transport - before_transport(p), 1);
}

/* Records the stage `socket` of a TCP packet. */
static __always_inline void record_socket(struct cpu_state *c, const struct packet *p,
					  __u32 stages, __u32 group)
{
	__u64 latency = p->socket - p->s.base;

	if (!slot_is_in(stages, SLOT_SOCKET))
		return;
	if (!p->socket)
		count_loss(c, SLOT_SOCKET, LOSS_NOT_ESTABLISHED, ROW_TCP, 1);
	else if (!record_has_origin(c, &p->s, SLOT_SOCKET, ROW_TCP))
		return;
	else if (!times_transport(ROW_TCP, stages) && !slot_is_in(stages, SLOT_IP) &&
		 p->s.origin == ROW_LINK) /* the step equals the latency: user space copies it */
		record_latency(c, SLOT_SOCKET, ROW_TCP, ROW_LINK, group, latency, 1);
	else
		record_stage(c, SLOT_SOCKET, ROW_TCP, p->s.origin, group, latency,
			     p->socket - before_socket(p, stages), 1);
}

static __always_inline void record_enqueued(struct cpu_state *c, const struct packet *p,
					    __u32 proto, __u64 now, __u32 stages, __u32 group)
{
	if (slot_is_in(stages, SLOT_ENQUEUED) && record_has_origin(c, &p->s, SLOT_ENQUEUED, proto))
		record_stage(c, SLOT_ENQUEUED, proto, p->s.tag, group, now - p->s.base,
			     now - before_enqueued(p, stages), 1);
}

#endif
