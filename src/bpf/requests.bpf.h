/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Requests as messages (record --boundary request). When a call returns, the bytes in the
 * application's own buffer are parsed: in order, once, independent of packet boundaries.
 * bpf/stream.h parses both directions; the n-th reply answers the n-th request. A connection that
 * cannot be followed any more is abandoned, and the reason counted: nothing is guessed.
 */
#ifndef HOSTLAT_BPF_REQUESTS_H
#define HOSTLAT_BPF_REQUESTS_H

#include "bpf/abi.h"
#include "bpf/abi_record.h"
#include "bpf/call_buffer.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/stream.h"
#include "bpf/stream_word.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/msg_event.bpf.h"

/*
 * Limit of parsing per call: preemption is off meanwhile, and the peer chooses the number of bytes.
 * A byte takes 30 to 90 ns; other work is counted in bytes as well.
 */
#define REQUEST_BYTES 8192
#define REQUEST_WORK (REQUEST_BYTES + REQUEST_BYTES / CHUNK * WORK_COPY)
#define WORK_COPY 4     /* copying a chunk from user space costs as much as parsing so many bytes */
#define WORK_LINE 4     /* finding a line's end in a chunk costs as much as parsing so many bytes */
#define WORK_ARRIVALS 8 /* comparing this many arrivals costs as much as parsing one byte */
#define MSG_TRUNC 0x20

struct request_walk {
	struct request_conn *r;
	struct request_side *side;
	struct sock *sk;
	struct call_buffer buffer;
	/* received bytes: end of the receive call; sent bytes: begin of the send call */
	__u64 time;
	__u64 caller;
	__u32 left;     /* bytes of the call not parsed yet */
	__u32 seq;      /* sequence number of the next byte */
	__u32 at, n;    /* parsed bytes and all bytes of the chunk */
	__u32 core;
	__u32 reply;    /* 1: the bytes are sent; 0: received */
	__u32 missed;   /* enum request_missed: why parsing of the call's bytes ended early */
	__u32 found;    /* result of request_find(): index of the packet */
};

/* ---- arrival of a byte ---- */

/* Finds the packet with byte w->seq: the youngest that begins at or before that byte. */
static long request_find(__u32 i, struct request_walk *w)
{
	struct request_conn *r = w->r;
	__u32 at = r->arrivals - 1 - i;

	if (i >= r->arrivals)
		return 1;
	if (seq_after(r->arrived[at & (ARRIVALS - 1)].seq, w->seq))
		return 0;
	w->found = at;
	return 1;
}

/* Returns the arrival of the byte at w->seq; NULL: unknown. */
static __always_inline struct request_arrival *request_arrival(struct request_walk *w)
{
	struct request_arrival *a;

	w->found = w->r->arrivals;
	w->side->work += (__u32)bpf_loop(ARRIVALS, request_find, w, 0) / WORK_ARRIVALS;
	if (w->found == w->r->arrivals)
		return NULL;
	a = &w->r->arrived[w->found & (ARRIVALS - 1)];
	return a->enqueued && a->link != ~0U ? a : NULL;
}

static __always_inline void request_begins(struct request_walk *w)
{
	struct request_arrival *a = request_arrival(w);

	w->r->begins = a ? *a : (struct request_arrival){};
	w->r->begins.seq = w->seq;
}

/* ---- events of a byte ---- */

/* Ends a request; w->seq is its last byte. */
static __noinline int request_ends(struct request_walk *w, __u32 events)
{
	struct request_conn *r = w->r;
	struct request_arrival *last;
	struct request_pending *q;
	__u32 tail;

	if (!r)
		return 1;
	if (events & STREAM_NO_REPLY) {
		request_missed(MISSED_NO_REPLY);
		return 0;
	}
	tail = r->tail;
	if (tail - r->head >= REQUESTS) {
		w->missed = MISSED_FULL;
		return 1;
	}
	last = request_arrival(w);
	q = &r->waiting[tail & (REQUESTS - 1)];
	q->first = r->begins;
	q->last = last ? last->enqueued - last->link : 0;
	q->read = w->time;
	q->bytes = w->seq + 1 - r->begins.seq;
	q->pid = w->caller >> 32;
	q->tid = w->caller;
	q->core = w->core;
	q->no_body = !!(events & STREAM_NO_BODY);
	__sync_fetch_and_add(&r->tail, 1); /* a barrier: the sending side sees a complete entry */
	return 0;
}

static __always_inline void request_report(struct request_walk *w, const struct request_pending *q)
{
	struct msg_request *m;

	if (!q->first.enqueued || !q->last) {
		request_missed(MISSED_ARRIVAL);
		return;
	}
	m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&msg_lost, 1);
		return;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->m.type = MSG_TYPE_REQUEST;
	m->m.link = q->first.link;
	m->m.read = q->read;
	m->m.enqueued = q->first.enqueued;
	m->m.youngest = q->last;
	m->m.transport = q->first.transport;
	m->m.seq = q->first.seq;
	m->m.bytes = q->bytes;
	m->m.pid = q->pid;
	m->m.tid = q->tid;
	m->m.link_core = q->first.link_core;
	m->m.enqueued_core = q->first.enqueued_core;
	m->m.read_core = q->core;
	m->sent = w->r->since;
	m->sent_core = w->r->since_core;
	msg_set_flow(&m->m.flow, w->sk, ROW_TCP);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

static __noinline int request_answered(struct request_walk *w)
{
	struct request_conn *r = w->r;
	__u32 head;

	if (!r)
		return 1;
	head = r->head;
	if (head == READ_ONCE(r->tail)) {
		w->missed = MISSED_REQUEST;
		return 1;
	}
	request_report(w, &r->waiting[head & (REQUESTS - 1)]);
	__sync_fetch_and_add(&r->head, 1);
	return 0;
}

/* Handles the parser's events. Returns 1 to abandon the connection. */
static __always_inline long request_event(struct request_walk *w, __u32 events)
{
	if (events & STREAM_BAD) {
		w->missed = !w->reply && !w->r->tail ? MISSED_PROTOCOL : MISSED_UNFOLLOWED;
		return 1;
	}
	if (!w->reply)
		return events & STREAM_END ? request_ends(w, events) : 0;
	return events & STREAM_HEAD ? request_answered(w) : 0;
}

/* ---- the bytes of a call ---- */

/*
 * Parses a byte. Returns enum stream_event. A global subprogram, as the verifier checks the
 * callback of a loop many times.
 */
GLOBAL_SUBPROG int request_parse(struct stream_parser *s, __u32 c, bool reply, bool no_body)
{
	if (!s)
		return STREAM_BAD;
	return reply ? stream_reply(s, c, no_body) : stream_request(s, c);
}

GLOBAL_SUBPROG int request_skip_bytes(struct stream_parser *s, __u64 n)
{
	return s ? stream_skip(s, n) : STREAM_BAD;
}

/* Parses the next byte of the call. Returns enum stream_event. */
static __always_inline __u32 request_feed(struct request_walk *w, __u8 c)
{
	struct request_side *side = w->side;
	struct request_conn *r = w->r;
	struct stream_parser *s;

	if (!side || !r)
		return STREAM_BAD;
	s = &side->stream;
	if (s->state == AT_START && !w->reply) {
		request_begins(w);
	} else if (s->state == AT_START) {
		r->since = w->time;
		r->since_core = w->core;
		s->protocol = r->in.stream.protocol;
	}
	return request_parse(s, c, w->reply, r->waiting[r->head & (REQUESTS - 1)].no_body);
}

/* Begins the next buffer of the call's iovec array. Returns 1 at its end or if unreadable. */
static __always_inline int request_next_buffer(struct request_walk *w)
{
	struct user_vector v;

	w->side->work += WORK_COPY;
	if (!w->buffer.n || bpf_probe_read_user(&v, sizeof(v), (void *)w->buffer.vector)) {
		w->missed = MISSED_BUFFER;
		return 1;
	}
	w->buffer.vector += sizeof(v);
	w->buffer.n--;
	w->buffer.base = v.base;
	w->buffer.len = v.len;
	w->at = w->n = 0;
	return 0;
}

static __always_inline void request_advance(struct request_walk *w, __u64 n)
{
	w->buffer.base += n;
	w->buffer.len -= n;
	w->left -= n;
	w->seq += n;
}

/* Skips bytes of a body, and stores their number in *n. Returns enum stream_event. */
static __always_inline __u32 request_skip(struct request_walk *w, __u64 *n)
{
	struct request_side *side = w->side;
	__u64 most;

	if (!side || !n)
		return STREAM_BAD;
	most = side->stream.skip;
	if (most > w->buffer.len)
		most = w->buffer.len;
	if (most > w->left)
		most = w->left;
	*n = most;
	w->at = w->n = 0;
	return request_skip_bytes(&side->stream, most);
}

static __always_inline int request_read_chunk(struct request_walk *w)
{
	__u64 n = w->buffer.len;

	if (n > w->left)
		n = w->left;
	if (n > CHUNK)
		n = CHUNK;
	w->side->work += WORK_COPY;
	barrier_var(n);
	if (n > CHUNK || !n ||
	    bpf_probe_read_user(w->side->chunk, n, (void *)w->buffer.base)) {
		w->missed = MISSED_BUFFER;
		return 1;
	}
	w->at = 0;
	w->n = n;
	return 0;
}

/* Returns how many bytes of the chunk, from `at` to `end`, precede the end of the line. */
GLOBAL_SUBPROG int request_line(struct request_side *side, __u32 at, __u32 end)
{
	int n = 0;

	if (!side)
		return 0;
	for (; n < CHUNK && at + n < end; n++)
		if (side->chunk[(at + n) & (CHUNK - 1)] == '\n')
			break;
	return n;
}

/* Parses the next byte, or skips *n bytes that cause no event. Returns enum stream_event. */
static __always_inline __u32 request_look(struct request_walk *w, __u64 *n)
{
	if (stream_ignores_line(&w->side->stream)) {
		w->side->work += WORK_LINE;
		*n = (__u32)request_line(w->side, w->at, w->n);
		w->at += *n;
		if (*n)
			return 0;
		*n = 1;
	}
	return request_feed(w, w->side->chunk[w->at++ & (CHUNK - 1)]);
}

static long request_step(__u32 i, struct request_walk *w)
{
	__u64 n = 1;
	__u32 events;

	if (!w->left)
		return 1;
	if (w->side->work++ >= REQUEST_WORK) {
		w->missed = MISSED_LARGE;
		return 1;
	}
	if (!w->buffer.len)
		return request_next_buffer(w);
	if (w->side->stream.skip) {
		events = request_skip(w, &n);
	} else {
		if (w->at >= w->n && request_read_chunk(w))
			return 1;
		events = request_look(w, &n);
	}
	request_advance(w, n - 1); /* events belong to the last of the n bytes */
	if (events && request_event(w, events))
		return 1;
	request_advance(w, 1);
	return 0;
}

static __always_inline void request_steps(struct request_walk *w)
{
	__u32 steps = REQUEST_WORK + 1;

	if (w->seq != w->side->next) {
		w->missed = MISSED_BYTES;
		return;
	}
	w->side->next = w->seq + w->left;
	w->side->work = 0;
	/* the bytes of a body are only skipped; the sender may take them from a file */
	if (w->side->stream.skip >= w->left) {
		w->buffer.len = w->left;
		steps = 1;
	} else if (!call_buffer(&w->buffer, w->sk)) {
		w->missed = MISSED_CALL;
		return;
	}
	bpf_loop(steps, request_step, w, 0);
}

/*
 * Parses the bytes of a call. With two calls at once, it is unknown which bytes belong to which
 * call, so the connection is abandoned.
 */
static __noinline int request_walk(struct request_walk *w)
{
	struct request_conn *r = w->r;

	if (!r || !w->side)
		return 0;
	if (__sync_val_compare_and_swap(&w->side->busy, 0, 1)) {
		requests_abandon(r, MISSED_BYTES);
		return 0;
	}
	w->missed = MISSED_BUFFER;
	request_steps(w);
	if (w->left)
		requests_abandon(r, w->missed);
	w->side->busy = 0;
	return 0;
}

/* ---- calls ---- */

/* Begins to follow a connection at its first read, of `returned` bytes, if nothing was sent. */
static __always_inline bool requests_begin(struct request_conn *r, struct sock *sk, __u32 returned)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u64 before;

	if (!tp)
		return false;
	before = BPF_CORE_READ(tp, bytes_received) - (tp->rcv_nxt - tp->copied_seq) - returned;
	/* 0: no byte was read before; also -1, as rcv_nxt counts a received FIN as a byte */
	if (before + 1 > 1) {
		requests_abandon(r, MISSED_OLDER);
		return false;
	}
	if (BPF_CORE_READ(tp, data_segs_out)) {
		requests_abandon(r, MISSED_PROTOCOL);
		return false;
	}
	r->in.next = tp->copied_seq - returned;
	r->out.next = tp->write_seq;
	r->state = REQUESTS_FOLLOWED;
	return true;
}

/* Handles the end of a receive call that returned bytes. */
static __always_inline int requests_read(struct sock *sk, __u32 returned, int flags)
{
	struct request_walk w = { .sk = sk, .left = returned };

	if (!sk || !returned || !sock_selected(sk) || !reader_selected())
		return 0;
	w.r = bpf_sk_storage_get(&request_conns, sk, NULL, 0);
	if (!w.r || w.r->state == REQUESTS_ABANDONED)
		return 0;
	if (w.r->state == REQUESTS_NEW && !requests_begin(w.r, sk, returned))
		return 0;
	if (flags & MSG_TRUNC) {
		requests_abandon(w.r, MISSED_CALL);
		return 0;
	}
	w.side = &w.r->in;
	w.time = bpf_ktime_get_ns();
	w.caller = bpf_get_current_pid_tgid();
	w.core = bpf_get_smp_processor_id();
	w.seq = tcp_number(sk, copied_seq, FAST_PATH_NONE) - returned;
	request_walk(&w);
	return 0;
}

/* Handles the end of a send call of `bytes` bytes from `seq`; `since` 0: its begin is unknown. */
static __always_inline int requests_sent(struct sock *sk, __u32 seq, __u32 bytes, __u64 since,
				    __u32 core)
{
	struct request_walk w = {
		.sk = sk, .left = bytes, .seq = seq, .time = since, .core = core, .reply = 1,
	};

	if (!sk || !bytes)
		return 0;
	w.r = bpf_sk_storage_get(&request_conns, sk, NULL, 0);
	if (!w.r || w.r->state != REQUESTS_FOLLOWED)
		return 0;
	w.side = &w.r->out;
	if (since)
		request_walk(&w);
	else
		requests_abandon(w.r, MISSED_CALL);
	return 0;
}

#endif
