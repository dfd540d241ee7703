/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * State of a sending socket: send calls whose bytes wait, and packets that wait for their
 * acknowledgement. All functions run under the socket's lock.
 */
#ifndef HOSTLAT_BPF_EGRESS_SOCKET_H
#define HOSTLAT_BPF_EGRESS_SOCKET_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/msg_send.bpf.h"

#define TCP_CLOSE 7
#define TCP_LAST_ACK 9
#define TCP_CLOSING 11

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tx_socket);
} tx_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tx_writer);
} tx_writers SEC(".maps");

/* ---- filters ---- */

/* --pid: returns true for a socket on which the selected process has sent or read. */
static __always_inline bool tx_is_selected_process(struct sock *sk)
{
	struct tcp_socket *s = tcp_state(sk, 0);

	return s && s->ours;
}

/* Returns true for sockets of the filter, and for both ends of the self-test's connection. */
static __always_inline bool tx_port_selected(struct sock *sk)
{
	__u32 port = sk->__sk_common.skc_dport;

	return sock_selected(sk) || (port >> 8 | (port & 0xff) << 8) == test_port;
}

/* ---- from the send call ---- */

struct tx_search {
	struct tx_writer *w;
	__u32 seq;
};

/* Drops the oldest send call if byte x->seq belongs to a later one; else returns 1: loop ends. */
static long tx_call_of(__u32 i, struct tx_search *x)
{
	struct tx_writer *w = x->w;

	if (w->tail - w->head < 2 || seq_after(w->ring[(w->head + 1) & (TX_CALLS - 1)].seq, x->seq))
		return 1;
	w->head++;
	return 0;
}

/*
 * Stores a send call. Bytes that wait when a socket is first seen are older than hostlat, and so
 * may be this call if it waits for buffer space. A call that added no bytes leaves its entry to the
 * next call.
 */
static __noinline int tx_call_begins(struct tx_writer *w, __u32 seq, __u32 sent, __u64 now)
{
	struct tx_call *newest;

	if (!w)
		return 0;
	if (!w->known) {
		w->known = 1;
		w->segmented = sent;
		if (sent != seq) {
			now = TX_BEFORE;
			seq = sent;
		}
	}
	/* no sampled packet has removed the calls: remove those whose bytes are all sent */
	if (sampling && w->tail - w->head >= TX_CALLS) {
		struct tx_search x = { .w = w, .seq = sent };

		bpf_loop(TX_CALLS, tx_call_of, &x, 0);
	}
	newest = &w->ring[(w->tail - 1) & (TX_CALLS - 1)];
	if (w->tail == w->head || newest->seq != seq) {
		if (w->tail - w->head >= TX_CALLS) {
			newest->since = TX_NO_ROOM;
			return 0;
		}
		newest = &w->ring[w->tail++ & (TX_CALLS - 1)];
	}
	newest->seq = seq;
	newest->since = now;
	return 0;
}

/*
 * Handles the begin or continuation of a send call: bytes that the call adds from now on count from
 * its begin. Without a free entry, the newest and the following calls are unknown.
 */
static __always_inline int tx_call(struct sock *sk)
{
	struct cpu_state *c = this_cpu();
	struct tcp_socket *s;
	struct tx_writer *w;
	__u64 caller, now;
	__u32 seq, sent;

	if (!c || !tx_port_selected(sk))
		return 0;
	if (filter_tgid) {
		if (!reader_selected())
			return 0;
		s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
		if (s)
			s->ours = 1;
	}
	if (!slot_selected(SLOT_SEGMENT))
		return 0;
	w = bpf_sk_storage_get(&tx_writers, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!w) {
		count_loss(c, SLOT_SEGMENT, LOSS_NO_STORAGE, ROW_TCP, 1);
		return 0;
	}
	caller = bpf_get_current_pid_tgid();
	if (w->calling && w->caller == caller && (!record_sends || w->msg_caller == caller))
		return 0;
	now = bpf_ktime_get_ns();
	seq = tcp_number(sk, write_seq, FAST_PATH_NONE);
	sent = tcp_number(sk, snd_nxt, FAST_PATH_NONE);
	if (record_sends)
		msg_call_begins(sk, w, caller, seq, sent, now);
	if (w->calling && w->caller == caller)
		return 0;
	w->calling = 1;
	w->caller = caller;
	tx_call_begins(w, seq, sent, now);
	return 0;
}

static __always_inline int tx_call_ends(struct sock *sk)
{
	struct tx_writer *w = bpf_sk_storage_get(&tx_writers, sk, NULL, 0);

	if (!w)
		return 0;
	if (record_sends)
		msg_call_ends(sk, w);
	w->calling = 0;
	w->end = tcp_number(sk, write_seq, FAST_PATH_NONE);
	return 0;
}

/*
 * --sample: returns true for a retransmission, which ends at or before snd_nxt. A retransmission
 * may be cut differently from the first transmission, and be sampled though the first was not.
 */
static __always_inline bool tx_is_again(struct sock *sk, __u32 end)
{
	return sampling && !seq_after(end, BPF_CORE_READ((struct tcp_sock *)sk, snd_nxt));
}

/* Records stage `segment`, from the send call of the first new byte, which retransmissions lack. */
static __always_inline void tx_segment(struct cpu_state *c, struct sock *sk, __u32 seq, __u32 len,
				       __u64 base, __u32 group)
{
	struct tx_writer *w = bpf_sk_storage_get(&tx_writers, sk, NULL, 0);
	struct tx_search x = { .w = w, .seq = seq };
	__u64 since;

	if (!w || !w->known) {
		count_loss(c, SLOT_SEGMENT, LOSS_NO_CALL, ROW_TCP, 1);
		return;
	}
	if (!seq_after(seq + len, w->segmented) || tx_is_again(sk, seq + len))
		return;
	if (seq_after(w->segmented, seq))
		x.seq = w->segmented;
	w->segmented = seq + len;
	if (w->tail - w->head >= 2) /* with one call, the byte can belong only to that call */
		bpf_loop(TX_CALLS, tx_call_of, &x, 0);
	since = w->ring[w->head & (TX_CALLS - 1)].since;
	if (seq_after(w->ring[w->head & (TX_CALLS - 1)].seq, x.seq) || since == TX_BEFORE ||
	    (!w->calling && !seq_after(w->end, x.seq)))
		count_loss(c, SLOT_SEGMENT, LOSS_NO_CALL, ROW_TCP, 1);
	else if (since == TX_NO_ROOM)
		count_loss(c, SLOT_SEGMENT, LOSS_FIFO_FULL, ROW_TCP, 1);
	else
		record_latency(c, SLOT_SEGMENT, ROW_TCP, 0, group, base - since, 1);
}

/* ---- acknowledgements ---- */

/* Stores a packet until its acknowledgement; a retransmission uses the original's entry. */
static __always_inline void tx_unacked(struct cpu_state *c, struct sock *sk, __u32 end, __u64 base,
				       __u32 group)
{
	struct tx_socket *s = bpf_sk_storage_get(&tx_sockets, sk, NULL,
						 BPF_SK_STORAGE_GET_F_CREATE);
	struct tx_unacked *u;

	if (!s) {
		count_loss(c, SLOT_ACKED, LOSS_NO_STORAGE, ROW_TCP, 1);
		return;
	}
	if ((s->any && !seq_after(end, s->end)) || tx_is_again(sk, end))
		return;
	s->end = end;
	s->any = 1;
	if (s->tail - s->head >= TX_RING) {
		count_loss(c, SLOT_ACKED, LOSS_FIFO_FULL, ROW_TCP, 1);
		return;
	}
	u = &s->ring[s->tail++ & (TX_RING - 1)];
	u->base = base;
	u->end = end;
	u->group = group;
}

struct tx_acks {
	struct cpu_state *c;
	struct tx_socket *s;
	__u64 now;
	__u32 ack;
};

static long tx_ack(__u32 i, struct tx_acks *x)
{
	struct tx_unacked *u = &x->s->ring[x->s->head & (TX_RING - 1)];

	if (x->s->head == x->s->tail || seq_after(u->end, x->ack))
		return 1;
	record_stage(x->c, SLOT_ACKED, ROW_TCP, 0, u->group, x->now - u->base, NO_STEP, 1);
	x->s->head++;
	return 0;
}

static __noinline int tx_acked_to(struct tx_socket *s, __u32 ack)
{
	struct tx_acks x = { .c = this_cpu(), .s = s, .now = bpf_ktime_get_ns(), .ack = ack };

	if (x.c && s)
		bpf_loop(TX_RING, tx_ack, &x, 0);
	return 0;
}

/* Records stage `acked`: any segment of an established connection has an acknowledgement number. */
static __always_inline int tx_acked(struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	struct tx_socket *s = bpf_sk_storage_get(&tx_sockets, sk, NULL, 0);
	struct cpu_state *c = this_cpu();

	if (c)
		c->departures++;
	if (s && s->head != s->tail &&
	    !seq_after(cb->ack_seq, tcp_number(sk, snd_nxt, FAST_PATH_NONE)))
		tx_acked_to(s, cb->ack_seq);
	return 0;
}

/*
 * Handles the last acknowledgements of a connection that this end closes: hooks see
 * acknowledgements in ESTABLISHED only. Mostly one more segment comes, which acknowledges all
 * packets. If it is the only segment since the close, the time of the state change that it causes
 * counts as the time of acknowledgement; otherwise the remaining packets are lost.
 */
static __always_inline int tx_closes(struct sock *sk, int to)
{
	struct tx_socket *s = bpf_sk_storage_get(&tx_sockets, sk, NULL, 0);
	__u32 segs;

	if (!s || s->head == s->tail)
		return 0;
	segs = tcp_number(sk, segs_in, FAST_PATH_NONE);
	if (to == TCP_FIN_WAIT1 || to == TCP_LAST_ACK)
		s->segs = segs;
	else if ((to == TCP_FIN_WAIT2 || to == TCP_CLOSING || to == TCP_CLOSE) &&
		 segs - s->segs == 1)
		tx_acked_to(s, tcp_number(sk, snd_una, FAST_PATH_NONE));
	return 0;
}

/*
 * Counts a closed connection's unacknowledged packets as lost. Resets the state for a reconnect.
 */
static __always_inline int tx_destroyed(struct sock *sk)
{
	struct tx_socket *s = bpf_sk_storage_get(&tx_sockets, sk, NULL, 0);
	struct tx_writer *w = bpf_sk_storage_get(&tx_writers, sk, NULL, 0);
	struct cpu_state *c = this_cpu();

	if (s && c) {
		count_loss(c, SLOT_ACKED, LOSS_NOT_ESTABLISHED, ROW_TCP, s->tail - s->head);
		s->head = s->tail;
		s->any = 0;
	}
	if (w) {
		w->head = w->tail;
		w->known = w->calling = 0;
		w->born = w->msg_caller = w->cut = w->paced_to = 0;
	}
	return 0;
}

static __always_inline int tx_state_changes(struct sock *sk, int to)
{
	tx_closes(sk, to);
	return to == TCP_SYN_SENT || to == TCP_CLOSE ? tx_destroyed(sk) : 0;
}

#endif
