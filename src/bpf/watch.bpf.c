// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * Receive latency by stage, without fentry.
 *
 * Each hook does one of three things: it notes a time (link, ip, UDP's transport), it records the
 * stages passed so far once the packet is known to be payload for a socket of the filter
 * (transport, enqueued), or it records what only the reader's side knows (runnable, running,
 * read). Several programs may serve one hook; the loader keeps the first that the kernel takes.
 */
#include "bpf/link.h"
#include "bpf/tcp.h"
#include "bpf/udp.h"
#include "bpf/drop.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NF_ACCEPT 1
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define EFAULT 14
/* include/linux/sched.h */
#define TASK_RUNNING 0
#define TASK_STOPPED 4
#define TASK_TRACED 8

/* ---- link ---- */

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(link_tp, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	struct link_entry *e = link_claim((__u64)skb);
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	c->announced = 0;
	e->skb = 0; /* whoever reads it now on another CPU must not believe it */
	e->p.link = now;
	e->p.ip = e->p.transport = 0;
	e->p.s.flags = iface_selected(skb) ? PKT_IFACE : 0;
	origin_by_packet(c, &e->p, skb);
	if (origin_asked != ROW_ORIGINS)
		origin_forced(&e->p);
	e->skb = (__u64)skb;
	return 0;
}

/* ---- ip, and transport for UDP ---- */

static __always_inline struct link_entry *passing(struct sk_buff *skb)
{
	struct link_entry *e = link_find((__u64)skb);

	return e && !(e->p.s.flags & PKT_USED) ? e : NULL;
}

SEC("netfilter/prerouting")
int ip_nf(struct bpf_nf_ctx *ctx)
{
	struct link_entry *e = passing(ctx->skb);

	if (e)
		e->p.ip = bpf_ktime_get_ns();
	return NF_ACCEPT;
}

static __always_inline int udp_arrives(struct sk_buff *skb)
{
	struct link_entry *e = passing(skb);
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	c->udp_skb = 0;
	if (!e || !link_same(e, skb))
		return 0;
	e->p.transport = bpf_ktime_get_ns();
	c->udp_skb = (__u64)skb;
	return 0;
}

SEC("netfilter/local_in")
int udp_transport_nf(struct bpf_nf_ctx *ctx)
{
	if (is_udp(ctx->skb))
		udp_arrives(ctx->skb);
	return NF_ACCEPT;
}

void *bpf_cast_to_kern_ctx(void *) __ksym __weak;

SEC("cgroup_skb/ingress")
int udp_transport_cgroup(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;

	if (sk && sk->protocol == IPPROTO_UDP)
		udp_arrives(bpf_cast_to_kern_ctx(skb));
	return 1;
}

SEC("fentry/udp_rcv")
int BPF_PROG(udp_transport_fentry, struct sk_buff *skb)
{
	return udp_arrives(skb);
}

SEC("fentry/udpv6_rcv")
int BPF_PROG(udp_transport6_fentry, struct sk_buff *skb)
{
	return udp_arrives(skb);
}

/* ---- transport for TCP ---- */

/* The packet's way so far. Without an entry it goes on as a loss of every stage. */
static __always_inline void packet_of(struct packet *p, __u64 skb)
{
	struct link_entry *e = link_find(skb);

	if (e)
		*p = e->p;
	if (!e || e->skb != skb) { /* displaced, maybe while we read it */
		*p = (struct packet){
			.s = { .flags = PKT_IFACE | PKT_FORCED_MISS, .why = LOSS_NO_LINK_STAMP },
		};
		return;
	}
	e->p.s.flags |= PKT_XPORT;
}

static __noinline int tcp_lost(struct cpu_state *c, struct sock *sk, __u32 slot, __u32 why)
{
	struct tcp_socket *s = tcp_state(sk, 0);

	if (counts(s ? s->ours : 0))
		count_loss(c, slot, why, ROW_TCP, 1);
	return 0;
}

static __noinline int tcp_out_of_order(struct cpu_state *c, struct sock *sk, struct packet *p)
{
	struct tcp_socket *s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	struct ooo_queue *q = bpf_sk_storage_get(&ooo_queues, sk, NULL,
						 BPF_SK_STORAGE_GET_F_CREATE);

	if (!s || !q) {
		count_loss(c, SLOT_ENQUEUED, LOSS_NO_STORAGE, ROW_TCP, 1);
		return 0;
	}
	return ooo_add(c, s, q, p);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_transport_tp, struct sock *sk, struct sk_buff *skb)
{
	struct cpu_state *c = this_cpu();
	struct tcp_sock *tp;
	struct scratch *x;
	struct packet *p;
	__u32 seq, len, rcv_nxt;
	__u64 now;

	if (!c || !sock_selected(sk))
		return 0;
	len = tcp_payload(skb, &seq);
	if (!len) {
		if (!filter_tgid) /* whose it would have been is not known */
			c->count.excluded[EXCL_PURE_ACK][ROW_TCP]++;
		return 0;
	}
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	rcv_nxt = tp->rcv_nxt;
	keep(rcv_nxt); /* one load: this kind of pointer is checked at each */
	if (!after(seq + len, rcv_nxt)) {
		if (!filter_tgid)
			c->count.excluded[EXCL_DUPLICATE][ROW_TCP]++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	x = tcp_scratch(c, sk);
	p = &x->p;
	x->sk = 0;
	packet_of(p, (__u64)skb);
	if (!(p->s.flags & PKT_IFACE))
		return 0;
	p->transport = now;
	p->s.seq = after(rcv_nxt, seq) ? rcv_nxt : seq; /* the first byte that is new */
	x->end = seq + len;
	origin_delivered(c, p, skb, now);
	if (!filter_tgid) {
		record_lower(c, p, ROW_TCP);
		record_transport(c, p, ROW_TCP);
	}
	if (after(seq, rcv_nxt))
		tcp_out_of_order(c, sk, p);
	else if (sk->sk_rcvlowat > 1)
		tcp_lost(c, sk, SLOT_ENQUEUED, LOSS_LOWAT);
	else
		x->sk = (__u64)sk;
	return 0;
}

/* ---- enqueued ---- */

/*
 * An announcement without a tcp_probe before it: that tracepoint fires in ESTABLISHED only, and
 * payload also comes with the last segment of the handshake, or after this end has sent its FIN.
 */
static __noinline int tcp_unprobed(struct cpu_state *c, struct sock *sk)
{
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	__u8 state = sk->__sk_common.skc_state;
	struct link_entry *e = link_find((__u64)tail);
	struct tcp_socket *s;
	struct packet p;

	if (state == TCP_LISTEN || sk->sk_type != SOCK_STREAM || !sock_selected(sk))
		return 0;
	if (!e || (e->p.s.flags & (PKT_USED | PKT_XPORT))) {
		if (state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2) /* merged: it can't be told */
			tcp_lost(c, sk, SLOT_ENQUEUED, LOSS_NOT_ESTABLISHED);
		return 0;
	}
	e->p.s.flags |= PKT_USED;
	p = e->p;
	s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s || !(p.s.flags & PKT_IFACE) || !tcp_payload(tail, &p.s.seq))
		return 0;
	if (!filter_tgid) {
		record_lower(c, &p, ROW_TCP);
		if (selected(SLOT_TRANSPORT))
			count_loss(c, SLOT_TRANSPORT, LOSS_NOT_ESTABLISHED, ROW_TCP, 1);
	}
	tcp_enqueue(c, s, &p, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int tcp_enqueued(struct cpu_state *c, struct sock *sk)
{
	struct scratch *x = tcp_scratch(c, sk);
	__u8 state = sk->__sk_common.skc_state;
	struct tcp_socket *s;
	struct ooo_queue *q;
	struct tcp_sock *tp;
	__u64 now;

	if (x->sk != (__u64)sk || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2)
		return tcp_unprobed(c, sk);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !after(tp->rcv_nxt, x->p.s.seq))
		return 0; /* no memory: announced first; then it is queued, or dropped */
	x->sk = 0;
	now = bpf_ktime_get_ns();
	c->announced = now;
	s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s) {
		count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_TCP, 1);
		return 0;
	}
	tcp_enqueue(c, s, &x->p, now);
	if (!s->n_ooo)
		return 0;
	q = bpf_sk_storage_get(&ooo_queues, sk, NULL, 0);
	if (q)
		ooo_release(c, s, q, (__u64)x->end << 32 | tp->rcv_nxt, now);
	return 0;
}

static __always_inline int udp_enqueued(struct cpu_state *c, struct sock *sk)
{
	struct link_entry *e;
	struct udp_socket *s;
	struct packet p;
	__u64 now;

	if (!sock_selected(sk)) {
		c->udp_skb = 0;
		return 0;
	}
	now = bpf_ktime_get_ns();
	c->announced = now;
	e = udp_announced(c, sk);
	if (e) {
		e->p.s.flags |= PKT_USED;
		e->p.s.enqueued = now;
		p = e->p;
		if (!(p.s.flags & PKT_IFACE))
			p.s.flags |= PKT_SKIP;
		else if (!filter_tgid)
			udp_record(c, &p);
	} else { /* its place in the FIFO is kept, so that the others stay in step */
		if (!filter_tgid)
			count_loss(c, SLOT_ENQUEUED, LOSS_RACE, ROW_UDP, 1);
		p = (struct packet){
			.s = { .enqueued = now, .flags = PKT_FORCED_MISS, .why = LOSS_RACE },
		};
	}
	if (!read_udp)
		return 0;
	s = udp_storage(sk, 1);
	if (!s) {
		count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_UDP, 1);
		return 0;
	}
	udp_resync(c, s, sk, now);
	udp_push(c, s, &p);
	return 0;
}

static __always_inline int announced(struct sock *sk)
{
	struct cpu_state *c = this_cpu();
	__u32 protocol = sk->sk_protocol;

	if (!c)
		return 0;
	if (protocol == IPPROTO_TCP)
		return tcp_enqueued(c, sk);
	if (protocol == IPPROTO_UDP && is_udp_socket(sk))
		return udp_enqueued(c, sk);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(enqueued_tp, struct sock *sk)
{
	return announced(sk);
}

SEC("fentry/sock_def_readable")
int BPF_PROG(enqueued_fentry, struct sock *sk)
{
	return announced(sk);
}

/* ---- runnable and running ---- */

SEC("tp_btf/sched_waking")
int BPF_PROG(waking_tp, struct task_struct *task)
{
	struct cpu_state *c = this_cpu();
	struct task_state *t;
	__u64 now, since;

	if (!c)
		return 0;
	since = c->announced;
	t = task_get(task, since ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (t->stopped_since)
		task_continued(t, now);
	t->runnable_since = now;
	t->net = 0;
	if (!since)
		return 0;
	if (now - since > ANNOUNCE_WINDOW) {
		c->announced = 0;
	} else {
		t->net = 1;
		t->net_wake = now;
	}
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(timer_tp, int vector)
{
	struct cpu_state *c = this_cpu();

	if (c)
		c->announced = 0;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_tp, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu_state *c = this_cpu();
	struct task_state *t;

	if (!c)
		return 0;
	t = task_get(next, 0);
	if (t)
		task_runs(c, t, now);
	t = task_get(prev, 0);
	if (t) {
		/*
		 * Going to sleep, it may have been woken already by another CPU: that stays. What
		 * is left of a waking that found it running is replaced by the next.
		 */
		if (preempt || prev_state == TASK_RUNNING) {
			t->runnable_since = now;
			t->net = 0;
		}
		t->stopped_since = prev_state & (TASK_STOPPED | TASK_TRACED) ? now : 0;
	}
	c->announced = 0;
	cpu_taken(c, next, now);
	return 0;
}

/* ---- read ---- */

/* After a splice, what was read is gone from the queue; a receive call still looks at it. */
static __always_inline bool spliced(const struct sock *sk, __u32 copied)
{
	const struct sk_buff *head = sk->sk_receive_queue.next;
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)head->cb;

	return !sk->sk_receive_queue.qlen || !after(copied, cb->seq);
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_copied_tp, struct sock *sk)
{
	struct tcp_socket *s = tcp_state(sk, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct cpu_state *c = this_cpu();
	struct tcp_read x = {};
	struct queued *p;

	if (!s || !tp || !c)
		return 0;
	x.copied = tp->copied_seq;
	p = tcp_head(s);
	if (!p || !after(x.copied, p->s.seq))
		return 0;
	x.c = c;
	x.s = s;
	if (reader_selected()) {
		x.t = task_get(bpf_get_current_task_btf(), BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!x.t) {
			count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_TCP, 1);
			return 0;
		}
		if (x.t->n && x.t->sk != (__u64)sk) {
			count_loss(c, SLOT_READ, LOSS_UNSUPPORTED_SPLICE, ROW_TCP, x.t->n);
			x.t->n = 0;
		}
		x.t->sk = (__u64)sk;
		if (filter_tgid)
			s->ours = 1;
	}
	if (x.t)
		take(c, x.t, p, ROW_TCP);
	tcp_pop(s);
	p = tcp_head(s);
	if (p && after(x.copied, p->s.seq))
		bpf_loop(EXT_RING + TCP_RING, tcp_take, &x, 0);
	if (x.t && (!read_announced || spliced(sk, x.copied)))
		finish_read(c, x.t, ROW_TCP, bpf_ktime_get_ns());
	return 0;
}

/*
 * Did an earlier call take the packet? Then it was a splice that left a part of it behind. One
 * byte of grace: a FIN. With a ULP (TLS) a call returns fewer bytes than it takes from the queue.
 */
static __noinline int tcp_taken_before(struct sock *sk, __u32 seq, __u32 returned)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return tp && !tp->inet_conn.icsk_ulp_ops && after(tp->copied_seq - returned - 1, seq);
}

/* `returned` is below zero if it isn't known. */
static __always_inline int tcp_returned(struct sock *sk, int returned)
{
	struct task_state *t = task_get(bpf_get_current_task_btf(), 0);
	struct cpu_state *c;

	if (!t || !t->n)
		return 0;
	c = this_cpu();
	if (!c)
		return 0;
	if (t->sk == (__u64)sk &&
	    (returned < 0 || !tcp_taken_before(sk, t->oldest.seq, returned))) {
		finish_read(c, t, ROW_TCP, bpf_ktime_get_ns());
		return 0;
	}
	count_loss(c, SLOT_READ, LOSS_UNSUPPORTED_SPLICE, ROW_TCP, t->n);
	t->n = 0;
	return 0;
}

/* A datagram that couldn't be copied (EFAULT) has left the queue, too, but nobody read it. */
static __always_inline int udp_returned(struct sock *sk, bool copied)
{
	struct cpu_state *c = this_cpu();
	struct udp_socket *s;

	if (!c || !sock_selected(sk))
		return 0;
	s = udp_storage(sk, 0);
	if (s)
		udp_pop(c, s, copied && reader_selected(), bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(returned_tp, struct sock *sk, int ret, int flags)
{
	__u32 protocol = sk->sk_protocol;

	if (flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	if (protocol == IPPROTO_UDP && is_udp_socket(sk))
		return ret < 0 && ret != -EFAULT ? 0 : udp_returned(sk, ret >= 0);
	if (protocol == IPPROTO_TCP && ret >= 0)
		return tcp_returned(sk, ret);
	return 0;
}

SEC("fexit/tcp_recvmsg")
int BPF_PROG(tcp_returned_fexit, struct sock *sk)
{
	return tcp_returned(sk, -1);
}

SEC("fentry/skb_consume_udp")
int BPF_PROG(udp_returned_fentry, struct sock *sk, struct sk_buff *skb, int len)
{
	return len < 0 ? 0 : udp_returned(sk, true); /* below zero: a peek */
}

/* ---- drops, and the end of a socket ---- */

SEC("tp_btf/kfree_skb")
int BPF_PROG(drop_tp, struct sk_buff *skb, void *where, unsigned int reason, struct sock *sk)
{
	return dropped(skb, reason, sk);
}

/* Before 6.11 the tracepoint doesn't name the socket. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(drop_old_tp, struct sk_buff *skb, void *where, unsigned int reason)
{
	return dropped(skb, reason, NULL);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(destroy_tp, struct sock *sk)
{
	struct tcp_entry *e = tcp_entry(sk);
	struct tcp_socket *s = tcp_state(sk, 0);

	if (!s)
		return 0;
	ext_return(s);
	if (s != &e->s)
		return 0;
	s->head = s->tail = s->n_ooo = 0;
	e->sk = 0;
	return 0;
}

/* What is left of a connection before: connect(AF_UNSPEC) and connect() again, or its address. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(connect_tp, struct sock *sk, int from, int to)
{
	struct tcp_socket *s;

	if ((to != TCP_SYN_SENT && from != TCP_SYN_RECV) || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	s = tcp_state(sk, 0);
	if (!s)
		return 0;
	ext_return(s);
	s->head = s->tail;
	s->n_ooo = 0;
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(task_end_tp, struct task_struct *task)
{
	task_end(task);
	return 0;
}
