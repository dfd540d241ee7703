/* SPDX-License-Identifier: Apache-2.0 */
/* Makes EV_FLOW and EV_MESSAGE of the records that the programs put into the message ring. */
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
#include "probe/packet/messages.h"
#include "probe/packet/pkt_internal.h"
#include "probe/packet/pkt_probe.h"
#include "probe/packet/sends.h"
#include "bpf/watch.skel.h"

/* Limit of flows with an id. When there are more, all ids are forgotten and assigned anew. */
#define FLOWS 65536
#define PIECES 7

struct messages_flow {
	uint32_t id; /* EV_FLOW's id; 0: free entry */
	struct event_flow of;
};

struct pkt_messages {
	struct ring_buffer *ring;
	struct event_writer *writer;
	struct messages_flow *flows; /* hash table of 2 * FLOWS entries, open addressing */
	uint32_t n_flows, last_flow;
	struct sends *sends;
	struct marks *marks; /* joins reads with marks; NULL: no --boundary mark */
	uint64_t messages;
	/* lost records, and send calls with an unknown begin, up to the end of the self-test */
	uint64_t lost_before, unknown_before;
	/* send calls reported: dropped, as too many waited for packets; with unknown begin */
	uint64_t unsent_reported, unknown_reported;
	uint64_t missed_before[MISSED_MAX], missed_reported[MISSED_MAX];
	uint64_t marks_reported[MARKS_MAX];
	int err; /* first error of `writer`; 0: none */
};

/* ---- flows ---- */

static struct messages_flow *messages_flow_place(struct messages_flow *flows,
						 const struct event_flow *of)
{
	uint32_t i = (uint32_t)hash_bytes(of, sizeof(*of)) & (2 * FLOWS - 1);

	while (flows[i].id && memcmp(&flows[i].of, of, sizeof(*of)) != 0)
		i = (i + 1) & (2 * FLOWS - 1);
	return &flows[i];
}

static uint32_t messages_flow_id(struct pkt_messages *t, const struct msg_flow *m, uint64_t time)
{
	struct event_flow of = {
		.family = (uint8_t)m->family,
		.protocol = m->proto == ROW_TCP ? PROTO_TCP : PROTO_UDP,
		.netns_cookie = m->netns, .sock_cookie = m->sk,
		.local_port = m->local_port, .remote_port = m->remote_port,
	};
	struct messages_flow *f;

	memcpy(of.local, m->local, sizeof(of.local));
	memcpy(of.remote, m->remote, sizeof(of.remote));
	f = messages_flow_place(t->flows, &of);
	if (f->id)
		return f->id;
	if (t->n_flows == FLOWS) {
		memset(t->flows, 0, 2UL * FLOWS * sizeof(*t->flows));
		t->n_flows = 0;
		f = messages_flow_place(t->flows, &of);
	}
	t->n_flows++;
	f->of = of;
	f->id = ++t->last_flow;
	of.id = f->id;
	of.netns_cookie = 0; /* the programs know the namespace's inode, not its cookie */
	of.sock_cookie = m->cookie ? m->sk : 0;
	t->err = event_writer_put(t->writer, EVENT_CORE_NONE, EV_FLOW, time, &of, sizeof(of));
	return f->id;
}

/* ---- messages ---- */

static uint32_t messages_core(uint16_t core)
{
	return core == CORE_UNKNOWN ? EVENT_CORE_NONE : core;
}

/*
 * Path of a message as pieces, i.e. time ranges with a CPU and a role. Each piece begins where the
 * previous piece ends.
 */
struct msg_path {
	struct event_piece piece[PIECES];
	uint32_t n;
	uint64_t at; /* end of the path's last piece */
};

/*
 * Adds a piece to a message's path: the time from the end of the last piece (w->at) to `end`, when
 * the message reached `stage`. An `end` before w->at is raised to w->at.
 */
static void msg_path_add(struct msg_path *w, uint64_t end, uint16_t core, enum piece_role role,
			 enum stage stage)
{
	if (end < w->at)
		end = w->at;
	w->piece[w->n++] = (struct event_piece){
		.begin = w->at, .end = end, .core = messages_core(core), .role = role,
		.flags = stage,
	};
	w->at = end;
}

static void msg_path_receive(struct msg_path *w, const struct msg_record *m)
{
	uint64_t enqueued = m->enqueued < m->read ? m->enqueued : m->read;
	uint64_t link = enqueued - (m->link < enqueued ? m->link : enqueued);
	uint64_t transport = enqueued - (m->transport <= m->link ? m->transport : 0);

	w->at = link;
	if (m->link_core != m->enqueued_core && transport > link && transport < enqueued)
		msg_path_add(w, transport, m->link_core, PIECE_RECEIVE, STAGE_TRANSPORT);
	msg_path_add(w, enqueued, m->enqueued_core, PIECE_RECEIVE, STAGE_ENQUEUED);
	msg_path_add(w, m->read, m->read_core, PIECE_APPLICATION, STAGE_READ);
}

/* Returns the time `ns` before `end`, but not before the end of the path's last piece. */
static uint64_t msg_path_before(const struct msg_path *w, uint64_t end, uint32_t ns)
{
	return end > w->at ? end - (end - w->at < ns ? end - w->at : ns) : end;
}

/*
 * Adds a sent message's time in the socket, which ends when the last byte leaves the socket
 * (`left`). The programs report TCP's pacing and the lateness of pacing timers as sums over the
 * call's packets. These times are placed directly before `left`. Only the last packet's lateness is
 * at its true time.
 */
static void msg_path_add_socket(struct msg_path *w, const struct msg_send *call,
				const struct tx_times *p, uint64_t left, uint16_t core)
{
	const bool datagram = !p->born;
	const uint32_t paced = datagram || !p->queued ? 0 : p->paced - call->paced;
	const uint32_t late = datagram || !p->queued ? 0 : p->late - call->late;
	const uint32_t overdue = late && p->overdue < late ? p->overdue : late;
	const uint64_t due = msg_path_before(w, left, overdue),
		       held = msg_path_before(w, due, paced);
	const uint64_t first = msg_path_before(w, held, late - overdue);

	if (first < left && first > w->at)
		msg_path_add(w, first, core, PIECE_TRANSMIT, STAGE_NONE);
	if (first < held)
		msg_path_add(w, held, CORE_UNKNOWN, PIECE_LATE, STAGE_NONE);
	if (due > w->at && due < left)
		msg_path_add(w, due, core, PIECE_PACED, STAGE_NONE);
	msg_path_add(w, left, core,
		     due < left	  ? PIECE_LATE
		     : held < due ? PIECE_PACED
				  : PIECE_TRANSMIT,
		     STAGE_SEGMENT);
}

/*
 * Adds a sent message's path, from the send call to the driver or, if known, to stage `sent`. If
 * queued before its departure time, a packet reaches `segment` in the queueing discipline.
 */
static void msg_path_send(struct msg_path *w, const struct msg_send *call,
			  const struct msg_packet *packet)
{
	const struct tx_times *p = &packet->times;
	bool paced = p->queued && p->segment > p->queued && p->segment < p->given;
	bool datagram = !p->born;
	uint64_t left = p->queued && p->segment > p->queued ? p->queued : p->segment;
	uint16_t core = datagram ? call->core : p->queued_core;

	w->at = call->since;
	if (paced) {
		msg_path_add(w, p->queued, p->queued_core, PIECE_TRANSMIT, STAGE_QDISC);
		msg_path_add(w, p->segment, p->queued_core, PIECE_TRANSMIT, STAGE_SEGMENT);
	} else {
		msg_path_add_socket(w, call, p, left, core);
		if (p->queued)
			msg_path_add(w, p->queued, p->queued_core, PIECE_TRANSMIT, STAGE_QDISC);
	}
	msg_path_add(w, p->given, p->given_core, PIECE_TRANSMIT, STAGE_DRIVER);
	if (packet->sent)
		msg_path_add(w, packet->sent, packet->sent_core, PIECE_TRANSMIT, STAGE_SENT);
}

static void messages_put(struct pkt_messages *t, struct event_message *e,
			 const struct msg_flow *flow, const struct msg_path *w)
{
	const struct event event = {
		.kind = EV_MESSAGE, .core = w->piece[w->n - 1].core, .time = w->at,
	};
	uint32_t id = messages_flow_id(t, flow, w->at);

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

static void messages_put_received(struct pkt_messages *t, const struct msg_record *m,
				  const struct msg_path *w)
{
	struct event_message e = {
		.direction = DIR_INGRESS, .tid = m->tid, .offset = m->seq, .bytes = m->bytes,
		.first = w->piece[0].begin,
	};

	e.last = m->youngest > e.first ? m->youngest : e.first;
	messages_put(t, &e, &m->flow, w);
}

static void messages_on_read(struct pkt_messages *t, const void *data)
{
	struct msg_record m;
	struct msg_path w = {};

	memcpy(&m, data, sizeof(m)); /* a copy: the ring is read-only */
	if (t->marks) {
		marks_add_read(t->marks, &m);
		return;
	}
	msg_path_receive(&w, &m);
	messages_put_received(t, &m, &w);
}

static void messages_on_request(struct pkt_messages *t, const void *data)
{
	struct msg_request r;
	struct msg_path w = {};

	memcpy(&r, data, sizeof(r));
	msg_path_receive(&w, &r.m);
	msg_path_add(&w, r.sent, r.sent_core, PIECE_APPLICATION, STAGE_SEND);
	messages_put_received(t, &r.m, &w);
}

static void messages_on_mark(struct pkt_messages *t, const void *data)
{
	struct msg_mark m;

	memcpy(&m, data, sizeof(m));
	if (t->marks)
		marks_add_mark(t->marks, &m);
}

/*
 * Puts a message whose boundaries the application marked. If another thread ended the message, or
 * its thread had other marks in between, the path has a gap between the two marks.
 */
static void messages_on_marked(void *ctx, const struct marked *message)
{
	struct pkt_messages *t = ctx;
	struct msg_path w = {};

	if (t->err)
		return;
	msg_path_receive(&w, &message->m);
	if (message->handed) {
		msg_path_add(&w, message->begun, message->begin_core, PIECE_APPLICATION,
			     STAGE_NONE);
		w.at = message->ended > w.at ? message->ended : w.at;
	}
	msg_path_add(&w, message->ended, message->end_core, PIECE_APPLICATION, STAGE_MARK);
	messages_put_received(t, &message->m, &w);
}

static int messages_on_sent(void *ctx, const struct msg_send *call, const struct msg_packet *packet)
{
	struct pkt_messages *t = ctx;
	struct event_message e = {
		.direction = DIR_EGRESS, .tid = call->tid, .offset = call->seq,
		.bytes = call->bytes, .first = call->since, .last = call->until,
	};
	struct msg_path w = {};

	msg_path_send(&w, call, packet);
	messages_put(t, &e, &call->flow, &w);
	return 0;
}

static int messages_on_record(void *ctx, void *data, size_t size)
{
	struct msg_packet packet;
	struct msg_send call;
	struct pkt_messages *t = ctx;
	uint32_t what;

	if (t->err || !t->writer)
		return 0;
	memcpy(&what, data, sizeof(what));
	if (what == MSG_TYPE_READ && size == sizeof(struct msg_record)) {
		messages_on_read(t, data);
	} else if (what == MSG_TYPE_REQUEST && size == sizeof(struct msg_request)) {
		messages_on_request(t, data);
	} else if (what == MSG_TYPE_MARK && size == sizeof(struct msg_mark)) {
		messages_on_mark(t, data);
	} else if (what == MSG_TYPE_SEND && size == sizeof(call)) {
		memcpy(&call, data, sizeof(call));
		sends_call(t->sends, &call);
	} else if (what == MSG_TYPE_PACKET && size == sizeof(packet)) {
		memcpy(&packet, data, sizeof(packet));
		sends_packet(t->sends, &packet);
	}
	return 0;
}

/* ---- the ring ---- */

int pkt_messages_open(struct pkt_probe *probe, char *why, size_t size)
{
	const int ring = bpf_map__fd(probe->skel->maps.msg_ringbuf);
	struct pkt_messages *t;

	if (!probe->config.messages)
		return 0;
	if (ring < 0) {
		snprintf(why, size, "cannot record messages: this kernel refuses ring buffers "
			 "(maps of type ringbuf)");
		return -ENOTSUP;
	}
	t = calloc(1, sizeof(*t));
	probe->messages = t;
	if (!t)
		return -ENOMEM;
	t->flows = calloc(2UL * FLOWS, sizeof(*t->flows));
	t->ring = ring_buffer__new(ring, messages_on_record, t, NULL);
	if (!t->flows || !t->ring || sends_new(&t->sends, messages_on_sent, t))
		return -ENOMEM;
	ring_buffer__consume(t->ring);
	t->lost_before = probe->skel->bss->msg_lost;
	t->unknown_before = probe->skel->bss->msg_calls_unknown;
	memcpy(t->missed_before, probe->skel->bss->requests_missed, sizeof(t->missed_before));
	if (probe->config.marks)
		return marks_new(&t->marks, probe->config.marks->by_id, clock_now(),
				 t->lost_before, messages_on_marked, t);
	return 0;
}

int pkt_messages_set_size(struct pkt_probe *probe)
{
	/* a ring's size must be a power of two and a multiple of the page size */
	long least = sysconf(_SC_PAGESIZE);

	return bpf_map__set_max_entries(probe->skel->maps.tx_times_of,
					pkt_messages_has_sends(probe) ? 2 * TX_SETS : 1)
		       ?: bpf_map__set_max_entries(probe->skel->maps.msg_ringbuf,
						   probe->config.messages ? MSG_RING_BYTES
									  : (uint32_t)least);
}

bool pkt_messages_has_sends(const struct pkt_probe *probe)
{
	const uint32_t needed = SENDING_STAGES;

	return probe->config.messages && (probe->config.stages & needed) == needed;
}

void pkt_messages_free(struct pkt_probe *probe)
{
	if (!probe->messages)
		return;
	ring_buffer__free(probe->messages->ring);
	sends_free(probe->messages->sends);
	marks_free(probe->messages->marks);
	free(probe->messages->flows);
	free(probe->messages);
	probe->messages = NULL;
}

uint64_t pkt_probe_messages_lost(const struct pkt_probe *probe)
{
	return probe->messages ? probe->skel->bss->msg_lost - probe->messages->lost_before : 0;
}

int pkt_probe_messages(struct pkt_probe *probe, struct event_writer *writer)
{
	struct pkt_messages *t = probe->messages;
	int n;

	if (!t)
		return 0;
	t->writer = writer;
	t->err = 0;
	n = ring_buffer__consume(t->ring);
	return t->err ? t->err : n < 0 ? n : 0;
}

/* Why requests are not recorded (enum request_missed). `excluded`: by design; else it is a loss. */
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

static int messages_put_count(struct event_sink *sink, struct event_dict *dict, uint64_t now,
			      struct event_count *e, const char *reason, uint64_t n,
			      uint64_t *reported)
{
	e->count = n - *reported;
	*reported = n;
	if (!e->count)
		return 0;
	e->reason = event_dict_intern(dict, DICT_STRING, reason, sink, now);
	return event_put(sink, EV_COUNT, now, e, sizeof(*e));
}

static int messages_put_missed(struct pkt_probe *probe, struct event_sink *sink,
			       struct event_dict *dict, uint64_t now)
{
	struct pkt_messages *t = probe->messages;
	int err = 0;

	for (int i = 0; i < MISSED_MAX && !err; i++) {
		struct event_count e = {
			.what = missed[i].excluded ? COUNT_EXCLUDED : COUNT_LOSS,
			.stage = STAGE_READ, .direction = DIR_INGRESS, .protocol = PROTO_TCP,
		};

		err = messages_put_count(sink, dict, now, &e, missed[i].name,
					 probe->skel->bss->requests_missed[i] - t->missed_before[i],
					 &t->missed_reported[i]);
	}
	return err;
}

static int messages_put_marks(const struct pkt_messages *t, uint64_t *reported,
			      struct event_sink *sink, struct event_dict *dict, uint64_t now)
{
	int err = 0;

	for (uint32_t i = MARKS_MET + 1; t->marks && i < MARKS_MAX && !err; i++) {
		struct event_count e = {
			.what = marks_excluded(i) ? COUNT_EXCLUDED : COUNT_LOSS,
			.stage = STAGE_READ, .direction = DIR_INGRESS,
		};

		err = messages_put_count(sink, dict, now, &e, marks_reason(i),
					 marks_missed(t->marks, i), &reported[i]);
	}
	return err;
}

int pkt_messages_put_losses(struct pkt_probe *probe, struct event_sink *sink,
			    struct event_dict *dict, uint64_t now)
{
	struct event_count e = {
		.what = COUNT_LOSS, .stage = STAGE_SEND, .direction = DIR_EGRESS,
		.protocol = PROTO_TCP,
	};
	struct pkt_messages *t = probe->messages;
	uint64_t unknown;

	if (!t)
		return 0;
	unknown = probe->skel->bss->msg_calls_unknown - t->unknown_before;
	return messages_put_count(sink, dict, now, &e, "call-not-seen", unknown,
				  &t->unknown_reported) ?:
	       messages_put_count(sink, dict, now, &e, "not-seen-to-leave",
				  sends_forgotten(t->sends), &t->unsent_reported) ?:
	       messages_put_missed(probe, sink, dict, now) ?:
	       messages_put_marks(t, t->marks_reported, sink, dict, now);
}
