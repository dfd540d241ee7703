/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/zpack.h"

/* slots of each hash table; two entries per slot at CONNS_MAX connections */
#define SLOTS (1u << 17)

_Static_assert(sizeof(struct conn) <= 56, "memory of a connection");
_Static_assert(CONN_CLASSES <= 32, "conn.harmful");

/* ---- packed totals ---- */

#define PACKED_FROM (offsetof(struct event_conn, cookie) + sizeof(uint64_t))
#define PACKED (sizeof(struct event_conn) - PACKED_FROM)

#define NO_SSTHRESH 0x7fffffffu /* TCP_INFINITE_SSTHRESH: no loss yet */

_Static_assert(PACKED_FROM == sizeof(uint64_t) && PACKED % ZPACK_GROUP == 0 &&
	       PACKED <= ZPACK_MOST, "all of it");

/* Makes usual values 0, so that they pack well; a second call restores all values. */
static void conns_xor_usual(struct event_conn *e)
{
	e->ssthresh ^= NO_SSTHRESH;
	e->snd_una ^= e->write_seq; /* 0 if no data is in flight */
}

void conn_unpack(const struct conn *conn, struct event_conn *out)
{
	out->cookie = conn->cookie;
	zpack_unpack(conn->packed, (char *)out + PACKED_FROM, PACKED);
	if (!conn->packed)
		return;
	out->to += out->from;
	conns_xor_usual(out);
}

int conn_pack(struct conn *conn, struct event_conn *total)
{
	unsigned char bytes[ZPACK_MAX(PACKED)], *packed = conn->packed;
	size_t n, room;

	total->to -= total->from;
	conns_xor_usual(total);
	n = zpack_pack((char *)total + PACKED_FROM, PACKED, bytes);
	conns_xor_usual(total);
	total->to += total->from;
	room = zpack_room(conn->room, n);
	if (room != conn->room) {
		packed = realloc(packed, room);
		if (!packed)
			return -ENOMEM;
		conn->packed = packed;
		conn->room = (uint16_t)room;
	}
	conn->cookie = total->cookie;
	memcpy(packed, bytes, n);
	return 0;
}

/* ---- hashes ---- */

static uint32_t conns_slot_of_number(uint64_t x)
{
	return (uint32_t)(hash_u64(x) % SLOTS);
}

/* Returns the same slot for both directions, so for both ends of a connection. */
static uint32_t conns_slot_of_tuple(const struct event_flow *f)
{
	struct end {
		uint64_t address[2];
		uint64_t port;
	} ends[2] = { { .port = f->local_port }, { .port = f->remote_port } };

	memcpy(ends[0].address, f->local, sizeof(f->local));
	memcpy(ends[1].address, f->remote, sizeof(f->remote));
	return (uint32_t)((hash_bytes(&ends[0], sizeof(ends[0])) +
			   hash_bytes(&ends[1], sizeof(ends[1]))) % SLOTS);
}

static uint32_t *conns_slot(uint32_t **table, uint32_t hash)
{
	if (!*table)
		*table = calloc(SLOTS, sizeof(**table));
	return *table ? &(*table)[hash] : NULL;
}

/* ---- flows ---- */

static void conns_unlink_flow(struct conns *c, uint32_t at)
{
	uint32_t *link =
		c->by_flow ? &c->by_flow[conns_slot_of_number(c->flows.items[at].e.id)] : NULL;

	for (; link && *link && *link != at + 1; c->steps++)
		link = &c->flows.items[*link - 1].next;
	if (link && *link)
		*link = c->flows.items[at].next;
	c->flows.items[at].next = 0;
}

static void conns_drop_flow(struct conns *c, uint32_t at)
{
	struct conn_flow *flow = &c->flows.items[at];

	conns_unlink_flow(c, at);
	*flow = (struct conn_flow){ .next = c->free_flow };
	c->free_flow = at + 1;
}

struct conn_flow *conns_flow_find(struct conns *c, uint32_t id)
{
	uint32_t at = c->by_flow ? c->by_flow[conns_slot_of_number(id)] : 0;

	for (; at && c->flows.items[at - 1].e.id != id; c->steps++)
		at = c->flows.items[at - 1].next;
	return at ? &c->flows.items[at - 1] : NULL;
}

/* Drops flows that no connection uses. */
static void conns_sweep_flows(struct conns *c)
{
	for (uint32_t i = 0; i < c->flows.len; i++)
		if (c->flows.items[i].used && !c->flows.items[i].users)
			conns_drop_flow(c, i);
}

static int conns_new_flow(struct conns *c, uint32_t *at)
{
	int err;

	if (!c->free_flow && c->flows.len == c->flows.max)
		conns_sweep_flows(c);
	if (c->free_flow) {
		*at = c->free_flow - 1;
		c->free_flow = c->flows.items[*at].next;
		return 0;
	}
	err = vec_push(&c->flows, (struct conn_flow){ .next = 0 });
	*at = (uint32_t)c->flows.len - 1;
	return err;
}

int conns_flow_set(struct conns *c, const struct event_flow *flow)
{
	uint32_t *slot = conns_slot(&c->by_flow, conns_slot_of_number(flow->id)), at;
	struct conn_flow *old = conns_flow_find(c, flow->id);
	int err;

	if (!slot)
		return -ENOMEM;
	if (old && !memcmp(&old->e, flow, sizeof(*flow)))
		return 0;
	if (old) { /* the flow's number is reused: connections of the old flow keep that flow */
		at = (uint32_t)(old - c->flows.items);
		if (old->users)
			conns_unlink_flow(c, at);
		else
			conns_drop_flow(c, at);
	}
	err = conns_new_flow(c, &at);
	if (err)
		return err;
	c->flows.items[at] = (struct conn_flow){ .e = *flow, .next = *slot, .used = true };
	*slot = at + 1;
	return 0;
}

/* ---- the two ends ---- */

static bool conns_is_same_tuple(const struct event_flow *a, const struct event_flow *b,
				bool reversed)
{
	const void *local = reversed ? b->remote : b->local;
	const void *remote = reversed ? b->local : b->remote;

	return a->family == b->family && a->family &&
	       a->local_port == (reversed ? b->remote_port : b->local_port) &&
	       a->remote_port == (reversed ? b->local_port : b->remote_port) &&
	       !memcmp(a->local, local, sizeof(a->local)) &&
	       !memcmp(a->remote, remote, sizeof(a->remote));
}

uint32_t conns_reversed(struct conns *c, const struct event_flow *flow, uint32_t at)
{
	if (!c->by_tuple)
		return 0;
	at = at ? c->all.items[at - 1].tuple_next : c->by_tuple[conns_slot_of_tuple(flow)];
	for (; at && !conns_is_same_tuple(conns_flow_of(c, &c->all.items[at - 1]), flow, true);
	     c->steps++)
		at = c->all.items[at - 1].tuple_next;
	c->steps++;
	return at;
}

static void conns_unlink_tuple(struct conns *c, uint32_t at)
{
	struct conn *conn = &c->all.items[at];
	struct conn_flow *flow;
	uint32_t *link;

	if (!conn->flow)
		return;
	flow = &c->flows.items[conn->flow - 1];
	link = &c->by_tuple[conns_slot_of_tuple(&flow->e)];
	for (; !conn->unlisted && *link && *link != at + 1; c->steps++)
		link = &c->all.items[*link - 1].tuple_next;
	BUG_ON(!*link && !conn->unlisted);
	if (!conn->unlisted)
		*link = conn->tuple_next;
	if (!--flow->users)
		conns_drop_flow(c, conn->flow - 1);
	conn->flow = conn->tuple_next = 0;
	conn->unlisted = false;
}

/*
 * Puts a connection that has a flow into the hash slot of its addresses and ports. Of the
 * connections with the same addresses and ports, only the last CONNS_SAME_TUPLE stay in the slot,
 * as each new one examines all others.
 */
static void conns_link_tuple(struct conns *c, uint32_t at, uint32_t *slot)
{
	const struct event_flow *flow = conns_flow_of(c, &c->all.items[at]);
	uint32_t *oldest = NULL, n = 1;
	struct conn *left_out;

	c->all.items[at].tuple_next = *slot;
	*slot = at + 1;
	for (uint32_t *link = &c->all.items[at].tuple_next; *link; c->steps++) {
		struct conn *other = &c->all.items[*link - 1];

		if (conns_is_same_tuple(conns_flow_of(c, other), flow, false)) {
			oldest = link;
			n++;
		}
		link = &other->tuple_next;
	}
	if (n <= CONNS_SAME_TUPLE)
		return;
	left_out = &c->all.items[*oldest - 1];
	*oldest = left_out->tuple_next;
	left_out->tuple_next = 0;
	left_out->unlisted = true;
	for (int span = 0; !left_out->peer && span < CONNS_SPANS; span++)
		c->periods[span].beyond++;
}

/* ---- connections ---- */

/* Sets a connection's flow, unless its current flow has the same addresses. 0 or -ENOMEM. */
static int conns_set_flow(struct conns *c, uint32_t at, uint32_t id)
{
	struct conn_flow *flow = conns_flow_find(c, id);
	struct conn *conn = &c->all.items[at];
	uint32_t *slot;

	if (!flow || conn->flow == flow - c->flows.items + 1 ||
	    (conn->flow && conns_is_same_tuple(conns_flow_of(c, conn), &flow->e, false)))
		return 0;
	slot = conns_slot(&c->by_tuple, conns_slot_of_tuple(&flow->e));
	if (!slot)
		return -ENOMEM;
	flow->users++;
	conns_unlink_tuple(c, at); /* drops the connection's old flow if it was the last user */
	conn->flow = (uint32_t)(flow - c->flows.items) + 1;
	conns_link_tuple(c, at, slot);
	return 0;
}

static void conns_remove(struct conns *c, uint32_t at)
{
	struct conn *conn = &c->all.items[at];
	uint32_t *link = &c->by_key[conns_slot_of_number(conn->cookie)];

	for (; *link && *link != at + 1; c->steps++)
		link = &c->all.items[*link - 1].next;
	BUG_ON(!*link);
	*link = conn->next;
	conns_unlink_tuple(c, at);
	if (conn->peer)
		c->all.items[conn->peer - 1].peer = 0;
	if (conn->series)
		c->series.items[conn->series - 1].pid = 0;
	free(conn->packed);
	*conn = (struct conn){ .next = c->free_conn };
	c->free_conn = at + 1;
	c->n--;
}

/*
 * Drops all closed connections without a record in this interval. A second call in the same
 * interval returns at once, as it would find none.
 */
static void conns_forget_closed(struct conns *c)
{
	size_t n = 0;

	if (c->swept)
		return;
	vec_for_each(&c->ended, at) {
		c->steps++;
		if (c->all.items[*at].interval_record) {
			c->ended.items[n++] = *at;
			continue;
		}
		conns_remove(c, *at);
		c->periods[CONNS_TOTAL].forgotten++;
	}
	c->swept = true;
	c->ended.len = n;
	/* problems of several connections name them by index; dropped ones free their indices */
	vec_clear(&c->crosses[CONNS_TOTAL]);
}

int conns_note_closed(struct conns *c, struct conn *conn)
{
	int err = conn->closed ? 0 : vec_push(&c->ended, (uint32_t)(conn - c->all.items));

	if (!err)
		conn->closed = true;
	return err;
}

static int conns_new_conn(struct conns *c, uint32_t *at)
{
	int err;

	if (!c->free_conn && c->all.len == c->all.max)
		conns_forget_closed(c);
	if (c->free_conn) {
		*at = c->free_conn - 1;
		c->free_conn = c->all.items[*at].next;
		return 0;
	}
	err = vec_push(&c->all, (struct conn){ .next = 0 });
	*at = (uint32_t)c->all.len - 1;
	return err;
}

/*
 * Returns whether both flows may be in one namespace. An unknown namespace matches: cookies hardly
 * repeat.
 */
static bool conns_is_same_netns(const struct event_flow *a, const struct event_flow *b)
{
	return !a || !b || !a->netns_cookie || !b->netns_cookie ||
	       a->netns_cookie == b->netns_cookie;
}

/*
 * Returns the index + 1 of the connection with this cookie and namespace, or 0. *same is the number
 * of other connections with this cookie.
 */
static uint32_t conns_find_conn(struct conns *c, uint64_t cookie, const struct event_flow *flow,
				uint32_t *same)
{
	uint32_t at = c->by_key ? c->by_key[conns_slot_of_number(cookie)] : 0;

	*same = 0;
	for (; at; at = c->all.items[at - 1].next) {
		const struct conn *conn = &c->all.items[at - 1];

		c->steps++;
		if (conn->cookie != cookie)
			continue;
		if (conns_is_same_netns(conns_flow_of(c, conn), flow))
			return at;
		++*same;
	}
	return 0;
}

uint32_t conns_find(struct conns *c, uint64_t cookie, const struct event_flow *flow)
{
	uint32_t same;

	return conns_find_conn(c, cookie, flow, &same);
}

struct conn *conns_get(struct conns *c, const struct event_conn *e, int *err)
{
	uint32_t *slot = conns_slot(&c->by_key, conns_slot_of_number(e->cookie)), at, same;
	struct conn_flow *flow = conns_flow_find(c, e->flow);

	*err = slot ? 0 : -ENOMEM;
	if (*err)
		return NULL;
	at = conns_find_conn(c, e->cookie, flow ? &flow->e : NULL, &same);
	if (!at) {
		*err = same < CONNS_SAME_COOKIE ? conns_new_conn(c, &at) : -E2BIG;
		if (*err)
			return NULL;
		c->all.items[at] = (struct conn){ .cookie = e->cookie, .next = *slot };
		*slot = ++at;
		c->n++;
	}
	*err = conns_set_flow(c, at - 1, e->flow);
	return *err ? NULL : &c->all.items[at - 1];
}

/* ---- views ---- */

const struct event_conn *conns_record(const struct conns *c, enum conns_span span,
				      const struct conn *conn, struct event_conn *room)
{
	if (!conn->used)
		return NULL;
	if (span == CONNS_INTERVAL)
		return conn->interval_record
			       ? &c->interval_records.items[conn->interval_record - 1].c
			       : NULL;
	conn_unpack(conn, room);
	return room;
}

/*
 * Returns the time in ns that both records cover. If both include begin and end of the connection,
 * they cover the same time, and the shorter length counts.
 */
static uint64_t conns_common_ns(const struct event_conn *a, const struct event_conn *b,
				uint64_t error_ns)
{
	const uint32_t whole = CONN_BEGAN | CONN_CLOSED;
	const uint64_t from = a->from > b->from ? a->from : b->from;
	const uint64_t to = a->to < b->to ? a->to : b->to;

	if ((a->flags & b->flags & whole) == whole)
		return a->to - a->from < b->to - b->from ? a->to - a->from : b->to - b->from;
	return to > from && to - from > error_ns ? to - from - error_ns : 0;
}

/* Uses the peer's record only if both records have most of their time in common. */
static void conns_set_common(struct conn_view_buf *room, const char *host, uint64_t error_ns)
{
	const struct event_conn *own = &room->own, *other = &room->other;
	const uint64_t common = conns_common_ns(own, other, error_ns);

	room->view.peer_host = host;
	room->view.common_ns = common;
	if ((double)common >= CONNS_COMMON_MIN * (double)(own->to - own->from) &&
	    (double)common >= CONNS_COMMON_MIN * (double)(other->to - other->from))
		room->view.peer = other;
}

bool conns_view_peer(const struct conns *c, uint32_t conn, struct conn_view_buf *room)
{
	const uint32_t other = c->peer_recording ? c->peer_recording->other[conn] : 0;

	if (!other || !conns_view(c->peer_recording->c, CONNS_TOTAL, other - 1, room))
		return false;
	conn_unpack(&c->all.items[conn], &room->other);
	conns_set_common(room, c->peer_recording->here.name, c->peer_recording->error_ns);
	return true;
}

bool conns_view(const struct conns *c, enum conns_span span, uint32_t conn,
		struct conn_view_buf *room)
{
	const struct conn *own = &c->all.items[conn];
	const struct conn *other = own->peer ? &c->all.items[own->peer - 1] : NULL;
	const struct event_flow *flow = conns_flow_of(c, own);
	const struct event_conn *record = conns_record(c, span, own, &room->own);
	const struct peer_recording *e = c->peer_recording;

	if (!record)
		return false;
	room->view = (struct conn_view){
		.c = record,
		.flow = flow,
		.app = conns_name(c, DICT_STRING, record->app),
		.comm = conns_name(c, DICT_STRING, record->comm),
		.cgroup = conns_name(c, DICT_CGROUP, record->cgroup),
		.unit = conns_name(c, DICT_UNIT, record->unit),
		.netns = flow ? conns_name(c, DICT_NETNS, flow->netns) : NULL,
		.congestion_control = conns_name(c, DICT_STRING, record->congestion_control),
		.joined = other,
		.peer_cookie = other ? other->cookie : 0,
		.problem_intervals = own->problem_intervals,
	};
	if (span == CONNS_INTERVAL)
		conn_view_judged(&room->view,
				 &c->interval_records.items[own->interval_record - 1].judged,
				 &c->found);
	if (other)
		room->view.peer = conns_record(c, span, other, &room->other);
	if (!room->view.peer && span == CONNS_TOTAL && e && e->other[conn]) {
		conn_unpack(&e->c->all.items[e->other[conn] - 1], &room->other);
		conns_set_common(room, e->there.name, e->error_ns);
	}
	return true;
}
