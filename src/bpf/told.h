/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Messages for a recording: each receive call's, when it returns. */
#ifndef HOSTLAT_BPF_TOLD_H
#define HOSTLAT_BPF_TOLD_H

#include <bpf/bpf_endian.h>

#include "bpf/abi_record.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* loader: TOLD_RING, if they are asked for */
} told_ring SEC(".maps");

__u64 told_lost; /* records that found no room */

const volatile __u32 told_cast = 0; /* the kernel has bpf_rdonly_cast() */

/* A helper's call for each field is half of what telling costs. */
#define told_read(sk, field) (told_cast ? (sk)->field : BPF_CORE_READ(sk, field))

/* Up to there the packet was where it was received; without a hook at TCP's entry, to `socket`. */
static __always_inline __u32 told_transport(__u32 transport, __u32 socket)
{
	return transport ? transport : socket;
}

/* 0 if nobody has asked for it yet. */
static __always_inline __u64 told_cookie(const struct sock *sk)
{
	if (!bpf_core_field_exists(sk->__sk_common.skc_cookie))
		return 0;
	return told_read(sk, __sk_common.skc_cookie.counter);
}

static __always_inline void told_address(struct told_flow *m, const struct sock *sk)
{
	__u32 address;

	if (m->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&m->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&m->remote, sk, __sk_common.skc_v6_daddr);
	} else if (m->family != AF_INET6) {
		address = told_read(sk, __sk_common.skc_rcv_saddr);
		__builtin_memcpy(m->local, &address, sizeof(address));
		address = told_read(sk, __sk_common.skc_daddr);
		__builtin_memcpy(m->remote, &address, sizeof(address));
	}
}

static __always_inline void told_socket(struct told_flow *m, const struct sock *of, __u32 proto)
{
	const struct sock *sk = told_cast ?
		bpf_rdonly_cast(of, bpf_core_type_id_kernel(struct sock)) : of;
	const struct inet_sock *inet = told_cast ?
		bpf_rdonly_cast(of, bpf_core_type_id_kernel(struct inet_sock)) : (const void *)of;
	__u64 cookie = told_cookie(sk);

	m->proto = proto;
	m->sk = cookie ? cookie : (__u64)of;
	m->cookie = !!cookie;
	m->family = told_read(sk, __sk_common.skc_family);
	m->remote_port = bpf_ntohs(told_read(sk, __sk_common.skc_dport));
	/* skc_num is 0 once the connection is closed, and there may still be something to read */
	m->local_port = bpf_ntohs(told_read(inet, inet_sport));
	m->netns = told_cast ? sk->__sk_common.skc_net.net->ns.inum :
			       BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	told_address(m, sk);
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
	m->told = TOLD_MESSAGE;
	id = bpf_get_current_pid_tgid();
	m->read = now;
	m->enqueued = t->oldest.enqueued;
	m->youngest = t->youngest;
	m->link = t->link;
	m->transport = told_transport(t->transport, t->socket);
	m->packets = t->n;
	m->pid = id >> 32;
	m->tid = id;
	m->link_core = t->cores;
	m->enqueued_core = t->cores >> 16;
	m->read_core = bpf_get_smp_processor_id();
	if (proto == ROW_TCP) {
		m->seq = t->oldest.seq;
		m->bytes = t->copied - t->oldest.seq;
	}
	told_socket(&m->flow, (const struct sock *)t->sk, proto);
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
	m->told = TOLD_MESSAGE;
	m->read = when;
	m->enqueued = q->s.enqueued < when ? q->s.enqueued : when;
	m->youngest = q->s.base;
	m->link = q->link;
	m->transport = told_transport(q->transport, q->socket);
	m->packets = 1;
	m->link_core = q->cores;
	m->enqueued_core = q->cores >> 16;
	m->read_core = CORE_UNKNOWN;
	told_socket(&m->flow, (const struct sock *)sk, ROW_UDP);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

#endif
