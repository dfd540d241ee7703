/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Stages before the stack: from the interrupt to the driver's poll, and from there to `link`.
 *
 * Before `link`, events belong to a CPU, not to a packet: an interrupt raises a softirq, which
 * polls, and finds any number of packets. So `irq` and `poll` count these events, for no protocol.
 * From the driver's hand-over to `link` a packet is followed by its address in a table.
 */
#ifndef HOSTLAT_BPF_ARRIVAL_H
#define HOSTLAT_BPF_ARRIVAL_H

#include "bpf/abi.h"
#include "bpf/group.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"
#include "event/layout.h"

#define NET_RX_SOFTIRQ 3 /* include/linux/interrupt.h */

/* Maximum age of an entry in ns. An older entry is stale: its packet's end was not seen. */
#define ARRIVAL_AGE_MAX (10 * SEC_NS)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader sets the number of CPUs for `irq` or `poll` */
	__type(key, __u32);
	__type(value, struct arrival_cpu);
} arrivals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the loader sets ARRIVAL_SETS for `poll` and `link` */
	__type(key, __u32);
	__type(value, struct arrival_set);
} arrival_sets SEC(".maps");

const volatile __u32 arrival_irq = 0; /* 1: stage `irq` is selected */

static __always_inline struct arrival_cpu *arrival_here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&arrivals, &cpu);
}

static __always_inline void arrival_excluded(__u32 why)
{
	struct cpu_state *c = this_cpu();

	if (c && why < EXCL_MAX)
		c->count.excluded[why][ROW_TCP]++;
}

/* ---- filters and groups ---- */

static __always_inline bool arrival_filtered(void)
{
	return filter_ifname[0] || filter_netns;
}

static __always_inline bool arrival_selected(const struct net_device *dev)
{
	if (filter_netns && dev->nd_net.net->ns.inum != filter_netns)
		return false;
	return iface_selected(dev);
}

/* Returns the --by group of an event. `rxq`: queue number + 1, or 0; `dev` NULL: unknown device. */
static __always_inline __u32 arrival_group(const struct net_device *dev, __u32 rxq)
{
	union group_words k = {};

	if (!by)
		return 0;
	if (BY(GROUP_IFINDEX)) {
		k.traits.packet |= packet_trait_put(TRAIT_IFINDEX, dev ? (__u32)dev->ifindex : ~0U);
		k.traits.device = dev ? dev->nd_net.net->ns.inum : 0;
	}
	if (BY(GROUP_CPU))
		k.traits.packet |= packet_trait_put(TRAIT_CPU, bpf_get_smp_processor_id());
	if (BY(GROUP_RXQ))
		k.traits.packet |= packet_trait_put(TRAIT_RXQ, rxq);
	return group_find(&k);
}

static __noinline int arrival_record(struct arrival_cpu *a, __u32 slot, __u32 group, __u64 latency,
				     __u64 step)
{
	struct stage_row *r = NULL;

	if (!a || slot >= ARRIVAL_SLOTS)
		return 0;
	if (group && by)
		r = group_row(group, ARRIVAL_ROW(slot));
	if (!r)
		r = &a->row[slot];
	return record_any(r, latency, step, 1);
}

/* Returns the receive queue that the driver reports, + 1; 0: unknown. */
static __always_inline __u32 arrival_rxq(const struct sk_buff *skb)
{
	__u32 rxq = skb->queue_mapping;

	return rxq && iface_has_queues(skb->dev) ? rxq : 0;
}

/* Returns the index of the receive queue in queue[]. */
static __always_inline __u32 arrival_queue(struct arrival_cpu *a, const struct net_device *dev,
					   __u32 rxq)
{
	__u32 ifindex, netns, at, i;

	if (!dev)
		return ARRIVAL_OF_BACKLOG;
	ifindex = dev->ifindex;
	if (!ifindex) /* a dummy device that several cards of one driver share */
		return ARRIVAL_OF_OTHERS;
	netns = dev->nd_net.net->ns.inum;
	at = (ifindex * 0x9e3779b1U ^ netns * 0x85ebca6bU ^ rxq * 0xc2b2ae35U) >> 16;
	for (i = 0; i < ARRIVAL_TRIES; i++, at++) {
		struct arrival_queue *q = &a->queue[at & (ARRIVAL_QUEUES - 1)];

		if (!q->ifindex) {
			q->netns = netns;
			q->rxq = rxq;
			q->ifindex = ifindex;
		}
		if (q->ifindex == ifindex && q->netns == netns && q->rxq == rxq)
			return at & (ARRIVAL_QUEUES - 1);
	}
	return ARRIVAL_OF_OTHERS;
}

/* ---- irq, poll ---- */

static __always_inline int arrival_irq_begins(void)
{
	struct arrival_cpu *a = arrival_here();

	if (!a)
		return 0;
	a->irq_asked = 0;
	a->irq = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int arrival_irq_ends(void)
{
	struct arrival_cpu *a = arrival_here();

	if (a)
		a->irq = 0;
	return 0;
}

static __always_inline void arrival_count_irq(struct arrival_cpu *a, __u64 now)
{
	if (!a->irq) {
		if (!arrival_filtered())
			arrival_excluded(EXCL_NO_INTERRUPT);
		return;
	}
	if (a->irq_asked) /* the interrupt is already counted, for another receive queue */
		return;
	a->irq_asked = 1;
	if (arrival_filtered())
		arrival_excluded(EXCL_IRQ_DEVICE);
	else
		arrival_record(a, ARRIVAL_IRQ, arrival_group(NULL, 0), now - a->irq, NO_STEP);
}

/* Handles softirq_raise; runs with interrupts off. */
static __always_inline int arrival_raised(__u32 vec)
{
	struct arrival_cpu *a;
	__u64 now;

	if (vec != NET_RX_SOFTIRQ)
		return 0;
	a = arrival_here();
	if (!a)
		return 0;
	now = bpf_ktime_get_ns();
	if (arrival_irq)
		arrival_count_irq(a, now);
	if (a->raise)
		return 0;
	a->raised = now;
	a->raised_how = (a->irq ? RAISED_BY_IRQ : 0) | (a->run ? RAISED_IN_RUN : 0);
	a->raise = a->irq ? a->irq : now;
	return 0;
}

/* Handles softirq_entry. Swaps `raise` atomically: an interrupt may raise the softirq meanwhile. */
static __always_inline int arrival_run_begins(__u32 vec)
{
	struct arrival_cpu *a;

	if (vec != NET_RX_SOFTIRQ)
		return 0;
	a = arrival_here();
	if (!a)
		return 0;
	a->run = bpf_ktime_get_ns();
	a->run_polls = a->poll_rxq = 0;
	a->run_raised = a->raised;
	a->run_how = a->raised_how;
	a->run_raise = __sync_lock_test_and_set(&a->raise, 0);
	return 0;
}

static __always_inline int arrival_run_ends(__u32 vec)
{
	struct arrival_cpu *a = vec == NET_RX_SOFTIRQ ? arrival_here() : NULL;

	if (!a)
		return 0;
	if (!a->run) /* the softirq's begin was not seen: its request is unknown */
		a->raise = 0;
	a->run = 0;
	return 0;
}

/* Records stage `poll` for a softirq's first poll, from its request to the softirq's begin. */
static __always_inline void arrival_first_poll(struct arrival_cpu *a, const struct net_device *dev,
					       __u32 rxq)
{
	__u64 before = a->run_raise;

	/* the softirq's raise was not seen, or came when the softirq had already begun */
	if (!before || (__s64)(a->run - before) < 0) {
		if (!arrival_filtered())
			arrival_excluded(EXCL_NO_RAISE);
		return;
	}
	if (a->run_how & RAISED_IN_RUN)
		dev = NULL;
	if (arrival_filtered()) {
		if (!dev) {
			arrival_excluded(EXCL_POLL_DEVICE);
			return;
		}
		if (!arrival_selected(dev))
			return;
	}
	if (arrival_irq && a->run_how & RAISED_BY_IRQ && a->run_raised - before < a->run - before)
		before = a->run_raised;
	arrival_record(a, ARRIVAL_POLL, arrival_group(dev, dev ? rxq : 0), a->run - a->run_raise,
		       a->run - before);
}

static __always_inline void arrival_count_poll(struct arrival_cpu *a, const struct net_device *dev,
					       __u32 rxq, int work, int budget)
{
	__u32 at;
	struct arrival_queue *q;

	if (arrival_filtered() && (!dev || !arrival_selected(dev)))
		return;
	at = arrival_queue(a, dev, rxq);
	if (at >= ARRIVAL_PLACES)
		return;
	q = &a->queue[at];
	q->polls++;
	q->work += work > 0 ? work : 0;
	q->full += work >= budget && budget > 0;
}

/* Handles napi_poll, after each poll. */
static __always_inline int arrival_polled(const struct napi_struct *napi, int work, int budget)
{
	struct arrival_cpu *a = arrival_here();
	const struct net_device *dev = napi->dev;
	__u32 rxq;

	if (!a)
		return 0;
	rxq = a->poll_rxq;
	a->poll_rxq = 0;
	if (a->run) {
		if (a->run_polls++ == 0)
			arrival_first_poll(a, dev, rxq);
		else if (!arrival_filtered() || (dev && arrival_selected(dev)))
			arrival_excluded(EXCL_BEHIND_OTHER);
	} else if (!arrival_filtered() || (dev && arrival_selected(dev))) {
		struct task_struct *task = bpf_get_current_task_btf();

		arrival_excluded(task->flags & PF_KTHREAD ? EXCL_THREADED : EXCL_BUSY_POLL);
	}
	arrival_count_poll(a, dev, rxq, work, budget);
	return 0;
}

/* ---- from the driver to `link` ---- */

static __always_inline struct arrival_set *arrival_set(__u64 skb)
{
	__u32 at = ((skb >> 8) ^ (skb >> 20)) & (ARRIVAL_SETS - 1);

	return bpf_map_lookup_elem(&arrival_sets, &at);
}

static __always_inline struct arrival_packet *arrival_find(__u64 skb)
{
	struct arrival_set *s = arrival_set(skb);

	if (!s)
		return NULL;
	if (s->e[0].skb == skb)
		return &s->e[0];
	return s->e[1].skb == skb ? &s->e[1] : NULL;
}

static __always_inline void arrival_forget(__u64 skb)
{
	struct arrival_packet *p = arrival_find(skb);

	if (p)
		p->skb = 0;
}

/*
 * Stores a packet in its own entry, a free entry, or the older of the set's two entries; the older
 * entry's packet is then lost.
 */
static __always_inline void arrival_note(struct arrival_cpu *a, __u64 skb, __u32 slot)
{
	struct arrival_set *s = arrival_set(skb);
	struct arrival_packet *p;
	__u64 now = bpf_ktime_get_ns();

	if (!s)
		return;
	p = s->e[0].skb == skb || (!s->e[0].skb && s->e[1].skb != skb) ? &s->e[0] : &s->e[1];
	if (p->skb && p->skb != skb) {
		p = s->e[0].since < s->e[1].since ? &s->e[0] : &s->e[1];
		if (now - p->since < ARRIVAL_AGE_MAX)
			a->displaced++;
	}
	p->skb = 0;
	p->since = now;
	p->cpu = bpf_get_smp_processor_id();
	p->slot = slot;
	p->skb = skb;
}

/*
 * Returns true if RPS or RFS steer the device's packets to a CPU's backlog, as get_rps_cpu() does.
 */
static __always_inline bool arrival_steered(const struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;
	__u32 queue = skb->queue_mapping ? skb->queue_mapping - 1 : 0;
	/* 6.1's verifier takes `rx` for a number */
	struct netdev_rx_queue *rx = BPF_CORE_READ(dev, _rx);
	const void *map = NULL, *table = NULL;

	if (queue >= dev->real_num_rx_queues)
		return false;
	rx = (void *)((char *)rx + queue * bpf_core_type_size(struct netdev_rx_queue));
	if (bpf_core_field_exists(rx->rps_map))
		bpf_probe_read_kernel(&map, sizeof(map), (const char *)rx +
				      bpf_core_field_offset(rx->rps_map));
	if (bpf_core_field_exists(rx->rps_flow_table))
		bpf_probe_read_kernel(&table, sizeof(table), (const char *)rx +
				      bpf_core_field_offset(rx->rps_flow_table));
	return map || table;
}

static __always_inline int arrival_gro_begins(const struct sk_buff *skb)
{
	struct arrival_cpu *a = arrival_here();
	__u32 rxq;

	if (!a)
		return 0;
	a->gro_skb = 0;
	if (arrival_filtered() && !arrival_selected(skb->dev))
		return 0;
	rxq = arrival_rxq(skb);
	a->poll_rxq = rxq;
	a->gro_queue = arrival_queue(a, skb->dev, rxq);
	if (a->gro_queue < ARRIVAL_PLACES)
		a->queue[a->gro_queue].received++;
	a->gro_skb = (__u64)skb;
	arrival_note(a, (__u64)skb, arrival_steered(skb) ? ARRIVAL_BACKLOG : ARRIVAL_GRO);
	return 0;
}

static __always_inline int arrival_gro_ends(__u32 result)
{
	struct arrival_cpu *a = arrival_here();
	__u32 at;
	__u64 skb;

	if (!a || !a->gro_skb)
		return 0;
	skb = a->gro_skb;
	a->gro_skb = 0;
	at = a->gro_queue;
	if (at >= ARRIVAL_PLACES)
		return 0;
	if (result == bpf_core_enum_value(enum gro_result, GRO_MERGED) ||
	    result == bpf_core_enum_value(enum gro_result, GRO_MERGED_FREE)) {
		a->queue[at].merged++;
		arrival_forget(skb);
	} else if (result == bpf_core_enum_value(enum gro_result, GRO_CONSUMED)) {
		arrival_excluded(EXCL_GRO_CONSUMED);
		arrival_forget(skb);
	} else {
		a->queue[at].passed++;
	}
	return 0;
}

/* Handles netif_rx: the packet enters the backlog of this CPU or of another CPU. */
static __always_inline int arrival_given(const struct sk_buff *skb)
{
	struct arrival_cpu *a = arrival_here();

	if (a && (!arrival_filtered() || arrival_selected(skb->dev)))
		arrival_note(a, (__u64)skb, ARRIVAL_BACKLOG);
	return 0;
}

static __always_inline int arrival_linked(const struct sk_buff *skb)
{
	struct arrival_packet *p = arrival_find((__u64)skb);
	struct arrival_cpu *a;
	__u32 slot, group;
	__u64 ns;

	if (!p)
		return 0;
	ns = bpf_ktime_get_ns() - p->since;
	if (ns > ARRIVAL_AGE_MAX) { /* the entry is of an earlier packet, whose end was not seen */
		p->skb = 0;
		return 0;
	}
	slot = p->slot;
	a = arrival_here();
	/*
	 * In a softirq, a packet that another CPU stored came through this CPU's backlog. Outside a
	 * softirq, the polling thread may have moved to this CPU with the packets that GRO holds.
	 */
	if (a && a->run && p->cpu != bpf_get_smp_processor_id())
		slot = ARRIVAL_BACKLOG;
	p->skb = 0;
	if (!a)
		return 0;
	group = by ? arrival_group(skb->dev, arrival_rxq(skb)) : 0;
	if (arrival_record(a, slot, group, ns, NO_STEP))
		a->negative++;
	return 0;
}

static __always_inline int arrival_dropped(const struct sk_buff *skb)
{
	arrival_forget((__u64)skb);
	return 0;
}

#endif
