/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Messages for a recording: each receive call's, when it returns. */
#ifndef HOSTLAT_BPF_TOLD_H
#define HOSTLAT_BPF_TOLD_H

#include <bpf/bpf_endian.h>

#include "bpf/abi_record.h"
#include "bpf/record.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* loader: TOLD_RING, if they are asked for */
} told_ring SEC(".maps");

__u64 told_lost; /* messages that found no room */

/* 0 if nobody has asked for it yet. */
static __always_inline __u64 told_cookie(const struct sock *sk)
{
	if (!bpf_core_field_exists(sk->__sk_common.skc_cookie))
		return 0;
	return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

static __always_inline void told_socket(struct told_message *m, const struct sock *sk)
{
	__u64 cookie = told_cookie(sk);
	__u32 address;

	m->sk = cookie ? cookie : (__u64)sk;
	m->cookie = !!cookie;
	m->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	m->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	/* skc_num is 0 once the connection is closed, and there may still be something to read */
	m->local_port = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	m->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (m->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&m->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&m->remote, sk, __sk_common.skc_v6_daddr);
	} else if (m->family != AF_INET6) {
		address = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		__builtin_memcpy(m->local, &address, sizeof(address));
		address = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(m->remote, &address, sizeof(address));
	}
}

/* `t`: its reader, whose read is about to end. */
static __always_inline void tell_read(const struct task_state *t, __u32 proto, __u64 now)
{
	struct told_message *m;
	__u64 id;

	m = bpf_ringbuf_reserve(&told_ring, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&told_lost, 1);
		return;
	}
	__builtin_memset(m, 0, sizeof(*m));
	id = bpf_get_current_pid_tgid();
	m->read = now;
	m->enqueued = t->oldest.enqueued;
	m->youngest = t->youngest;
	m->link = t->link;
	m->transport = t->transport;
	m->packets = t->n;
	m->pid = id >> 32;
	m->tid = id;
	m->proto = proto;
	m->link_core = t->cores;
	m->enqueued_core = t->cores >> 16;
	m->read_core = bpf_get_smp_processor_id();
	if (proto == ROW_TCP) {
		m->seq = t->oldest.seq;
		m->bytes = t->copied - t->oldest.seq;
	}
	told_socket(m, (const struct sock *)t->sk);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

/* A datagram that was read before it was announced: the reader isn't known any more. */
static __always_inline void tell_early(const struct queued *q, __u64 sk, __u64 when)
{
	struct told_message *m;

	m = bpf_ringbuf_reserve(&told_ring, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&told_lost, 1);
		return;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->read = when;
	m->enqueued = q->s.enqueued < when ? q->s.enqueued : when;
	m->youngest = q->s.base;
	m->link = q->link;
	m->transport = q->transport;
	m->packets = 1;
	m->proto = ROW_UDP;
	m->link_core = q->cores;
	m->enqueued_core = q->cores >> 16;
	m->read_core = CORE_UNKNOWN;
	told_socket(m, (const struct sock *)sk);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

#endif
