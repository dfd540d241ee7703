/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a recording: what the programs told of each receive call, as EV_MESSAGE. */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "bpf/abi_record.h"
#include "clock/clock.h"
#include "event/writer.h"
#include "probe/packet/marks.h"
#include "probe/packet/sends.h"
#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

/* Flows that have a number; when there are more, all get a new one as they come again. */
#define FLOWS 65536
#define PIECES 7

struct flow {
	uint32_t id; /* 0 = free */
	struct event_flow of;
};

struct told {
	struct ring_buffer *ring;
	struct event_writer *writer;
	struct flow *flows; /* open addressing, twice as many places */
	uint32_t n_flows, last_flow;
	struct sends *sends;
	struct marks *marks; /* NULL: messages have other boundaries */
	uint64_t messages;
	uint64_t lost_before, unknown_before; /* of the self-test */
	uint64_t unsent_told, unknown_told;   /* of losses by reason */
	uint64_t missed_before[MISSED_MAX], missed_told[MISSED_MAX];
	uint64_t marks_told[MARKS_MAX];
	int err; /* the writer's first */
};

/* ---- flows ---- */

static struct flow *flow_place(struct flow *flows, const struct event_flow *of)
{
	uint32_t i = (uint32_t)hash_bytes(of, sizeof(*of)) & (2 * FLOWS - 1);

	while (flows[i].id && memcmp(&flows[i].of, of, sizeof(*of)) != 0)
		i = (i + 1) & (2 * FLOWS - 1);
	return &flows[i];
}

static uint32_t flow_of(struct told *t, const struct told_flow *m, uint64_t time)
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
	t->err = event_writer_put(t->writer, EVENT_CORE_NONE, EV_FLOW, time, &of, sizeof(of));
	return f->id;
}

/* ---- messages ---- */

static uint32_t core_of(uint16_t core)
{
	return core == CORE_UNKNOWN ? EVENT_CORE_NONE : core;
}

/* A message's pieces, as they follow each other without a gap. */
struct way {
	struct event_piece piece[PIECES];
	uint32_t n;
	uint64_t at; /* where the last one ended */
};

/* Up to `end`, which is when it reached `stage`; two readings of the clock may disagree. */
static void go(struct way *w, uint64_t end, uint16_t core, enum piece_role role, enum stage stage)
{
	if (end < w->at)
		end = w->at;
	w->piece[w->n++] = (struct event_piece){
		.begin = w->at, .end = end, .core = core_of(core), .role = role, .flags = stage,
	};
	w->at = end;
}

static void received(struct way *w, const struct told_message *m)
{
	uint64_t enqueued = m->enqueued < m->read ? m->enqueued : m->read;
	uint64_t link = enqueued - (m->link < enqueued ? m->link : enqueued);
	uint64_t transport = enqueued - (m->transport <= m->link ? m->transport : 0);

	w->at = link;
	if (m->link_core != m->enqueued_core && transport > link && transport < enqueued)
		go(w, transport, m->link_core, PIECE_RECEIVE, STAGE_TRANSPORT);
	go(w, enqueued, m->enqueued_core, PIECE_RECEIVE, STAGE_ENQUEUED);
	go(w, m->read, m->read_core, PIECE_APPLICATION, STAGE_READ);
}

/* A part of `ns` that ends at `end`, as far as it is not before the way's begin. */
static uint64_t back(const struct way *w, uint64_t end, uint32_t ns)
{
	return end > w->at ? end - (end - w->at < ns ? end - w->at : ns) : end;
}

/*
 * In the socket, up to when its last byte `left`. When TCP's own pacing held the call's bytes is
 * known of each packet, but told as one time: the last, before that; so is by how much the timers
 * of earlier packets were late, without a core. When the last packet's timer was due is known.
 */
static void in_socket(struct way *w, const struct told_send *call, const struct tx_way *p,
		      uint64_t left, uint16_t core)
{
	const bool datagram = !p->born;
	const uint32_t paced = datagram || !p->queued ? 0 : p->paced - call->paced;
	const uint32_t late = datagram || !p->queued ? 0 : p->late - call->late;
	const uint32_t overdue = late && p->overdue < late ? p->overdue : late;
	const uint64_t due = back(w, left, overdue), held = back(w, due, paced);
	const uint64_t first = back(w, held, late - overdue);

	if (first < left && first > w->at)
		go(w, first, core, PIECE_TRANSMIT, STAGE_NONE);
	if (first < held)
		go(w, held, CORE_UNKNOWN, PIECE_LATE, STAGE_NONE);
	if (due > w->at && due < left)
		go(w, due, core, PIECE_PACED, STAGE_NONE);
	go(w, left, core, due < left ? PIECE_LATE : held < due ? PIECE_PACED : PIECE_TRANSMIT,
	   STAGE_SEGMENT);
}

/* A departure that was put off is behind the queue's begin. */
static void sent(struct way *w, const struct told_send *call, const struct told_packet *packet)
{
	const struct tx_way *p = &packet->way;
	bool paced = p->queued && p->segment > p->queued && p->segment < p->given;
	bool datagram = !p->born;
	uint64_t left = p->queued && p->segment > p->queued ? p->queued : p->segment;
	uint16_t core = datagram ? call->core : p->queued_core;

	w->at = call->since;
	if (paced) {
		go(w, p->queued, p->queued_core, PIECE_TRANSMIT, STAGE_QDISC);
		go(w, p->segment, p->queued_core, PIECE_TRANSMIT, STAGE_SEGMENT);
	} else {
		in_socket(w, call, p, left, core);
		if (p->queued)
			go(w, p->queued, p->queued_core, PIECE_TRANSMIT, STAGE_QDISC);
	}
	go(w, p->given, p->given_core, PIECE_TRANSMIT, STAGE_DRIVER);
	if (packet->sent)
		go(w, packet->sent, packet->sent_core, PIECE_TRANSMIT, STAGE_SENT);
}

static void put(struct told *t, struct event_message *e, const struct told_flow *flow,
		const struct way *w)
{
	const struct event event = {
		.kind = EV_MESSAGE, .core = w->piece[w->n - 1].core, .time = w->at,
	};
	uint32_t id = flow_of(t, flow, w->at);

	if (t->err)
		return;
	e->id = ++t->messages;
	e->flow = id;
	e->protocol = flow->proto == ROW_TCP ? PROTO_TCP : PROTO_UDP;
	e->n = w->n;
	t->err = event_writer_record(t->writer, EVENT_DOMAIN_MONOTONIC, e->first, &event,
				     (struct iovec[]){
					     { e, sizeof(*e) },
					     { (void *)w->piece, w->n * sizeof(w->piece[0]) },
				     }, 2);
}

static void put_received(struct told *t, const struct told_message *m, const struct way *w)
{
	struct event_message e = {
		.direction = DIR_INGRESS, .tid = m->tid, .offset = m->seq, .bytes = m->bytes,
		.first = w->piece[0].begin,
	};

	e.last = m->youngest > e.first ? m->youngest : e.first;
	put(t, &e, &m->flow, w);
}

static void take_message(struct told *t, const void *data)
{
	struct told_message m;
	struct way w = {};

	memcpy(&m, data, sizeof(m)); /* the ring is not to be written */
	if (t->marks) {
		marks_read(t->marks, &m);
		return;
	}
	received(&w, &m);
	put_received(t, &m, &w);
}

static void take_request(struct told *t, const void *data)
{
	struct told_request r;
	struct way w = {};

	memcpy(&r, data, sizeof(r));
	received(&w, &r.m);
	go(&w, r.sent, r.sent_core, PIECE_APPLICATION, STAGE_SEND);
	put_received(t, &r.m, &w);
}

static void take_mark(struct told *t, const void *data)
{
	struct told_mark m;

	memcpy(&m, data, sizeof(m));
	if (t->marks)
		marks_mark(t->marks, &m);
}

/* Between pieces nothing is known: whoever had it meanwhile, its reader was not, or not only. */
static void take_marked(void *ctx, const struct marked *message)
{
	struct told *t = ctx;
	struct way w = {};

	if (t->err)
		return;
	received(&w, &message->m);
	if (message->handed) {
		go(&w, message->begun, message->begin_core, PIECE_APPLICATION, STAGE_NONE);
		w.at = message->ended > w.at ? message->ended : w.at;
	}
	go(&w, message->ended, message->end_core, PIECE_APPLICATION, STAGE_MARK);
	put_received(t, &message->m, &w);
}

static int take_sent(void *ctx, const struct told_send *call, const struct told_packet *packet)
{
	struct told *t = ctx;
	struct event_message e = {
		.direction = DIR_EGRESS, .tid = call->tid, .offset = call->seq,
		.bytes = call->bytes, .first = call->since, .last = call->until,
	};
	struct way w = {};

	sent(&w, call, packet);
	put(t, &e, &call->flow, &w);
	return 0;
}

static int take(void *ctx, void *data, size_t size)
{
	struct told_packet packet;
	struct told_send call;
	struct told *t = ctx;
	uint32_t what;

	if (t->err || !t->writer)
		return 0;
	memcpy(&what, data, sizeof(what));
	if (what == TOLD_MESSAGE && size == sizeof(struct told_message)) {
		take_message(t, data);
	} else if (what == TOLD_REQUEST && size == sizeof(struct told_request)) {
		take_request(t, data);
	} else if (what == TOLD_MARK && size == sizeof(struct told_mark)) {
		take_mark(t, data);
	} else if (what == TOLD_SEND && size == sizeof(call)) {
		memcpy(&call, data, sizeof(call));
		sends_call(t->sends, &call);
	} else if (what == TOLD_PACKET && size == sizeof(packet)) {
		memcpy(&packet, data, sizeof(packet));
		sends_packet(t->sends, &packet);
	}
	return 0;
}

/* ---- the ring ---- */

int pkt_told_open(struct pkt_probe *probe, char *why, size_t size)
{
	const int ring = bpf_map__fd(probe->skel->maps.told_ring);
	struct told *t;

	if (!probe->config.messages)
		return 0;
	if (ring < 0) {
		snprintf(why, size, "messages can't be recorded: this kernel refuses ring buffers "
			 "(maps of type ringbuf)");
		return -ENOTSUP;
	}
	t = calloc(1, sizeof(*t));
	probe->told = t;
	if (!t)
		return -ENOMEM;
	t->flows = calloc(2UL * FLOWS, sizeof(*t->flows));
	t->ring = ring_buffer__new(ring, take, t, NULL);
	if (!t->flows || !t->ring || sends_new(&t->sends, take_sent, t))
		return -ENOMEM;
	ring_buffer__consume(t->ring);
	t->lost_before = probe->skel->bss->told_lost;
	t->unknown_before = probe->skel->bss->told_unknown;
	memcpy(t->missed_before, probe->skel->bss->requests_missed, sizeof(t->missed_before));
	if (probe->config.marks)
		return marks_new(&t->marks, probe->config.marks->by_id, clock_now(),
				 t->lost_before, take_marked, t);
	return 0;
}

int pkt_told_size(struct pkt_probe *probe)
{
	/* a ring's size is a power of two and of whole pages */
	long least = sysconf(_SC_PAGESIZE);

	return bpf_map__set_max_entries(probe->skel->maps.tx_ways, pkt_told_sends(probe) ?
					2 * TX_SETS : 1) ?:
	       bpf_map__set_max_entries(probe->skel->maps.told_ring, probe->config.messages ?
					TOLD_RING : (uint32_t)least);
}

bool pkt_told_sends(const struct pkt_probe *probe)
{
	const uint32_t needed = EGRESS_STAGES & ~STAGE_BIT(STAGE_ACKED);

	return probe->config.messages && (probe->config.stages & needed) == needed;
}

void pkt_told_free(struct pkt_probe *probe)
{
	if (!probe->told)
		return;
	ring_buffer__free(probe->told->ring);
	sends_free(probe->told->sends);
	marks_free(probe->told->marks);
	free(probe->told->flows);
	free(probe->told);
	probe->told = NULL;
}

uint64_t pkt_told_lost(const struct pkt_probe *probe)
{
	return probe->told ? probe->skel->bss->told_lost - probe->told->lost_before : 0;
}

int pkt_told_pull(struct pkt_probe *probe, struct event_writer *writer)
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

/* By enum request_missed. What is no fault of the measurement is excluded, not lost. */
static const struct {
	const char *name;
	bool excluded;
} missed[MISSED_MAX] = {
	[MISSED_NO_REPLY] = { "no-reply", true },
	[MISSED_ARRIVAL] = { "arrival-unknown", false },
	[MISSED_OLDER] = { "connection-older", true },
	[MISSED_PROTOCOL] = { "protocol-unknown", true },
	[MISSED_UNFOLLOWED] = { "not-followed", false },
	[MISSED_CALL] = { "buffer-unknown", false },
	[MISSED_BUFFER] = { "buffer-unread", false },
	[MISSED_BYTES] = { "bytes-missing", false },
	[MISSED_REQUEST] = { "reply-to-nothing", false },
	[MISSED_FULL] = { "requests-full", false },
	[MISSED_LARGE] = { "call-too-large", false },
};

static int put_count(struct event_sink *sink, struct event_dict *dict, uint64_t now,
		     struct event_count *e, const char *reason, uint64_t n, uint64_t *told)
{
	e->count = n - *told;
	*told = n;
	if (!e->count)
		return 0;
	e->reason = event_dict_intern(dict, DICT_STRING, reason, sink, now);
	return event_put(sink, EV_COUNT, now, e, sizeof(*e));
}

static int put_missed(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		      uint64_t now)
{
	struct told *t = probe->told;
	int err = 0;

	for (int i = 0; i < MISSED_MAX && !err; i++) {
		struct event_count e = {
			.what = missed[i].excluded ? COUNT_EXCLUDED : COUNT_LOSS,
			.stage = STAGE_READ, .direction = DIR_INGRESS, .protocol = PROTO_TCP,
		};

		err = put_count(sink, dict, now, &e, missed[i].name,
				probe->skel->bss->requests_missed[i] - t->missed_before[i],
				&t->missed_told[i]);
	}
	return err;
}

static int put_marks(const struct told *t, uint64_t *told, struct event_sink *sink,
		     struct event_dict *dict, uint64_t now)
{
	int err = 0;

	for (uint32_t i = MARKS_MET + 1; t->marks && i < MARKS_MAX && !err; i++) {
		struct event_count e = {
			.what = marks_excluded(i) ? COUNT_EXCLUDED : COUNT_LOSS,
			.stage = STAGE_READ, .direction = DIR_INGRESS,
		};

		err = put_count(sink, dict, now, &e, marks_reason(i), marks_missed(t->marks, i),
				&told[i]);
	}
	return err;
}

int pkt_told_losses(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		      uint64_t now)
{
	struct event_count e = {
		.what = COUNT_LOSS, .stage = STAGE_SEND, .direction = DIR_EGRESS,
		.protocol = PROTO_TCP,
	};
	struct told *t = probe->told;

	if (!t)
		return 0;
	return put_count(sink, dict, now, &e, "call-not-seen",
			 probe->skel->bss->told_unknown - t->unknown_before, &t->unknown_told) ?:
	       put_count(sink, dict, now, &e, "not-seen-to-leave", sends_forgotten(t->sends),
			 &t->unsent_told) ?:
	       put_missed(probe, sink, dict, now) ?:
	       put_marks(t, t->marks_told, sink, dict, now);
}
