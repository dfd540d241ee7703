/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Slow messages (--slower-than): the times of each stage, reported at the read. Until its read any
 * packet may turn out slow, so all packets carry their times.
 */
#ifndef HOSTLAT_BPF_SLOW_H
#define HOSTLAT_BPF_SLOW_H

#include <bpf/bpf_endian.h>

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/msg_event.bpf.h"
#include "event/layout.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the loader sets SLOW_RING for --slower-than */
} slow_ring SEC(".maps");

/* Input of slow_report(): a message and its reader. */
struct slow {
	const struct stamp *oldest;
	__u32 link, ip, transport, socket; /* oldest packet: ns from the stage to sk_data_ready() */
	__u32 packets;
	const struct task_state *reader; /* state of the reading task; NULL: unknown */
	__u64 sk, now;
};

/* True: a message took slower_than or more. False if its origin is after `now`: clock error. */
static __always_inline bool slow_exceeds(const struct stamp *p, __u64 now)
{
	return unlikely(slower_than && now > p->base && now - p->base >= slower_than);
}

/*
 * Returns the ns from the origin to a stage that was `before` ns before `enqueued`; 0 = unknown, or
 * before the origin. `before` is at most 2^32 - 1.
 */
static __always_inline __u64 slow_stage_ns(const struct stamp *p, __u32 before, __u32 slot)
{
	__u64 at = p->enqueued - before;

	return before && before != ~0U && slot_selected(slot) && at > p->base ? at - p->base : 0;
}

static __always_inline void slow_put_stages(struct event_slow *e, const struct slow *m)
{
	const struct stamp *p = m->oldest;

	e->at_ns[SLOW_AT(STAGE_LINK)] = slow_stage_ns(p, m->link, SLOT_LINK);
	e->at_ns[SLOW_AT(STAGE_IP)] = slow_stage_ns(p, m->ip, SLOT_IP);
	e->at_ns[SLOW_AT(STAGE_TRANSPORT)] = slow_stage_ns(p, m->transport, SLOT_TRANSPORT);
	e->at_socket_ns = slow_stage_ns(p, m->socket, SLOT_SOCKET);
	if (slot_selected(SLOT_ENQUEUED) && p->enqueued > p->base)
		e->at_ns[SLOW_AT(STAGE_ENQUEUED)] = p->enqueued - p->base;
	e->at_ns[SLOW_AT(STAGE_READ)] = m->now - p->base;
}

/*
 * Adds the reader's waits for a CPU since `from`, the time of `enqueued`, and the task that had the
 * CPU in the longest wait. Only the last WAIT_RING waits are stored: an older wait that ended after
 * `from` is unknown.
 */
static __always_inline void slow_waits(struct event_slow *e, const struct task_state *t, __u64 from)
{
	__u32 i;

	if (t->since > from)
		e->flags |= SLOW_WAITS_UNKNOWN;
	for (i = 0; i < WAIT_RING; i++) {
		const struct wait *w = &t->wait[(t->waits - 1 - i) & (WAIT_RING - 1)];
		__u64 ns = w->end - (w->start > from ? w->start : from);

		if (i >= t->waits || w->end <= from)
			return;
		if (w->blamed == WAIT_STOPPED) {
			e->stopped_ns += ns;
			continue;
		}
		e->wait_ns += ns;
		if (!w->pid || ns <= e->culprit_ns)
			continue;
		e->culprit_ns = ns;
		e->culprit_pid = w->tgid;
		e->culprit_tid = w->pid;
		__builtin_memcpy(e->culprit, w->comm, sizeof(e->culprit));
	}
	if (t->waits > WAIT_RING)
		e->flags |= SLOW_WAITS_PARTIAL;
}

static __always_inline void slow_reader(struct event_slow *e, const struct slow *m)
{
	const struct task_state *t = m->reader;
	const struct stamp *p = m->oldest;
	__u64 id = bpf_get_current_pid_tgid(), wake;

	e->pid = id >> 32;
	e->tid = id;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	slow_waits(e, t, p->enqueued);
	if (t->net_run <= p->enqueued) /* the reader was running: no packet woke it */
		return;
	wake = t->net_wake > p->enqueued ? t->net_wake : p->enqueued;
	if (slot_selected(SLOT_RUNNABLE) && wake > p->base)
		e->at_ns[SLOW_AT(STAGE_RUNNABLE)] = wake - p->base;
	if (slot_selected(SLOT_RUNNING) && t->net_run > p->base)
		e->at_ns[SLOW_AT(STAGE_RUNNING)] = t->net_run - p->base;
}

static __always_inline void slow_socket(struct event_slow *e, const struct sock *sk)
{
	__u32 address;

	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	e->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	/* skc_num is 0 once the connection is closed, while data may still be read */
	e->local_port = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	e->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (e->family == AF_INET6) {
		if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
			return;
		BPF_CORE_READ_INTO(&e->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&e->remote, sk, __sk_common.skc_v6_daddr);
		return;
	}
	address = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	__builtin_memcpy(e->local, &address, sizeof(address));
	address = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	__builtin_memcpy(e->remote, &address, sizeof(address));
}

/* ns of the slowest message in the ring; user space resets it. Two CPUs may set it at once. */
__u64 slow_max_ns = 0;

/*
 * Returns true if the ring accepts a message of `ns`. The last quarter of the ring is for messages
 * slower than all before: of n messages in random order, about ln n are.
 */
static __always_inline bool slow_has_room(__u64 ns)
{
	if (ns <= slow_max_ns)
		return bpf_ringbuf_query(&slow_ring, BPF_RB_AVAIL_DATA) < SLOW_RING / 4 * 3;
	slow_max_ns = ns;
	return true;
}

/* Reports a slow message. The ring limits their rate; messages that do not fit are counted. */
static __always_inline void slow_report(struct cpu_state *c, __u32 proto, const struct slow *m)
{
	struct event_slow *e = NULL;

	if (slow_has_room(m->now - m->oldest->base))
		e = bpf_ringbuf_reserve(&slow_ring, sizeof(*e), 0);
	if (!e) {
		/* atomic, as softirqs may interrupt this code */
		__sync_fetch_and_add(&c->count.suppressed[proto], 1);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->direction = DIR_INGRESS;
	e->protocol = proto == ROW_TCP ? PROTO_TCP : PROTO_UDP;
	e->origin = m->oldest->origin; /* enum row_origin; user space converts it to enum origin */
	e->read_ns = m->now;
	e->packets = m->packets;
	slow_put_stages(e, m);
	if (m->reader)
		slow_reader(e, m);
	slow_socket(e, (const struct sock *)m->sk);
	bpf_ringbuf_submit(e, 0);
}

/* Handles the end of a slow read; in a recording, the end of each read. */
static __noinline int slow_read(struct cpu_state *c, struct task_state *t, __u32 proto, __u64 now)
{
	struct slow m;

	if (!c || !t || proto >= ROW_PROTOS)
		return 0;
	m = (struct slow){
		.oldest = &t->oldest, .link = t->link, .ip = t->ip, .transport = t->transport,
		.socket = t->socket, .packets = t->n, .reader = t, .sk = t->sk, .now = now,
	};
	if (recording && !requests)
		msg_put_read(t, proto, now);
	if (!recording || (slow_too && now - t->oldest.base >= slow_too))
		slow_report(c, proto, &m);
	return 0;
}

/* Handles a datagram that was read before its sk_data_ready(), by an unknown reader. */
static __noinline int slow_early(struct cpu_state *c, const struct queued *q, __u64 sk, __u64 now)
{
	struct slow m;

	if (!c || !q)
		return 0;
	m = (struct slow){
		.oldest = &q->s, .link = q->link, .ip = q->ip, .transport = q->transport,
		.socket = q->socket, .packets = 1, .sk = sk, .now = now,
	};
	if (recording && !requests)
		msg_put_early(q, sk, now);
	if (!recording || (slow_too && now - q->s.base >= slow_too))
		slow_report(c, ROW_UDP, &m);
	return 0;
}

#endif
