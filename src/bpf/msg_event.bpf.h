/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Records messages for `record`: one for each receive call, when it returns. */
#ifndef HOSTLAT_BPF_MSG_EVENT_H
#define HOSTLAT_BPF_MSG_EVENT_H

#include <bpf/bpf_endian.h>

#include "bpf/abi_record.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the loader sets MSG_RING_BYTES for `record` */
} msg_ringbuf SEC(".maps");

__u64 msg_lost; /* message records lost because the ring was full */

const volatile __u32 msg_can_cast = 0; /* 1: the kernel has bpf_rdonly_cast() */

/* Direct reads where possible: a helper call per field is half of the cost of a record. */
#define MSG_SK_READ(sk, field) (msg_can_cast ? (sk)->field : BPF_CORE_READ(sk, field))

/*
 * Returns ns to `enqueued` from the packet's entry into TCP or UDP, else from `socket`; 0: unknown.
 * Until that time, the packet is on the CPU that it had at `link`.
 */
static __always_inline __u32 msg_transport_ns(__u32 transport, __u32 socket)
{
	return transport ? transport : socket;
}

/* Returns the socket's cookie; 0: the socket has no cookie yet. */
static __always_inline __u64 msg_socket_cookie(const struct sock *sk)
{
	if (!bpf_core_field_exists(sk->__sk_common.skc_cookie))
		return 0;
	return MSG_SK_READ(sk, __sk_common.skc_cookie.counter);
}

static __always_inline void msg_set_addresses(struct msg_flow *m, const struct sock *sk)
{
	__u32 address;

	if (m->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&m->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&m->remote, sk, __sk_common.skc_v6_daddr);
	} else if (m->family != AF_INET6) {
		address = MSG_SK_READ(sk, __sk_common.skc_rcv_saddr);
		__builtin_memcpy(m->local, &address, sizeof(address));
		address = MSG_SK_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(m->remote, &address, sizeof(address));
	}
}

static __always_inline void msg_set_flow(struct msg_flow *m, const struct sock *of, __u32 proto)
{
	const struct sock *sk = msg_can_cast ?
		bpf_rdonly_cast(of, bpf_core_type_id_kernel(struct sock)) : of;
	const struct inet_sock *inet = msg_can_cast ?
		bpf_rdonly_cast(of, bpf_core_type_id_kernel(struct inet_sock)) : (const void *)of;
	__u64 cookie = msg_socket_cookie(sk);

	m->proto = proto;
	m->sk = cookie ? cookie : (__u64)of;
	m->cookie = !!cookie;
	m->family = MSG_SK_READ(sk, __sk_common.skc_family);
	m->remote_port = bpf_ntohs(MSG_SK_READ(sk, __sk_common.skc_dport));
	/* skc_num is 0 once the connection is closed, while data may still be read */
	m->local_port = bpf_ntohs(MSG_SK_READ(inet, inet_sport));
	m->netns = msg_can_cast ? sk->__sk_common.skc_net.net->ns.inum :
			       BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	msg_set_addresses(m, sk);
}

/* Records a message whose read by task `t` is about to end. */
static __always_inline void msg_put_read(const struct task_state *t, __u32 proto, __u64 now)
{
	struct msg_record *m;
	__u64 id;

	m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&msg_lost, 1);
		return;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->type = MSG_TYPE_READ;
	id = bpf_get_current_pid_tgid();
	m->read = now;
	m->enqueued = t->oldest.enqueued;
	m->youngest = t->youngest;
	m->link = t->link;
	m->transport = msg_transport_ns(t->transport, t->socket);
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
	msg_set_flow(&m->flow, (const struct sock *)t->sk, proto);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

/* Records a datagram that was read before its sk_data_ready(), by an unknown reader. */
static __always_inline void msg_put_early(const struct queued *q, __u64 sk, __u64 when)
{
	struct msg_record *m;

	m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&msg_lost, 1);
		return;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->type = MSG_TYPE_READ;
	m->read = when;
	m->enqueued = q->s.enqueued < when ? q->s.enqueued : when;
	m->youngest = q->s.base;
	m->link = q->link;
	m->transport = msg_transport_ns(q->transport, q->socket);
	m->packets = 1;
	m->link_core = q->cores;
	m->enqueued_core = q->cores >> 16;
	m->read_core = CORE_UNKNOWN;
	msg_set_flow(&m->flow, (const struct sock *)sk, ROW_UDP);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

#endif
