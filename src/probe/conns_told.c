/* SPDX-License-Identifier: Apache-2.0 */
/* The difference to the last time, and names. */
#include "probe/conns_told.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/zpack.h"
#include "base/parse.h"
#include "base/sort.h"
#include "event/conn_block.h"
#include "event/conn_times.h"
#include "host/task.h"

/* Bytes of struct conn_seen's `counted` that a new one has; in the end most need no more. */
#define FIRST_ROOM 48

int conns_told_init(struct conns_told *p)
{
	*p = (struct conns_told){
		.self = (uint32_t)getpid(), .table.item = sizeof(struct conn_seen) + FIRST_ROOM,
	};
	vec_init(&p->events, CONN_EVENTS_MAX);
	p->owners = calloc(CONN_OWNERS, sizeof(*p->owners));
	return p->owners ? 0 : -ENOMEM;
}

static void forget(struct conns_told *p, struct conn_seen *s)
{
	p->counted_bytes -= s->room;
	p->rtts_bytes -= conn_rtts_size(s->rtts);
	free(s->rtts);
	conn_table_remove(&p->table, &s->key);
}

void conns_told_release(struct conns_told *p)
{
	struct conn_seen *s;
	size_t at = 0;

	while ((s = conn_table_next(&p->table, &at)))
		free(s->rtts);
	conn_table_free(&p->table);
	vec_release(&p->events);
	host_netns_vec_release(&p->namespaces);
	free(p->owners);
}

/* ---- names ---- */

static uint32_t intern(struct conns_told *p, enum event_dict_id which, const char *text,
		       uint64_t time)
{
	return *text ? event_dict_intern(p->dict, which, text, p->sink, time) : 0;
}

/* Its container or unit says more than its command does, if it has one. */
static void name_owner(struct conns_told *p, struct conn_owner *o, uint64_t time)
{
	const char *app = o->comm_text;
	struct host_task task;

	o->comm = intern(p, DICT_STRING, o->comm_text, time);
	o->cgroup = o->unit = 0;
	if (!host_task_get(NULL, (pid_t)o->pid, &task)) {
		o->cgroup = intern(p, DICT_CGROUP, task.cgroup.path, time);
		o->unit = intern(p, DICT_UNIT, task.cgroup.label, time);
		if (task.cgroup.container[0])
			app = task.cgroup.label;
	}
	o->app = intern(p, DICT_STRING, app, time);
}

static const struct conn_owner *owner_of(struct conns_told *p, const struct conn_kept *k,
					 uint64_t time)
{
	struct conn_owner *o = &p->owners[k->q.pid % CONN_OWNERS];

	if (o->pid == k->q.pid && !memcmp(o->comm_text, k->q.comm, sizeof(k->q.comm)))
		return o;
	o->pid = k->q.pid;
	memcpy(o->comm_text, k->q.comm, sizeof(o->comm_text));
	o->comm_text[sizeof(o->comm_text) - 1] = '\0';
	name_owner(p, o, time);
	return o;
}

static uint32_t netns_name(struct conns_told *p, uint32_t inode, uint64_t time)
{
	const struct host_netns *ns = host_netns_find(&p->namespaces, inode);
	char text[32];

	if (ns)
		return intern(p, DICT_NETNS, ns->name, time);
	snprintf(text, sizeof(text), "net:[%u]", inode);
	return intern(p, DICT_NETNS, text, time);
}

static uint32_t put_flow(struct conns_told *p, const struct conn_told *t)
{
	struct event_flow flow = {
		.id = ++p->flows, .family = (uint8_t)t->now.family, .protocol = PROTO_TCP,
		.netns_cookie = t->kept.q.netns, .sock_cookie = t->kept.q.cookie,
		.local_port = t->now.local_port, .remote_port = t->now.remote_port,
		.netns = netns_name(p, t->kept.q.netns, t->time),
	};

	memcpy(flow.local, t->now.local, sizeof(flow.local));
	memcpy(flow.remote, t->now.remote, sizeof(flow.remote));
	if (!p->err)
		p->err = event_put(p->sink, EV_FLOW, t->time, &flow, sizeof(flow));
	return flow.id;
}

/* ---- counters ---- */

/* As they are, from when it was born. */
static void counters(const struct conn_told *t, const struct conn_unclear *unclear, uint64_t *wide,
		     uint32_t *narrow)
{
	const struct conn_kept *k = &t->kept;
	const struct conn_now *n = &t->now;
	const uint64_t w[WIDE_MAX] = {
		n->bytes_sent - k->q.bytes_sent, n->bytes_acked - k->q.bytes_acked,
		n->bytes_received - k->q.bytes_received, n->bytes_retrans - k->q.bytes_retrans,
		k->recovery_ns, k->loss_ns, k->stall_ns, k->send_bytes, k->recv_bytes,
		k->rtt_sum_us,
	};
	const uint32_t x[NARROW_SAMPLED_US] = {
		n->chrono[0] - k->q.chrono[0], n->chrono[1] - k->q.chrono[1],
		n->chrono[2] - k->q.chrono[2], n->dsack_dups - k->q.dsack_dups, k->rtt_samples,
		k->fast_retransmit, n->probes, k->send_calls, k->recv_calls, k->send_small,
		k->send_blocked, n->delacks, k->zero_window_us, k->unread_us,
		unclear->samples, unclear->us,
	};
	const uint32_t y[NARROW_SAMPLED - NARROW_16_BIT] = {
		k->peer_delacks, k->delacks_harmful, k->tlp, k->rto,
		(uint32_t)n->total_rto - k->q.total_rto, k->recoveries, k->stalls, k->idle_bursts,
		k->idle_bursts_lost, k->idle_restarts, k->zero_windows, k->unread,
	};

	memcpy(wide, w, sizeof(w));
	memcpy(narrow, x, sizeof(x));
	memcpy(narrow + NARROW_SAMPLED_US, k->sampled_us, sizeof(k->sampled_us));
	memcpy(narrow + NARROW_SEND_SIZES, k->send_sizes, sizeof(k->send_sizes));
	memcpy(narrow + NARROW_RECV_SIZES, k->recv_sizes, sizeof(k->recv_sizes));
	memcpy(narrow + NARROW_16_BIT, y, sizeof(y));
	for (int i = 0; i < CONN_STATES; i++)
		narrow[NARROW_SAMPLED + i] = k->sampled[i];
}

/*
 * What was gained; `seen` has the new ones then. Programs on two CPUs may overwrite each other's
 * sums, and what the kernel has is read without a lock: what went back has gained nothing.
 */
static void gained(struct conn_counted *seen, const struct conn_told *t,
		   const struct conn_unclear *unclear, uint64_t *wide, uint32_t *narrow)
{
	uint64_t w[WIDE_MAX];
	uint32_t x[NARROW_MAX];

	counters(t, unclear, w, x);
	for (int i = 0; i < WIDE_MAX; i++) {
		wide[i] = (int64_t)(w[i] - seen->wide[i]) > 0 ? w[i] - seen->wide[i] : 0;
		seen->wide[i] += wide[i];
	}
	if (x[NARROW_DELACKS] < seen->narrow[NARROW_DELACKS]) /* the timers' map was full */
		seen->narrow[NARROW_DELACKS] = x[NARROW_DELACKS];
	if (x[NARROW_PROBES] < seen->narrow[NARROW_PROBES])
		seen->narrow[NARROW_PROBES] = x[NARROW_PROBES];
	for (int i = 0; i < NARROW_MAX; i++) {
		const uint32_t more = x[i] - seen->narrow[i];

		if (i >= NARROW_16_BIT)
			narrow[i] = (int16_t)more > 0 ? (uint16_t)more : 0;
		else
			narrow[i] = (int32_t)more > 0 ? more : 0;
		seen->narrow[i] += narrow[i];
	}
}

/* `s` may be another one then. */
static void keep(struct conns_told *p, struct conn_seen *s, const struct conn_counted *counted)
{
	unsigned char bytes[ZPACK_MAX(sizeof(*counted))];
	const size_t n = zpack_pack(counted, sizeof(*counted), bytes);
	const size_t room = zpack_room(sizeof(*s) + s->room, sizeof(*s) + n) - sizeof(*s);

	if (room != s->room) {
		s = conn_table_resize(&p->table, &s->key, sizeof(*s) + room);
		if (!s) {
			p->err = -ENOMEM;
			return;
		}
		p->counted_bytes += room - s->room;
		s->room = (uint16_t)room;
	}
	memcpy(s->counted, bytes, n);
}

static void put_counted(const struct conns_told *p, struct event_conn *c,
			const struct conn_told *t, const uint64_t *w, const uint32_t *x)
{
	/* The chronographs: busy, of it the peer's window, of it the buffer; each alone. */
	const uint64_t busy = (uint64_t)x[NARROW_CHRONO_BUSY] + x[NARROW_CHRONO_RWND] +
			      x[NARROW_CHRONO_SNDBUF];

	c->bytes_sent = w[WIDE_SENT];
	c->bytes_acked = w[WIDE_ACKED];
	c->bytes_received = w[WIDE_RECEIVED];
	c->bytes_retransmitted = w[WIDE_RETRANSMITTED];
	c->recovery_ns = w[WIDE_RECOVERY];
	c->loss_ns = w[WIDE_LOSS];
	c->stall_ns = w[WIDE_STALL];
	c->send_bytes = w[WIDE_SEND_BYTES];
	c->recv_bytes = w[WIDE_RECV_BYTES];
	c->rtt_sum_us = w[WIDE_RTT_SUM];
	c->busy_ns = busy * p->tick_ns;
	c->kernel_rwnd_ns = x[NARROW_CHRONO_RWND] * p->tick_ns;
	c->kernel_sndbuf_ns = x[NARROW_CHRONO_SNDBUF] * p->tick_ns;
	c->fast_retransmit = x[NARROW_FAST_RETRANSMIT];
	c->rto = t->now.known & CONN_KNOWS_RTO ? x[NARROW_TOTAL_RTO] : x[NARROW_RTO];
	c->tlp = x[NARROW_TLP] + x[NARROW_PROBES];
	c->spurious = x[NARROW_DSACKS];
	c->delayed_acks = x[NARROW_DELACKS];
	c->delayed_acks_harmful = x[NARROW_HARMFUL];
	c->peer_delayed_acks = x[NARROW_PEER_DELACKS];
	c->rtt_samples = x[NARROW_RTT_SAMPLES];
	c->recoveries = x[NARROW_RECOVERIES];
	c->stalls = x[NARROW_STALLS];
	c->send_calls = x[NARROW_SEND_CALLS];
	c->recv_calls = x[NARROW_RECV_CALLS];
	c->send_small = x[NARROW_SMALL];
	c->send_blocked = x[NARROW_BLOCKED];
	c->idle_bursts = x[NARROW_BURSTS];
	c->idle_bursts_lost = x[NARROW_BURSTS_LOST];
	c->idle_restarts = x[NARROW_RESTARTS];
	c->zero_windows = x[NARROW_ZERO_WINDOWS];
	c->unread = x[NARROW_UNREAD];
	c->zero_window_ns = x[NARROW_ZERO_WINDOW_US] * 1000ULL;
	c->unread_ns = x[NARROW_UNREAD_US] * 1000ULL;
	for (int i = 0; i < CONN_STATES; i++) {
		c->samples += c->sampled[i] = x[NARROW_SAMPLED + i];
		c->sampled_ns[i] = x[NARROW_SAMPLED_US + i] * 1000ULL;
	}
	c->samples += x[NARROW_UNCLEAR];
	c->unclear_ns = x[NARROW_UNCLEAR_US] * 1000ULL;
	c->squares = conn_squares(c);
	memcpy(c->send_sizes, x + NARROW_SEND_SIZES, sizeof(c->send_sizes));
	memcpy(c->recv_sizes, x + NARROW_RECV_SIZES, sizeof(c->recv_sizes));
}

/* Those in buckets are the ones that count: what adds up to them was read at another moment. */
static void put_rtts(struct conns_told *p, struct event_conn *c, struct conn_seen *s,
		     const struct conn_told *t)
{
	const size_t had = conn_rtts_size(s->rtts);
	int err = 0;

	/* Also if they don't count: else they would with the next ones. */
	if (t->has_rtts)
		err = conn_rtts_gained(&s->rtts, &t->rtts, c->rtts);
	p->rtts_bytes += conn_rtts_size(s->rtts) - had;
	if (err == -ENOMEM)
		p->err = err;
	if (err)
		c->known &= ~CONN_KNOWS_RTTS;
	if (!(c->known & CONN_KNOWS_RTTS)) {
		memset(c->rtts, 0, sizeof(c->rtts));
		return;
	}
	c->rtt_samples = 0;
	if (!t->has_rtts)
		return;
	for (int i = 0; i < CONN_RTTS; i++)
		c->rtt_samples += c->rtts[i];
	conn_rtts_extremes(c->rtts, &c->rtt_min_us, &c->rtt_max_us);
}

/* ---- as it stands ---- */

void conns_told_thin(struct conns_told *p, uint32_t n, uint64_t now)
{
	p->thinned_one_in = n;
	for (int i = 0; i <= CONN_THIN_MAX; i++) {
		if (n >> i)
			p->thinned_until[i] = UINT64_MAX;
		else if (p->thinned_until[i] == UINT64_MAX)
			p->thinned_until[i] = now;
	}
}

/* At any time since `from`. */
static bool was_thinned(const struct conns_told *p, const struct conn_told *t, uint64_t from)
{
	return t->now.thin < CONN_THIN_MAX && p->thinned_until[t->now.thin + 1] > from;
}

/* Of how many one was followed, at the fewest. */
static uint32_t thinned_since(const struct conns_told *p, uint64_t from)
{
	uint32_t n = 1;

	for (int i = 1; i <= CONN_THIN_MAX; i++)
		if (p->thinned_until[i] > from)
			n = 1U << i;
	return n;
}

#define RTT (uint32_t)(CONN_KNOWS_RTT | CONN_KNOWS_RTTS)

static uint32_t known(const struct conns_told *p, const struct conn_told *t, uint64_t from)
{
	uint32_t known = p->known | t->now.known;

	if (was_thinned(p, t, from))
		known &= ~(CONN_KNOWS_CALLS | RTT | CONN_KNOWS_PEER_DELACKS);
	if (t->now.flags & CONN_MPTCP) /* calls are those of the socket above */
		known &= ~CONN_KNOWS_CALLS;
	if (t->now.flags & CONN_KTLS && p->calls_below_tls)
		known &= ~CONN_KNOWS_CALLS;
	if (!(t->kept.q.flags & KEPT_RTT))
		known &= ~(RTT | CONN_KNOWS_PEER_DELACKS |
			   (t->now.known & CONN_KNOWS_RTO ? 0 : CONN_KNOWS_RTO));
	/* Whether data acknowledged what was sent is known by what had come when it was sent. */
	if (!(known & CONN_KNOWS_CALLS) || acks_are_unclear(&t->kept.acks, t->now.min_rtt_us))
		known &= ~CONN_KNOWS_PEER_DELACKS;
	if (t->kept.q.flags & KEPT_RTTS_LOST)
		known &= ~CONN_KNOWS_RTTS;
	return known;
}

/* The last time before `now` of which so many bits were kept. */
static uint64_t long_time(uint64_t now, uint32_t time)
{
	const uint32_t ago = (uint32_t)(now >> CONN_TIME_SHIFT) - time;

	return now - ((uint64_t)ago << CONN_TIME_SHIFT);
}

/* c->from is known. */
static void put_gauges(const struct conns_told *p, struct event_conn *c,
		       const struct conn_told *t)
{
	const struct conn_kept *k = &t->kept;
	const struct conn_now *n = &t->now;

	c->flags = n->flags | (t->closed ? CONN_CLOSED : 0) |
		   (k->q.flags & KEPT_ACCEPTED ? CONN_ACCEPTED : 0) |
		   (k->q.flags & KEPT_LOGGED ? CONN_LOGGED : 0) |
		   (k->q.pid == p->self ? CONN_SELF : 0);
	c->known = known(p, t, c->from);
	c->loss_first = k->loss_first;
	c->loss_last = k->loss_first ? k->loss_first + k->loss_last_us * 1000ULL : 0;
	c->write_first = k->write_first;
	c->lost_reply = k->lost_reply && c->known & CONN_KNOWS_CALLS ?
			long_time(t->time, k->lost_reply) : 0;
	c->longest_stall_ns = k->longest_stall_us * 1000ULL;
	c->longest_pause_ns = k->longest_pause_us * 1000ULL;
	c->rtt_min_us = k->rtt_max_us ? k->rtt_min_us : 0;
	c->rtt_max_us = k->rtt_max_us;
	c->rtt_us = n->srtt_us;
	c->min_rtt_us = n->min_rtt_us;
	c->rto_us = (uint32_t)(n->rto * p->tick_ns / 1000);
	c->cwnd = n->cwnd;
	c->ssthresh = n->ssthresh;
	c->mss = n->mss;
	c->snd_wnd = n->snd_wnd;
	c->rcv_wnd = n->rcv_wnd;
	c->sndbuf = n->sndbuf;
	c->rcvbuf = n->rcvbuf;
	c->wmem_queued = n->wmem_queued;
	c->rmem = n->rmem;
	c->unsent = n->unsent;
	c->unacked = n->unacked;
	c->rcv_queue = n->rcv_queue;
	c->delivery_rate = n->delivery_rate;
	c->pacing_rate = n->pacing_rate;
	c->write_seq = n->write_seq;
	c->snd_una = n->snd_una;
	c->rcv_nxt = n->rcv_nxt;
	c->tcp_state = n->state;
	c->thinned_one_in = thinned_since(p, c->from);
	c->poll_mhz = (uint32_t)(p->hz[k->q.level % LEVELS] * 1000);
}

static void put_owner(struct conns_told *p, struct event_conn *c, struct conn_counted *s,
		      const struct conn_told *t)
{
	const struct conn_owner *o;

	if (t->kept.q.pid && t->kept.q.pid != s->pid) {
		o = owner_of(p, &t->kept, t->time);
		s->pid = o->pid;
		s->app = o->app;
		s->comm = o->comm;
		s->cgroup = o->cgroup;
		s->unit = o->unit;
	}
	c->pid = s->pid;
	c->app = s->app;
	c->comm = s->comm;
	c->cgroup = s->cgroup;
	c->unit = s->unit;
}

/* Most have the same. */
static uint32_t algorithm(struct conns_told *p, const struct conn_told *t)
{
	if (memcmp(p->cc_text, t->now.cc, sizeof(p->cc_text)) != 0) {
		memcpy(p->cc_text, t->now.cc, sizeof(p->cc_text));
		p->cc_text[sizeof(p->cc_text) - 1] = '\0';
		p->cc = intern(p, DICT_STRING, p->cc_text, t->time);
	}
	return p->cc;
}

void conns_told_take(struct conns_told *p, const struct conn_told *t,
		     const struct conn_unclear *unclear)
{
	static const struct conn_unclear none;
	struct conn_seen *s = conn_table_find(&p->table, t->kept.q.netns, t->kept.q.cookie);
	struct event_conn c = { .cookie = t->kept.q.cookie, .to = t->time };
	struct conn_counted counted;
	bool first = !s;
	uint64_t wide[WIDE_MAX];
	uint32_t narrow[NARROW_MAX];

	if (p->err)
		return;
	if (first) {
		s = conn_table_add(&p->table, t->kept.q.netns, t->kept.q.cookie);
		if (!s) {
			p->err = -ENOMEM;
			return;
		}
		s->to = t->kept.q.born;
		s->room = FIRST_ROOM; /* of zeros, which is how zeros are packed */
		p->counted_bytes += FIRST_ROOM;
		s->flow = put_flow(p, t);
	}
	c.from = s->to < c.to ? s->to : c.to;
	zpack_unpack(s->counted, &counted, sizeof(counted));
	gained(&counted, t, unclear ? unclear : &none, wide, narrow);
	put_counted(p, &c, t, wide, narrow);
	put_gauges(p, &c, t);
	put_rtts(p, &c, s, t);
	if (first && t->kept.q.flags & KEPT_BEGAN)
		c.flags |= CONN_BEGAN;
	c.flow = s->flow;
	s->to = c.to;
	put_owner(p, &c, &counted, t);
	c.congestion_control = algorithm(p, t);
	if (c.known & CONN_KNOWS_TIMES) {
		c.unsampled_ns = conn_cover_missing(&p->cover[t->kept.q.level % LEVELS], c.from,
						    c.to);
		conn_times(&c);
	}
	p->records++;
	p->closed += t->closed;
	if (t->closed)
		forget(p, s);
	else
		keep(p, s, &counted);
	if (!p->err)
		p->err = vec_push(&p->events, c);
}

/* ---- handing on ---- */

static int later(const void *a, const void *b)
{
	const struct event_conn *x = a, *y = b;

	return sort_order(x->to, y->to) ?: sort_order(x->from, y->from);
}

/* If they have come in about this order, an insertion is a step or two. */
static void order(struct conn_events *events)
{
	struct event_conn *e = events->items;
	size_t steps = 0;

	for (size_t i = 1; i < events->len; i++) {
		struct event_conn it;
		size_t at = i;

		if (e[i].to >= e[i - 1].to)
			continue;
		if (steps > 8 * events->len) {
			qsort(e, events->len, sizeof(*e), later);
			return;
		}
		it = e[i];
		for (; at && e[at - 1].to > it.to; at--)
			e[at] = e[at - 1];
		e[at] = it;
		steps += i - at;
	}
}

bool conns_told_block(struct conns_told *p, struct event_block *block)
{
	size_t n = p->events.len - p->handed;

	if (!n) {
		vec_clear_most(&p->events, CONN_EVENTS_FEW);
		p->handed = 0;
		return false;
	}
	if (!p->handed)
		order(&p->events);
	p->handed += event_conn_block(p->events.items + p->handed, n, block);
	return true;
}

int conns_missing_put(const char *lines, uint64_t time, struct event_sink *sink)
{
	char line[512];
	int err = 0;

	for (; !err && *lines; lines = strchr(lines, '\n') + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(lines, "\n"), lines);
		err = event_put_fact(sink, time, CONNS_PROBE_FACT_MISSING, line);
	}
	return err;
}
