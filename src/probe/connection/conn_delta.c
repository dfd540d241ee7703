/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between a connection's successive snapshots, with interned names. */
#include "probe/connection/conn_delta.h"

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

/* initial size in bytes of `counted` in struct conn_seen; rarely exceeded */
#define FIRST_ROOM 48

int conn_delta_init(struct conn_delta *p)
{
	*p = (struct conn_delta){
		.self = (uint32_t)getpid(), .table.item = sizeof(struct conn_seen) + FIRST_ROOM,
	};
	vec_init(&p->events, CONN_EVENTS_MAX);
	p->owners = calloc(CONN_OWNERS, sizeof(*p->owners));
	return p->owners ? 0 : -ENOMEM;
}

static void conn_delta_forget(struct conn_delta *p, struct conn_seen *s)
{
	p->counted_bytes -= s->room;
	p->rtts_bytes -= conn_rtts_size(s->rtts);
	free(s->rtts);
	conn_table_remove(&p->table, &s->key);
}

void conn_delta_release(struct conn_delta *p)
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

static uint32_t conn_delta_intern(struct conn_delta *p, enum event_dict_id which, const char *text,
				  uint64_t time)
{
	return *text ? event_dict_intern(p->dict, which, text, p->sink, time) : 0;
}

/* Interns the owner's names. The application is the container or unit, else the command. */
static void conn_delta_name_owner(struct conn_delta *p, struct conn_owner *o, uint64_t time)
{
	const char *app = o->comm_text;
	struct host_task task;

	o->comm = conn_delta_intern(p, DICT_STRING, o->comm_text, time);
	o->cgroup = o->unit = 0;
	if (!host_task_get(NULL, (pid_t)o->pid, &task)) {
		o->cgroup = conn_delta_intern(p, DICT_CGROUP, task.cgroup.path, time);
		o->unit = conn_delta_intern(p, DICT_UNIT, task.cgroup.label, time);
		if (task.cgroup.container[0])
			app = task.cgroup.label;
	}
	o->app = conn_delta_intern(p, DICT_STRING, app, time);
}

static const struct conn_owner *conn_delta_owner(struct conn_delta *p, const struct conn_stats *k,
						 uint64_t time)
{
	struct conn_owner *o = &p->owners[k->idle.pid % CONN_OWNERS];

	if (o->pid == k->idle.pid && !memcmp(o->comm_text, k->idle.comm, sizeof(k->idle.comm)))
		return o;
	o->pid = k->idle.pid;
	memcpy(o->comm_text, k->idle.comm, sizeof(o->comm_text));
	o->comm_text[sizeof(o->comm_text) - 1] = '\0';
	conn_delta_name_owner(p, o, time);
	return o;
}

static uint32_t conn_delta_netns(struct conn_delta *p, uint32_t inode, uint64_t time)
{
	const struct host_netns *ns = host_netns_find(&p->namespaces, inode);
	char text[32];

	if (ns)
		return conn_delta_intern(p, DICT_NETNS, ns->name, time);
	snprintf(text, sizeof(text), "net:[%u]", inode);
	return conn_delta_intern(p, DICT_NETNS, text, time);
}

static uint32_t conn_delta_put_flow(struct conn_delta *p, const struct conn_snapshot *t)
{
	struct event_flow flow = {
		.id = ++p->flows, .family = (uint8_t)t->now.family, .protocol = PROTO_TCP,
		.netns_cookie = t->stats.idle.netns, .sock_cookie = t->stats.idle.cookie,
		.local_port = t->now.local_port, .remote_port = t->now.remote_port,
		.netns = conn_delta_netns(p, t->stats.idle.netns, t->time),
	};

	memcpy(flow.local, t->now.local, sizeof(flow.local));
	memcpy(flow.remote, t->now.remote, sizeof(flow.remote));
	if (!p->err)
		p->err = event_put(p->sink, EV_FLOW, t->time, &flow, sizeof(flow));
	return flow.id;
}

/* ---- counters ---- */

/*
 * Returns how much a counter has grown since *seen, and stores `now` there. Programs on two CPUs
 * may overwrite each other's sums, and the kernel's own counters are read without a lock: for a
 * counter that went back, the growth is 0 and *seen stays.
 */
#define GROWTH(bits)                                                                               \
	static uint##bits##_t growth##bits(uint##bits##_t *seen, uint##bits##_t now)               \
	{                                                                                          \
		const uint##bits##_t more = (uint##bits##_t)(now - *seen);                         \
                                                                                                   \
		if ((int##bits##_t)more <= 0)                                                      \
			return 0;                                                                  \
		*seen = now;                                                                       \
		return more;                                                                       \
	}

GROWTH(64)
GROWTH(32)
GROWTH(16)

/*
 * Restarts timer counters that went back: the BPF map of these counters drops entries when it is
 * full, and a dropped counter starts from 0 again.
 */
static void conn_delta_restart_timers(struct conn_counted *seen, const struct conn_now *n)
{
	if (n->delacks < seen->delayed_acks)
		seen->delayed_acks = n->delacks;
	if (n->probes < seen->probes)
		seen->probes = n->probes;
}

/* Fills in each counter in the macro list CONN_COUNTERS, except computed (MADE) counters. */
static void conn_delta_put_counters(struct event_conn *c, struct conn_counted *seen,
				    const struct conn_stats *k, const struct conn_now *n)
{
#define PUT_U64(field, value, ...) c->field = growth64(&seen->field, value);
#define PUT_U32(field, value, ...) c->field = growth32(&seen->field, value);
#define PUT_U16(field, value, ...) c->field = growth16(&seen->field, (uint16_t)(value));
#define PUT_MOST(field, value, ...) c->field = value;
	CONN_COUNTERS(PUT_U64, PUT_U32, PUT_U16, PUT_MOST, CONN_COUNTERS_NO_ROW)
}

/*
 * Fills in the kernel's chronographs, of which at most one runs at a time: busy, limited by the
 * peer's window, limited by the send buffer.
 */
static void conn_delta_put_chrono(struct event_conn *c, struct conn_counted *seen,
				  const struct conn_snapshot *t, uint64_t tick_ns)
{
	uint64_t ns[3];

	for (int i = 0; i < 3; i++)
		ns[i] = growth32(&seen->chrono[i], t->now.chrono[i] - t->stats.idle.chrono[i]) *
			tick_ns;
	c->busy_ns = ns[0] + ns[1] + ns[2];
	c->kernel_rwnd_ns = ns[1];
	c->kernel_sndbuf_ns = ns[2];
}

static void conn_delta_put_samples(struct event_conn *c, struct conn_counted *seen,
				   const struct conn_stats *k, const struct conn_unclear *unclear)
{
	for (int i = 0; i < CONN_STATES; i++) {
		c->sampled[i] = growth16(&seen->sampled[i], k->sampled[i]);
		c->sampled_ns[i] = growth32(&seen->sampled_us[i], k->sampled_us[i]) * 1000ULL;
		c->samples += c->sampled[i];
	}
	c->samples += growth32(&seen->unclear, unclear->samples);
	c->unclear_ns = growth32(&seen->unclear_us, unclear->us) * 1000ULL;
	c->zero_window_ns = growth32(&seen->zero_window_us, k->zero_window_us) * 1000ULL;
	c->unread_ns = growth32(&seen->unread_us, k->unread_us) * 1000ULL;
	c->squares = conn_squares(c);
}

static void conn_delta_put_counted(const struct conn_delta *p, struct event_conn *c,
				   struct conn_counted *seen, const struct conn_snapshot *t,
				   const struct conn_unclear *unclear)
{
	const struct conn_stats *k = &t->stats;
	uint16_t total_rto;

	conn_delta_restart_timers(seen, &t->now);
	conn_delta_put_counters(c, seen, k, &t->now);
	conn_delta_put_chrono(c, seen, t, p->tick_ns);
	conn_delta_put_samples(c, seen, k, unclear);
	total_rto = growth16(&seen->total_rto, (uint16_t)(t->now.total_rto - k->idle.total_rto));
	if (t->now.known & CONN_KNOWS_RTO)
		c->rto = total_rto;
	c->tlp += growth32(&seen->probes, t->now.probes);
	for (int i = 0; i < CONN_SIZES; i++) {
		c->send_sizes[i] = growth32(&seen->send_sizes[i], k->send_sizes[i]);
		c->recv_sizes[i] = growth32(&seen->recv_sizes[i], k->recv_sizes[i]);
	}
}

/* Packs and stores the counters in `s`, which may move. */
static void conn_delta_store(struct conn_delta *p, struct conn_seen *s,
			     const struct conn_counted *counted)
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

/*
 * Fills in an interval's round trips. Their number is the sum of the buckets, as the record's own
 * count was read at another moment.
 */
static void conn_delta_put_rtts(struct conn_delta *p, struct event_conn *c, struct conn_seen *s,
				const struct conn_snapshot *t)
{
	const size_t had = conn_rtts_size(s->rtts);
	int err = 0;

	/* always advance `s->rtts`, so that the next interval excludes this interval's counts */
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

/* ---- known values, gauges and owners ---- */

void conn_delta_thin(struct conn_delta *p, uint32_t n, uint64_t now)
{
	p->thinned_one_in = n;
	for (int i = 0; i <= CONN_THIN_MAX; i++) {
		if (n >> i)
			p->thinned_until[i] = UINT64_MAX;
		else if (p->thinned_until[i] == UINT64_MAX)
			p->thinned_until[i] = now;
	}
}

/* Returns true if the connection's calls and RTTs were left uncounted at times since `from`. */
static bool conn_delta_was_thinned(const struct conn_delta *p, const struct conn_snapshot *t,
				   uint64_t from)
{
	return t->now.thin < CONN_THIN_MAX && p->thinned_until[t->now.thin + 1] > from;
}

/* Returns the largest N since `from` for which one in N connections had its calls counted. */
static uint32_t conn_delta_thinned_since(const struct conn_delta *p, uint64_t from)
{
	uint32_t n = 1;

	for (int i = 1; i <= CONN_THIN_MAX; i++)
		if (p->thinned_until[i] > from)
			n = 1U << i;
	return n;
}

#define RTT (uint32_t)(CONN_KNOWS_RTT | CONN_KNOWS_RTTS)

static uint32_t conn_delta_known(const struct conn_delta *p, const struct conn_snapshot *t,
				 uint64_t from)
{
	uint32_t known = p->known | t->now.known;

	if (conn_delta_was_thinned(p, t, from))
		known &= ~(CONN_KNOWS_CALLS | RTT | CONN_KNOWS_PEER_DELACKS);
	if (t->now.flags & CONN_MPTCP) /* applications call the MPTCP socket, not this subflow */
		known &= ~CONN_KNOWS_CALLS;
	if (t->now.flags & CONN_KTLS && p->calls_below_tls)
		known &= ~CONN_KNOWS_CALLS;
	if (!(t->stats.idle.flags & STATS_RTT))
		known &= ~(RTT | CONN_KNOWS_PEER_DELACKS |
			   (t->now.known & CONN_KNOWS_RTO ? 0 : CONN_KNOWS_RTO));
	/* The peer's delayed ACKs are known only if calls show which ACKs came with data. */
	if (!(known & CONN_KNOWS_CALLS) || acks_are_unclear(&t->stats.acks, t->now.min_rtt_us))
		known &= ~CONN_KNOWS_PEER_DELACKS;
	if (t->stats.idle.flags & STATS_RTTS_LOST)
		known &= ~CONN_KNOWS_RTTS;
	return known;
}

/* How much later than a report's time another CPU may have noted a time, in ns. */
#define AHEAD_NS (1ULL << 30)

/*
 * Returns the latest time up to AHEAD_NS after `now` whose low bits, in CONN_TIME_SHIFT units, are
 * `time`; 0 if `time` is 0.
 */
static uint64_t conn_delta_full_time(uint64_t now, uint32_t time)
{
	const uint64_t last = now + AHEAD_NS;
	const uint32_t before = (uint32_t)(last >> CONN_TIME_SHIFT) - time;

	return time ? last - ((uint64_t)before << CONN_TIME_SHIFT) : 0;
}

/*
 * Sets the flags of the direction of the last data: by the order of calls or, where these are
 * unknown, by the kernel's two times, which are equal within a tick. Needs c->known.
 */
static void conn_delta_put_last_data(struct event_conn *c, const struct conn_snapshot *t)
{
	const struct conn_stats *k = &t->stats;
	uint8_t last = t->now.last_data;

	if (last && c->known & CONN_KNOWS_CALLS && (k->send_calls || k->recv_calls))
		last = k->idle.flags & STATS_SENT_LAST ? CONN_LAST_SENT : CONN_LAST_RECEIVED;
	if (last & CONN_LAST_SENT)
		c->flags |= CONN_SENT_LAST;
	if (last & CONN_LAST_RECEIVED)
		c->flags |= CONN_RECEIVED_LAST;
}

/* Fills in flags and gauges. Needs c->from. */
static void conn_delta_put_gauges(const struct conn_delta *p, struct event_conn *c,
				  const struct conn_snapshot *t)
{
	const struct conn_stats *k = &t->stats;
	const struct conn_now *n = &t->now;

	c->flags = n->flags | (t->closed ? CONN_CLOSED : 0) |
		   (n->sndbuf_grows ? CONN_SNDBUF_GROWS : 0) |
		   (n->pacing_capped ? CONN_PACING_CAPPED : 0) |
		   (k->idle.flags & STATS_ACCEPTED ? CONN_ACCEPTED : 0) |
		   (k->idle.flags & STATS_LOGGED ? CONN_LOGGED : 0) |
		   (k->idle.pid == p->self ? CONN_SELF : 0);
	c->known = conn_delta_known(p, t, c->from);
	conn_delta_put_last_data(c, t);
	c->loss_first = conn_delta_full_time(t->time, k->loss_first);
	c->loss_last = c->loss_first ? conn_delta_full_time(t->time, k->loss_last) : 0;
	c->write_first = k->write_first;
	c->lost_reply = c->known & CONN_KNOWS_CALLS ?
			conn_delta_full_time(t->time, k->lost_reply) : 0;
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
	c->thinned_one_in = conn_delta_thinned_since(p, c->from);
	c->poll_mhz = (uint32_t)(p->hz[k->idle.level % LEVELS] * 1000);
}

static void conn_delta_put_owner(struct conn_delta *p, struct event_conn *c, struct conn_counted *s,
				 const struct conn_snapshot *t)
{
	const struct conn_owner *o;

	if (t->stats.idle.pid && t->stats.idle.pid != s->pid) {
		o = conn_delta_owner(p, &t->stats, t->time);
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

/* Returns the interned name of the congestion control; most connections have the same one. */
static uint32_t conn_delta_algorithm(struct conn_delta *p, const struct conn_snapshot *t)
{
	if (memcmp(p->cc_text, t->now.cc, sizeof(p->cc_text)) != 0) {
		memcpy(p->cc_text, t->now.cc, sizeof(p->cc_text));
		p->cc_text[sizeof(p->cc_text) - 1] = '\0';
		p->cc = conn_delta_intern(p, DICT_STRING, p->cc_text, t->time);
	}
	return p->cc;
}

/* Returns a new table entry for the connection, or NULL without memory. */
static struct conn_seen *conn_delta_add_seen(struct conn_delta *p, const struct conn_snapshot *t)
{
	struct conn_seen *s = conn_table_add(&p->table, t->stats.idle.netns, t->stats.idle.cookie);

	if (!s)
		return NULL;
	s->to = t->stats.idle.born;
	s->room = FIRST_ROOM; /* the packed counters are zeroed bytes: all are 0 */
	p->counted_bytes += FIRST_ROOM;
	s->flow = conn_delta_put_flow(p, t);
	return s;
}

/* Fills in the zeroed event `c` from snapshot `t`, and updates `s`. */
static void conn_delta_put_conn(struct conn_delta *p, struct event_conn *c, struct conn_seen *s,
				const struct conn_snapshot *t, const struct conn_unclear *unclear)
{
	static const struct conn_unclear none;
	struct conn_counted counted;

	c->cookie = t->stats.idle.cookie;
	c->to = t->time;
	c->from = s->to < c->to ? s->to : c->to;
	c->flow = s->flow;
	s->to = c->to;
	zpack_unpack(s->counted, &counted, sizeof(counted));
	conn_delta_put_counted(p, c, &counted, t, unclear ? unclear : &none);
	conn_delta_put_gauges(p, c, t);
	conn_delta_put_rtts(p, c, s, t);
	conn_delta_put_owner(p, c, &counted, t);
	c->congestion_control = conn_delta_algorithm(p, t);
	if (c->known & CONN_KNOWS_TIMES) {
		c->unsampled_ns =
			conn_cover_missing(&p->cover[t->stats.idle.level % LEVELS], c->from, c->to);
		conn_times(c);
	}
	if (t->closed)
		conn_delta_forget(p, s);
	else
		conn_delta_store(p, s, &counted);
}

void conn_delta_add(struct conn_delta *p, const struct conn_snapshot *t,
		    const struct conn_unclear *unclear)
{
	struct conn_seen *s = conn_table_find(&p->table, t->stats.idle.netns, t->stats.idle.cookie);
	const bool first = !s;
	struct event_conn *c;

	if (!p->err)
		p->err = vec_reserve(&p->events, p->events.len + 1);
	if (!p->err && first) {
		s = conn_delta_add_seen(p, t);
		p->err = s ? p->err : -ENOMEM;
	}
	if (p->err)
		return;
	c = &p->events.items[p->events.len];
	*c = (struct event_conn){ 0 };
	conn_delta_put_conn(p, c, s, t, unclear);
	if (first && t->stats.idle.flags & STATS_BEGAN)
		c->flags |= CONN_BEGAN;
	p->records++;
	p->closed += t->closed;
	if (!p->err)
		p->events.len++;
}

/* ---- blocks of events ---- */

static int conn_delta_compare(const void *a, const void *b)
{
	const struct event_conn *x = a, *y = b;

	return sort_order(x->to, y->to) ?: sort_order(x->from, y->from);
}

/* Sorts events by `to`. Events arrive nearly sorted, so an insertion takes one or two steps. */
static void conn_delta_sort(struct conn_events *events)
{
	struct event_conn *e = events->items;
	size_t steps = 0;

	for (size_t i = 1; i < events->len; i++) {
		struct event_conn it;
		size_t at = i;

		if (e[i].to >= e[i - 1].to)
			continue;
		if (steps > 8 * events->len) {
			qsort(e, events->len, sizeof(*e), conn_delta_compare);
			return;
		}
		it = e[i];
		for (; at && e[at - 1].to > it.to; at--)
			e[at] = e[at - 1];
		e[at] = it;
		steps += i - at;
	}
}

bool conn_delta_block(struct conn_delta *p, struct event_block *block)
{
	size_t n = p->events.len - p->handed;

	if (!n) {
		vec_clear_most(&p->events, CONN_EVENTS_FEW);
		p->handed = 0;
		return false;
	}
	if (!p->handed)
		conn_delta_sort(&p->events);
	p->handed += event_conn_block(p->events.items + p->handed, n, block);
	return true;
}

int conn_delta_put_missing(const char *lines, uint64_t time, struct event_sink *sink)
{
	char line[512];
	int err = 0;

	for (; !err && *lines; lines = strchr(lines, '\n') + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(lines, "\n"), lines);
		err = event_put_fact(sink, time, CONNS_PROBE_FACT_MISSING, line);
	}
	return err;
}
