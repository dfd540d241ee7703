/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The transmit side of UDP. A datagram carries no departure time, so its origin is the send call,
 * which task storage holds until UDP passes the datagram to IP. From then on, any context finds the
 * datagram in the table by its address.
 */
#ifndef HOSTLAT_BPF_EGRESS_UDP_H
#define HOSTLAT_BPF_EGRESS_UDP_H

#include "bpf/abi.h"
#include "bpf/egress_socket.bpf.h"
#include "bpf/egress_table.bpf.h"
#include "bpf/group.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/msg_send.bpf.h"

#define CLOCK_MONOTONIC 1
#define CLOCK_TAI 11

#define UDP_FRAGMENT 0x3fff /* mask: more fragments follow, or a later fragment */
#define IPPROTO_FRAGMENT 44
#define UDP_HEADER 8

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tx_datagram);
} udp_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tx_datagram);
} udp_corks SEC(".maps");

static __always_inline bool tx_is_udp(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_UDP && is_udp_socket(sk);
}

/* ---- the send call ---- */

/* Returns true if data of earlier send calls wait in the socket (MSG_MORE, UDP_CORK). */
static __always_inline bool udp_is_corked(struct sock *sk)
{
	int pending = 0;

	bpf_core_read(&pending, sizeof(pending), &((struct udp_sock *)sk)->pending);
	return pending;
}

/*
 * Returns and clears the begin of a corked datagram's first send call, as a datagram is as old as
 * its first byte; 0: unknown.
 */
static __always_inline __u64 udp_uncork(struct sock *sk)
{
	struct tx_datagram *d = bpf_sk_storage_get(&udp_corks, sk, NULL, 0);
	__u64 since = d ? d->since : 0;

	if (d)
		d->since = 0;
	return since;
}

/* Returns false for the inner call when an IPv6 socket sends IPv4 through udp_sendmsg(). */
static __always_inline bool udp_is_outer(const struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_INET;
}

/* Handles the begin of a send call; kernel threads make no send calls. */
static __always_inline int udp_call_begins(struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tx_datagram *call;

	if (!tx_port_selected(sk) || !reader_selected() || task->flags & PF_KTHREAD)
		return 0;
	call = bpf_task_storage_get(&udp_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) /* no memory: the table will lack the call's datagrams and their origin */
		return 0;
	call->since = udp_is_corked(sk) ? udp_uncork(sk) : bpf_ktime_get_ns();
	call->sk = (__u64)sk;
	return 0;
}

static __always_inline int udp_call_ends(struct sock *sk)
{
	struct tx_datagram *call, *cork;

	call = bpf_task_storage_get(&udp_calls, bpf_get_current_task_btf(), NULL, 0);
	if (!call || call->sk != (__u64)sk)
		return 0;
	call->sk = 0;
	if (!call->since || !udp_is_corked(sk))
		return 0;
	cork = bpf_sk_storage_get(&udp_corks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (cork)
		cork->since = call->since;
	return 0;
}

/* ---- segment: UDP hands a datagram to IP ---- */

/* Returns the begin of this task's send call, or of a corked datagram's first call; 0: unknown. */
static __always_inline __u64 udp_called(struct sock *sk)
{
	struct tx_datagram *call;

	call = bpf_task_storage_get(&udp_calls, bpf_get_current_task_btf(), NULL, 0);
	return call && call->sk == (__u64)sk ? call->since : udp_uncork(sk);
}

/* --sample: returns whether a datagram is sampled; a count decides, as for received datagrams. */
static __always_inline bool udp_is_drawn(struct cpu_state *c, const struct sk_buff *skb)
{
	return !sampling || sample_draw(++c->datagrams << 32 | low_half(skb));
}

/* Recordings: reports the send call, and begins the times of its datagram. */
static __noinline int udp_report_call(struct sk_buff *skb, struct sock *sk, __u64 since, __u64 now)
{
	struct tx_entry *e = tx_find((__u64)skb);
	__u64 id = bpf_get_current_pid_tgid();
	struct msg_send *m;
	struct tx_times *times;

	if (!skb || !sk || !e)
		return 0;
	times = tx_times_at(tx_place(e, (__u64)skb));
	if (!times)
		return 0;
	__builtin_memset(times, 0, sizeof(*times));
	m = msg_new_send(sk, ROW_UDP);
	if (!m)
		return 0;
	times->bytes = m->bytes = skb->len - UDP_HEADER -
		(skb->transport_header - (low_half(skb->data) - low_half(skb->head)));
	m->core = bpf_get_smp_processor_id();
	m->since = times->since = since;
	m->until = times->segment = now;
	m->pid = id >> 32;
	m->tid = id;
	times->sk = (__u64)sk;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Recordings: stores when the driver (`given`) or the qdisc got a datagram; `now` 0: dropped. */
static __always_inline void udp_note_time(const struct tx_entry *e, __u64 skb, __u64 now,
					  bool given)
{
	struct tx_times *times = record_sends ? tx_times_at(tx_place(e, skb)) : NULL;

	if (!times)
		return;
	if (given) {
		times->given = now;
		times->given_core = bpf_get_smp_processor_id();
	} else {
		times->queued = now;
		times->queued_core = bpf_get_smp_processor_id();
	}
}

static __always_inline void udp_forget_path(const struct tx_entry *e, __u64 skb)
{
	struct tx_times *times = tx_times_at(tx_place(e, skb));

	if (times)
		times->sk = 0;
}

static __always_inline int udp_segment(struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), since;
	struct sock *sk = tx_owner(skb);
	struct cpu_state *c = this_cpu();
	struct tx_entry *e;

	if (!c || !sk || !tx_is_udp(sk))
		return 0;
	since = udp_called(sk);
	e = since ? tx_claim(c, (__u64)skb) : tx_find((__u64)skb);
	if (!e)
		return 0;
	e->skb = 0;
	e->base = udp_is_drawn(c, skb) ? since : TX_UNSAMPLED;
	e->last = now;
	e->seq = low_half(sk);
	e->where = TX_UDP;
	e->skb = since ? (__u64)skb : 0;
	if (record_sends && since)
		udp_report_call(skb, sk, since, now);
	return 0;
}

/* ---- qdisc ---- */

/* Returns true for a fragment: IP has cut the datagram, and its pieces are not measured. */
static __always_inline bool udp_is_fragment(const struct sk_buff *skb)
{
	__u8 b[8] = {};

	if (bpf_probe_read_kernel(b, sizeof(b), skb->head + skb->network_header))
		return false;
	if (b[0] >> 4 == 6)
		return b[6] == IPPROTO_FRAGMENT;
	return (b[6] << 8 | b[7]) & UDP_FRAGMENT;
}

/* Returns the ns until the departure time that the application chose (SO_TXTIME); 0: none. */
static __always_inline __s64 udp_ahead(struct sk_buff *skb, const struct sock *sk, __u64 now,
				       __u32 *why)
{
	if (!skb->tstamp)
		return 0;
	if (sk->sk_clockid == CLOCK_MONOTONIC)
		return skb->tstamp - now;
	if (sk->sk_clockid == CLOCK_TAI)
		return skb->tstamp - bpf_ktime_get_tai_ns();
	*why = LOSS_STAMP_FOREIGN;
	return 0;
}

/* Counts a datagram with an unknown call or stamp as lost at all stages. */
static __always_inline void udp_unmeasured(struct cpu_state *c, struct sk_buff *skb,
					   const struct sock *sk, __u64 now, __u32 why)
{
	if (slot_selected(SLOT_SEGMENT) && why == LOSS_NO_CALL)
		count_loss(c, SLOT_SEGMENT, why, ROW_UDP, 1);
	if (slot_selected(SLOT_QDISC))
		count_loss(c, SLOT_QDISC, why, ROW_UDP, 1);
	tx_note(c, skb, why, now, low_half(sk), TX_UDP, 0);
}

/* --sample: stores an unsampled datagram: without an entry, it would look like a GSO segment. */
static __always_inline void udp_not_drawn(struct cpu_state *c, struct sk_buff *skb,
					  const struct sock *sk, __u64 now)
{
	tx_note(c, skb, TX_UNSAMPLED, now, low_half(sk), TX_UDP, 0);
}

static __always_inline void udp_measured(struct cpu_state *c, struct sk_buff *skb,
					 const struct sock *sk, __u64 base, __u64 segment,
					 __u64 now)
{
	__u32 group = group_of(sk, by & BY_PACKET_TRAIT ? packet_traits_of(skb, false) : 0),
	      why = 0;
	__s64 ahead = udp_ahead(skb, sk, now, &why);

	if (slot_selected(SLOT_SEGMENT))
		record_latency(c, SLOT_SEGMENT, ROW_UDP, 0, group, segment - base, 1);
	if (why) {
		udp_unmeasured(c, skb, sk, now, why);
		return;
	}
	/* measure later stages as if the datagram came at its departure */
	if (ahead > PACED_FROM) {
		if (slot_selected(SLOT_QDISC))
			tx_paced(c, ahead, ROW_UDP, group);
		base += ahead;
		now += ahead;
	} else if (slot_selected(SLOT_QDISC)) {
		record_stage(c, SLOT_QDISC, ROW_UDP, 0, group, now - base,
			     now - (slot_selected(SLOT_SEGMENT) ? segment : base), 1);
	}
	tx_note(c, skb, base, now, low_half(sk), TX_UDP | (skb->tstamp ? TX_STAMPED : 0), group);
}

/*
 * Records stages `segment` and `qdisc`. --pid: a datagram not in the table is another process's.
 */
static __noinline int tx_udp_queued(struct cpu_state *c, struct sock *sk, struct sk_buff *skb,
				    __u64 now)
{
	struct tx_entry *e;

	if (!c || !sk || !skb)
		return 0;
	if (!send_udp) { /* no hook on send calls; --pid: the current task is usually the sender */
		if (!filter_tgid || reader_selected())
			c->count.excluded[EXCL_NO_DEPARTURE][ROW_UDP]++;
		return 0;
	}
	e = tx_find((__u64)skb);
	if (e && (!(e->where & TX_UDP) || e->seq != low_half(sk)))
		e = NULL;
	if (udp_is_fragment(skb)) {
		if (e)
			/* the first fragment has the datagram's address: drop the entry */
			e->skb = 0;
		if (!filter_tgid)
			c->count.excluded[EXCL_FRAGMENT][ROW_UDP]++;
	} else if (e && e->where == TX_UDP && tx_is_unsampled(e)) {
		udp_not_drawn(c, skb, sk, now);
	} else if (e && e->where == TX_UDP) {
		udp_note_time(e, (__u64)skb, now, false);
		udp_measured(c, skb, sk, e->base, e->last, now);
	} else if (e && (e->where & TX_INDEX) != (__u32)skb->dev->ifindex) {
		if (!tx_is_unsampled(e))
			c->count.excluded[EXCL_STACKED][ROW_UDP]++;
	} else if (!filter_tgid && !udp_is_drawn(c, skb)) {
		udp_not_drawn(c, skb, sk, now);
	} else if (!filter_tgid) {
		udp_unmeasured(c, skb, sk, now, LOSS_NO_CALL);
		e = record_sends ? tx_find((__u64)skb) : NULL;
		if (e)
			udp_forget_path(e, (__u64)skb);
	}
	return 0;
}

/* ---- driver, sent ---- */

/* Counts a piece of a larger datagram (UDP_SEGMENT); fragments are counted at `qdisc`. */
static __always_inline int tx_udp_piece(struct cpu_state *c, struct sock *sk, struct sk_buff *skb)
{
	if (send_udp && !sampling && !filter_tgid && tx_selected(sk, skb) && !udp_is_fragment(skb))
		c->count.excluded[EXCL_SPLIT][ROW_UDP]++;
	return 0;
}

static __noinline int tx_udp_given(struct cpu_state *c, struct tx_entry *e, struct sk_buff *skb,
				   __u64 now)
{
	struct sock *sk = skb ? skb->sk : NULL;

	if (!c || !sk)
		return 0;
	if (!e || !(e->where & TX_UDP) || e->seq != low_half(sk))
		return tx_udp_piece(c, sk, skb);
	if ((e->where & TX_INDEX) != (__u32)skb->dev->ifindex)
		return 0;
	if (e->where & TX_GIVEN) /* the entry is of an earlier packet at this address */
		return tx_udp_piece(c, sk, skb);
	e->where |= TX_GIVEN;
	if (tx_is_unsampled(e))
		return 0;
	udp_note_time(e, (__u64)skb, now, true);
	if (e->base < LOSS_MAX) {
		if (slot_selected(SLOT_DRIVER))
			count_loss(c, SLOT_DRIVER, e->base, ROW_UDP, 1);
	} else if ((__s64)(e->last - now) > PACED_FROM) {
		/* the qdisc did not hold the datagram until its departure */
		if (slot_selected(SLOT_DRIVER))
			c->count.excluded[EXCL_NOT_PACED][ROW_UDP]++;
	} else if (slot_selected(SLOT_DRIVER)) {
		record_stage(c, SLOT_DRIVER, ROW_UDP, 0, tx_group((__u64)skb), now - e->base,
			     now - e->last, 1);
	}
	if ((__s64)(e->last - now) <= PACED_FROM)
		e->last = now;
	return 0;
}

/*
 * Returns true if the entry belongs to datagram `skb`, not to an earlier one at its address that
 * was freed unseen. In the driver, a stamp that the application did not set shows a TCP or received
 * packet. Before the driver the sockets are compared, but IP clears skb->sk as it cuts a datagram.
 */
static __always_inline bool udp_same(const struct tx_entry *e, struct sk_buff *skb)
{
	if (e->where & TX_GIVEN)
		return e->where & TX_STAMPED || !skb->tstamp;
	return !skb->sk || e->seq == low_half(skb->sk);
}

static __always_inline void udp_sent(struct cpu_state *c, const struct tx_entry *e, __u64 skb,
				     __u64 now)
{
	if (tx_is_unsampled(e))
		return;
	tx_path_end(e, skb, now);
	if (e->base < LOSS_MAX)
		count_loss(c, SLOT_SENT, e->base, ROW_UDP, 1);
	else if ((__s64)(e->last - now) > PACED_FROM)
		c->count.excluded[EXCL_NOT_PACED][ROW_UDP]++;
	else
		record_stage(c, SLOT_SENT, ROW_UDP, 0, tx_group(skb), now - e->base, now - e->last,
			     1);
}

static __noinline int tx_udp_freed(struct cpu_state *c, struct tx_entry *e, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();

	if (!c || !e || !skb)
		return 0;
	if (udp_same(e, skb) && e->where & TX_GIVEN)
		udp_sent(c, e, (__u64)skb, now);
	else if (udp_same(e, skb) && e->where != TX_UDP && !tx_is_unsampled(e))
		c->count.excluded[EXCL_PARENT][ROW_UDP]++;
	e->skb = 0;
	return 0;
}

/* Returns the stage that the dropped datagram did not reach; SLOT_MAX: another packet's entry. */
static __always_inline __u32 tx_udp_dropped(struct tx_entry *e, struct sk_buff *skb)
{
	__u32 where = e->where;
	bool same = udp_same(e, skb);

	if (same) {
		udp_note_time(e, (__u64)skb, 0, true);
		tx_path_end(e, (__u64)skb, 0);
	}
	e->skb = 0;
	if (!same)
		return SLOT_MAX;
	return where == TX_UDP ? SLOT_QDISC : where & TX_GIVEN ? SLOT_SENT : SLOT_DRIVER;
}

#endif
