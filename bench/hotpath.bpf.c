/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The bodies of the watch programs, each many times in a row, on a live packet and its live socket.
 *
 * What is timed is a chain of bodies, because each needs what the one before it left: the cost of
 * one is the difference of two chains. All of them, the empty one and the control's take turns.
 */
#include <linux/bpf.h>
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#ifndef HOTPATH_BY
/*
 * The callback of bpf_loop() takes one of the verifier's eight stack frames, and the bodies need
 * all of them where groups are looked up. Without --by these calls are never made.
 */
#define by 0
#endif
#include "bpf/watch.bpf.c"
#include "bench/control.h"
#include "bench/hotpath.h"

const volatile __u32 bench_port = 0;
__u32 turn;
__u32 read_chain; /* the chain that is measured now; set by user space */
__u64 spent[CHAINS_SLOTS][BENCH_RUNS_SLOTS];
__u32 runs[CHAINS_SLOTS];

struct round {
	struct sock *sk;
	struct sk_buff *skb;
	struct cpu_state *c;
	struct tcp_socket *s;
	__u64 stamp;
};

/* The empty loop's body; also keeps the compiler from merging turns. */
static long round_empty(__u32 i, struct round *r)
{
	barrier_var(i);
	return 0;
}

/*
 * No packet gets from `link` to TCP in the few ns that lie between two bodies here; the step would
 * be one of those that are rare, and recorded the long way. What this costs counts as link's.
 */
static __always_inline void pass_link(struct round *r)
{
	struct link_entry *e;

	____link_tp(NULL, r->skb);
	e = link_find((__u64)r->skb);
	if (e) {
		e->p.link -= 300;
		e->p.s.base -= 300;
	}
}

static long round_link(__u32 i, struct round *r)
{
	pass_link(r);
	return 0;
}

static long round_transport(__u32 i, struct round *r)
{
	pass_link(r);
	____tcp_socket_tp(NULL, r->sk, r->skb);
	return 0;
}

static long round_control_ip(__u32 i, struct round *r)
{
	control_socket(CONTROL_IP, r->sk, r->skb);
	return 0;
}

static long round_control_transport(__u32 i, struct round *r)
{
	control_socket(CONTROL_TRANSPORT, r->sk, r->skb);
	return 0;
}

static long round_control_enqueued(__u32 i, struct round *r)
{
	control_socket(CONTROL_ENQUEUED, r->sk, r->skb);
	return 0;
}

/*
 * Writes tcp_probe's note for sk_data_ready: a packet that began one byte before the read data's
 * end.
 */
static __always_inline void put_packet(struct round *r)
{
	struct packet *p = &r->s->next;

	p->s.base = r->stamp;
	p->socket = r->stamp + 500;
	p->s.tag = TAG(PKT_IFACE) | ROW_STACK;
	p->s.seq = tcp_number(r->sk, copied_seq, FAST_PATH) - 1;
	if (by)
		p->s.group = group_of(r->sk, 0);
	r->s->next_is = NEXT_MEASURED;
}

static long round_made(__u32 i, struct round *r)
{
	put_packet(r);
	r->s->tail = r->s->head;
	return 0;
}

static long round_put(__u32 i, struct round *r)
{
	put_packet(r);
	____enqueued_tp(NULL, r->sk);
	r->s->tail = r->s->head; /* as if it had been read */
	return 0;
}

static long round_copied(__u32 i, struct round *r)
{
	put_packet(r);
	____enqueued_tp(NULL, r->sk);
	____tcp_copied_tp(NULL, r->sk);
	return 0;
}

static long round_returned(__u32 i, struct round *r)
{
	put_packet(r);
	____enqueued_tp(NULL, r->sk);
	____tcp_copied_tp(NULL, r->sk);
	____returned_tp(NULL, r->sk, 1, 0);
	return 0;
}

static long round_control_read(__u32 i, struct round *r)
{
	control_read(r->sk, r->stamp + realtime_offset);
	return 0;
}

static long round_passed_transport(__u32 i, struct round *r)
{
	____tcp_socket_tp_sampled(NULL, r->sk, r->skb);
	return 0;
}

static long round_passed_enqueued(__u32 i, struct round *r)
{
	____tcp_socket_tp_sampled(NULL, r->sk, r->skb);
	____enqueued_tp_sampled(NULL, r->sk);
	return 0;
}

static long round_passed_copied(__u32 i, struct round *r)
{
	____tcp_copied_tp_sampled(NULL, r->sk);
	return 0;
}

static long round_passed_read(__u32 i, struct round *r)
{
	____tcp_copied_tp_sampled(NULL, r->sk);
	____returned_tp(NULL, r->sk, 1, 0);
	return 0;
}

static long round_passed_link(__u32 i, struct round *r)
{
	____link_tp_sampled(NULL, r->skb);
	return 0;
}

#define TIME(chain, body)                                                                        \
	case chain:                                                                              \
		start = bpf_ktime_get_ns();                                                      \
		bpf_loop(BENCH_LOOP, body, &r, 0);                                               \
		end = bpf_ktime_get_ns();                                                        \
		break

static __always_inline void note(__u32 chain, __u64 ns)
{
	__u32 run;

	barrier_var(chain);
	chain &= CHAINS_SLOTS - 1;
	run = runs[chain];
	if (run >= BENCH_RUNS)
		return;
	barrier_var(run);
	run &= BENCH_RUNS_SLOTS - 1;
	spent[chain][run] = ns;
	runs[chain] = run + 1;
}

static __always_inline bool begin(struct round *r, struct sock *sk, struct sk_buff *skb)
{
	if (!bench_port || sk->__sk_common.skc_num != bench_port)
		return false;
	r->sk = sk;
	r->skb = skb;
	r->c = this_cpu();
	r->s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	r->stamp = bpf_ktime_get_ns() - 5000;
	return r->c && r->s;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(bench_packet, struct sock *sk, struct sk_buff *skb)
{
	__u32 seq, chain = CHAIN_EMPTY + turn % (CHAIN_PACKET_MAX - CHAIN_EMPTY);
	__u64 start = 0, end = 0;
	struct round r = {};

	if (!tcp_payload(skb, &seq) || !begin(&r, sk, skb))
		return 0;
	turn++;
	switch (chain) {
	TIME(CHAIN_EMPTY, round_empty);
	TIME(CHAIN_LINK, round_link);
	TIME(CHAIN_TRANSPORT, round_transport);
	TIME(CHAIN_CONTROL_IP, round_control_ip);
	TIME(CHAIN_CONTROL_TRANSPORT, round_control_transport);
	TIME(CHAIN_CONTROL_ENQUEUED, round_control_enqueued);
	TIME(CHAIN_PASSED_TRANSPORT, round_passed_transport);
	TIME(CHAIN_PASSED_ENQUEUED, round_passed_enqueued);
	}
	note(chain, end - start);
	return 0;
}

/* A program for each chain, for together they are too long for the verifier. */
#define READ_CHAIN(name, chain, body)                                                            \
	SEC("tp_btf/tcp_rcv_space_adjust")                                                       \
	int BPF_PROG(name, struct sock *sk)                                                      \
	{                                                                                        \
		struct round r = {};                                                             \
		__u64 start;                                                                     \
												 \
		if (read_chain != chain || !begin(&r, sk, NULL))                                 \
			return 0;                                                                \
		start = bpf_ktime_get_ns();                                                      \
		bpf_loop(BENCH_LOOP, body, &r, 0);                                               \
		note(chain, bpf_ktime_get_ns() - start);                                         \
		return 0;                                                                        \
	}

READ_CHAIN(bench_read_empty, CHAIN_READ_EMPTY, round_empty)
READ_CHAIN(bench_made, CHAIN_MADE, round_made)
READ_CHAIN(bench_put, CHAIN_PUT, round_put)
READ_CHAIN(bench_copied, CHAIN_COPIED, round_copied)
READ_CHAIN(bench_returned, CHAIN_RETURNED, round_returned)
READ_CHAIN(bench_control_read, CHAIN_CONTROL_READ, round_control_read)
READ_CHAIN(bench_passed_copied, CHAIN_PASSED_COPIED, round_passed_copied)
READ_CHAIN(bench_passed_read, CHAIN_PASSED_READ, round_passed_read)

/* Any packet for the port: the others are its acknowledgements' receivers'. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(bench_link, struct sk_buff *skb)
{
	struct round r = { .skb = skb };
	__u64 start = 0, end = 0;
	__u8 b[24] = {};

	bpf_probe_read_kernel(b, sizeof(b), skb->data);
	if (!bench_port || (__u32)(b[22] << 8 | b[23]) != bench_port)
		return 0;
	switch (CHAIN_LINK_EMPTY + turn % (CHAINS - CHAIN_LINK_EMPTY)) {
	TIME(CHAIN_LINK_EMPTY, round_empty);
	TIME(CHAIN_PASSED_LINK, round_passed_link);
	}
	note(CHAIN_LINK_EMPTY + turn % (CHAINS - CHAIN_LINK_EMPTY), end - start);
	return 0;
}

/* Loaded for their size only. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(control_size, struct sock *sk, struct sk_buff *skb)
{
	control_socket(CONTROL_TRANSPORT, sk, skb);
	return 0;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(control_read_size, struct sock *sk)
{
	control_read(sk, realtime_offset);
	return 0;
}
