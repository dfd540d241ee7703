/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a recording: what the programs told of each receive call, as EV_MESSAGE. */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi_record.h"
#include "event/writer.h"
#include "probe/watch_internal.h"
#include "bpf/watch.skel.h"

/* Flows that have a number; when there are more, all get a new one as they come again. */
#define FLOWS 65536
#define PIECES 3

struct flow {
	uint32_t id; /* 0 = free */
	struct event_flow of;
};

struct told {
	struct ring_buffer *ring;
	struct event_writer *writer;
	struct flow *flows; /* open addressing, twice as many places */
	uint32_t n_flows, last_flow;
	uint64_t messages;
	uint64_t lost_before; /* of the self-test */
	int err; /* the writer's first */
};

/* ---- flows ---- */

static uint32_t hash_of(const struct event_flow *of)
{
	const uint64_t basis = 14695981039346656037ULL, prime = 1099511628211ULL;
	const unsigned char *bytes = (const void *)of;
	uint64_t h = basis;

	for (size_t i = 0; i < sizeof(*of); i++)
		h = (h ^ bytes[i]) * prime;
	return (uint32_t)(h ^ h >> 32);
}

static struct flow *flow_place(struct flow *flows, const struct event_flow *of)
{
	uint32_t i = hash_of(of) & (2 * FLOWS - 1);

	while (flows[i].id && memcmp(&flows[i].of, of, sizeof(*of)) != 0)
		i = (i + 1) & (2 * FLOWS - 1);
	return &flows[i];
}

static uint32_t flow_of(struct told *t, const struct told_message *m)
{
	struct event_flow of = {
		.family = (uint8_t)m->family,
		.protocol = m->proto == ROW_TCP ? PROTO_TCP : PROTO_UDP,
		.netns_cookie = m->netns, .sock_cookie = m->sk,
		.local_port = m->local_port, .remote_port = m->remote_port,
	};
	struct flow *f;

	memcpy(of.local, m->local, sizeof(of.local));
	memcpy(of.remote, m->remote, sizeof(of.remote));
	f = flow_place(t->flows, &of);
	if (f->id)
		return f->id;
	if (t->n_flows == FLOWS) {
		memset(t->flows, 0, 2UL * FLOWS * sizeof(*t->flows));
		t->n_flows = 0;
		f = flow_place(t->flows, &of);
	}
	t->n_flows++;
	f->of = of;
	f->id = ++t->last_flow;
	of.id = f->id;
	of.netns_cookie = 0; /* it is an inode, and the key here only */
	of.sock_cookie = m->cookie ? m->sk : 0;
	t->err = event_writer_put(t->writer, EVENT_CORE_NONE, EV_FLOW, m->read, &of, sizeof(of));
	return f->id;
}

/* ---- messages ---- */

static uint32_t core_of(uint16_t core)
{
	return core == CORE_UNKNOWN ? EVENT_CORE_NONE : core;
}

/* Its way, in order and without a gap; 2 to PIECES of them. */
static uint32_t pieces_of(const struct told_message *m, struct event_piece *piece)
{
	uint64_t enqueued = m->enqueued < m->read ? m->enqueued : m->read;
	uint64_t link = enqueued - (m->link < enqueued ? m->link : enqueued);
	uint64_t middle = enqueued - (m->transport <= m->link ? m->transport : 0);
	uint32_t n = 0;

	if (m->link_core != m->enqueued_core && middle > link && middle < enqueued) {
		piece[n++] = (struct event_piece){
			.begin = link, .end = middle, .core = core_of(m->link_core),
			.role = PIECE_RECEIVE };
		link = middle;
		piece[n++] = (struct event_piece){
			.begin = link, .end = enqueued, .core = core_of(m->enqueued_core),
			.role = PIECE_RECEIVE };
	} else {
		piece[n++] = (struct event_piece){
			.begin = link, .end = enqueued, .core = core_of(m->enqueued_core),
			.role = PIECE_RECEIVE };
	}
	piece[n++] = (struct event_piece){
		.begin = enqueued, .end = m->read, .core = core_of(m->read_core),
		.role = PIECE_APPLICATION };
	return n;
}

static int take(void *ctx, void *data, size_t size)
{
	struct event_piece pieces[PIECES];
	struct told *t = ctx;
	struct told_message m;
	struct event_message e;
	struct event event = { .kind = EV_MESSAGE };

	if (size != sizeof(m) || t->err || !t->writer)
		return 0;
	memcpy(&m, data, sizeof(m)); /* the ring is not to be written */
	e = (struct event_message){
		.id = ++t->messages, .tid = m.tid, .offset = m.seq, .bytes = m.bytes,
		.direction = DIR_INGRESS,
		.protocol = m.proto == ROW_TCP ? PROTO_TCP : PROTO_UDP,
		.n = pieces_of(&m, pieces),
	};
	e.flow = flow_of(t, &m);
	e.first = pieces[0].begin;
	e.last = m.youngest > e.first ? m.youngest : e.first;
	event.core = core_of(m.read_core);
	event.time = m.read;
	if (!t->err)
		t->err = event_writer_record(t->writer, EVENT_DOMAIN_MONOTONIC, e.first, &event,
					     (struct iovec[]){
						     { &e, sizeof(e) },
						     { pieces, e.n * sizeof(pieces[0]) },
					     }, 2);
	return 0;
}

int watch_told_open(struct watch_probe *probe)
{
	struct told *t;

	if (!probe->config.messages)
		return 0;
	t = calloc(1, sizeof(*t));
	probe->told = t;
	if (!t)
		return -ENOMEM;
	t->flows = calloc(2UL * FLOWS, sizeof(*t->flows));
	t->ring = ring_buffer__new(bpf_map__fd(probe->skel->maps.told_ring), take, t, NULL);
	if (!t->flows || !t->ring)
		return -ENOMEM;
	ring_buffer__consume(t->ring);
	t->lost_before = probe->skel->bss->told_lost;
	return 0;
}

int watch_told_size(struct watch_probe *probe)
{
	/* a ring's size is a power of two and of whole pages */
	long least = sysconf(_SC_PAGESIZE);

	return bpf_map__set_max_entries(probe->skel->maps.told_ring, probe->config.messages ?
					TOLD_RING : (uint32_t)least);
}

void watch_told_free(struct watch_probe *probe)
{
	if (!probe->told)
		return;
	ring_buffer__free(probe->told->ring);
	free(probe->told->flows);
	free(probe->told);
	probe->told = NULL;
}

uint64_t watch_told_lost(const struct watch_probe *probe)
{
	return probe->told ? probe->skel->bss->told_lost - probe->told->lost_before : 0;
}

int watch_told_pull(struct watch_probe *probe, struct event_writer *writer)
{
	struct told *t = probe->told;
	int n;

	if (!t)
		return 0;
	t->writer = writer;
	t->err = 0;
	n = ring_buffer__consume(t->ring);
	return t->err ? t->err : n < 0 ? n : 0;
}
