/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "load/conn_queue.h"
#include "load/conn_redirect.h"
#include "load/conn_reply.h"
#include "load/conn_resend.h"
#include "load/conn_sample.h"
#include "load/conn_session.h"
#include "load/outcomes.h"
#include "load/thread_causes.h"
#include "load/request.h"
#include "load/target_urls.h"

/* ---- sending ---- */

/* Removes a request from the connection, which then no longer waits for the reply. */
static void conn_drop(struct load_thread *t, struct load_conn *c, struct load_request *r)
{
	conn_detach(c, r);
	request_unqueued(t, r);
}

/* Encodes a request at t->out[at]. Returns its size in bytes; 0: the buffer is too small. */
static size_t conn_encode(struct load_thread *t, struct load_conn *c, struct load_request *r,
			  size_t at)
{
	const struct load_target *target = c->target;
	struct encoded_request request = {
		.number = r->number, .type = r->begun ? r->sample.type : 0,
	};
	struct rng rng;
	int err;

	if (t->phase == PHASE_PRELOAD) {
		err = protocol_encode_store(target->protocol, &target->workload, r->number,
					    t->out + at, t->out_size - at, &request);
	} else {
		thread_request_rng(t, r->number, &rng);
		err = protocol_encode(target->protocol, target_urls_draw(target, &rng), &rng, r->id,
				      t->out + at, t->out_size - at, &request);
	}
	if (err)
		return 0;
	r->reply_id = request.id;
	r->sample.type = request.type;
	r->sample.tx_bytes = request.size;
	return request.size;
}

/* As conn_encode(), behind the command ASKING. */
static size_t conn_encode_asking(struct load_thread *t, struct load_conn *c, struct load_request *r,
				 size_t at)
{
	const size_t before = sizeof(CONN_REDIRECT_ASKING) - 1;
	size_t size;

	if (t->out_size - at < before)
		return 0;
	memcpy(t->out + at, CONN_REDIRECT_ASKING, before);
	size = conn_encode(t, c, r, at + before);
	if (!size)
		return 0;
	r->asked_type = r->sample.type;
	if (!r->asking_answered)
		r->sample.type = OPERATION_COMMAND;
	r->sample.tx_bytes += before;
	return before + size;
}

/* Whether a write holds one request only, as a datagram and a TLS record do. */
static bool one_by_one(const struct load_conn *c)
{
	return c->stream.datagram || c->stream.tls;
}

/*
 * Encodes unwritten requests into the send buffer while they fit. Returns the number of bytes; sets
 * *end to the first request that is not encoded, or NULL.
 */
static size_t encode_waiting(struct load_thread *t, struct load_conn *c,
			     struct load_request **end)
{
	struct load_request *r = c->unwritten;
	size_t n = 0, size;

	while (r) {
		size = r->asking ? conn_encode_asking(t, c, r, n) : conn_encode(t, c, r, n);
		if (!size)
			break;
		n += size;
		r = r->next;
		if (one_by_one(c))
			break;
	}
	BUG_ON(!n);
	*end = r;
	return n;
}

static void expect_stamps(struct load_conn *c, struct load_request *r, uint64_t last)
{
	if (c->stream.stamps)
		match_expect(&c->match, &r->tx, last);
}

/*
 * Records a write of `n` bytes: sets the stream offsets of its requests, and expects transmit
 * stamps of completely written requests. Before the write, the stream had sent `wire` bytes.
 */
static void conn_note_written(struct load_thread *t, struct load_conn *c, size_t n, uint64_t wire)
{
	const bool counts = !one_by_one(c);
	uint64_t upto = c->skip + n, from = wire - c->skip;
	struct load_request *r;

	t->count.bytes_sent += n;
	for (r = c->unwritten; r && upto; r = c->unwritten) {
		if (!r->begun) {
			r->begun = true;
			r->sample.tx_offset = counts ? from : wire;
		}
		if (upto < r->sample.tx_bytes)
			break;
		upto -= r->sample.tx_bytes;
		from += r->sample.tx_bytes;
		if (c->stream.tls)
			r->sample.tx_bytes = c->stream.sent - r->sample.tx_offset;
		expect_stamps(c, r, (counts ? from : c->stream.sent) - 1);
		c->unwritten = r->next;
	}
	c->skip = upto;
}

/* Completes requests without sending them (null:), to measure the generator's overhead. */
static void complete_at_once(struct load_thread *t, struct load_conn *c)
{
	struct load_request *r;

	for (r = c->head; r; r = c->head) {
		conn_encode(t, c, r, 0);
		r->begun = true;
		r->sample.sent = t->now;
		r->sample.done = thread_clock(t);
		request_done(t, r, FAILURE_NONE);
		conn_drop(t, c, r);
		c->replies++;
	}
	conn_settle(t, c);
}

static int conn_parse(struct load_thread *t, struct load_conn *c, size_t n,
		      const struct net_rx_stamp *rx);

int conn_flush(struct load_thread *t, struct load_conn *c)
{
	struct load_request *r, *end;
	uint64_t wire;
	ssize_t n = 0;
	size_t size;
	int err;

	if (c->target->protocol->no_network) {
		complete_at_once(t, c);
		return 0;
	}
	if (c->target->protocol->session) {
		err = conn_session_flush(t, c);
		if (!err && c->parser.session && c->parser.session->replies_ready)
			err = conn_parse(t, c, 0, &(struct net_rx_stamp){});
		conn_settle(t, c);
		return err;
	}
	c->blocked = false;
	while (c->unwritten && !c->blocked) {
		size = encode_waiting(t, c, &end);
		t->bulky |= size > LOAD_BULK;
		thread_clock(t);
		for (r = c->unwritten; r != end; r = r->next) {
			if (!r->begun && !(r->sample.flags & SAMPLE_RESENT))
				r->sample.sent = t->now;
		}
		wire = c->stream.sent;
		n = net_stream_write(&c->stream, t->out + c->skip, size - c->skip);
		t->bulky |= size > LOAD_BULK;
		/*
		 * A partial write means that the socket's buffer is full, except for TLS, which
		 * writes one record at a time.
		 */
		c->blocked = n == -EAGAIN ||
			     (n >= 0 && (size_t)n < size - c->skip && !c->stream.tls);
		if (n > 0)
			conn_note_written(t, c, n, wire);
		else if (n < 0 && n != -EAGAIN)
			return n;
	}
	conn_settle(t, c);
	return 0;
}

/* ---- receiving ---- */

static struct load_request *conn_find_request(struct load_conn *c, uint32_t reply_id)
{
	struct load_request *r = c->head;

	if (c->target->protocol->matched_by_id) {
		while (r && r->reply_id != reply_id)
			r = r->next;
	}
	return r;
}

/*
 * Handles a request that the server has left unprocessed. It is sent again: always after GOAWAY,
 * which ends the connection, and otherwise once, so that a server that refuses all is not flooded.
 */
static void conn_unprocessed(struct load_thread *t, struct load_conn *c, const struct reply *reply)
{
	struct load_request *r = conn_find_request(c, reply->id);

	c->reply_begin = c->rx;
	if (!r)
		return;
	if (t->phase == PHASE_RUN && (c->parser.session->going_away ||
				      !(r->sample.flags & SAMPLE_RESENT))) {
		conn_resend_queue(t, c, r);
		return;
	}
	r->sample.done = t->now;
	r->sample.outcome = thread_causes_note_reply(t, c, CAUSE_REQUEST, reply);
	request_done(t, r, FAILURE_REFUSED);
	conn_drop(t, c, r);
}

/* Completes the request of a parsed reply; `last`: the read held no bytes after the reply. */
static void conn_complete(struct load_thread *t, struct load_conn *c, struct reply *reply,
			  const struct net_rx_stamp *rx, bool last)
{
	struct load_request *r = conn_find_request(c, reply->id);
	const enum reply_status status = conn_reply_status(t, c, reply);

	if (r && r->asking && !r->asking_answered) {
		conn_redirect_asked(r);
		c->reply_begin = c->rx;
		return;
	}
	if (reply->status == REPLY_UNPROCESSED) {
		conn_unprocessed(t, c, reply);
		return;
	}
	if (status == REPLY_ERROR && t->route && conn_redirect_follow(t, c, r, reply)) {
		c->reply_begin = c->rx;
		return;
	}
	if (reply->cas)
		workload_note_cas(&c->target->workload, reply->key, reply->cas);
	if (r && !(r->sample.flags & SAMPLE_FAILED)) {
		conn_sample_fill(t, c, r, reply, rx, last);
		r->miss = status == REPLY_MISS;
		if (status == REPLY_ERROR)
			r->sample.outcome = conn_reply_note_error(t, c, reply);
		else if (r->miss && c->target->protocol->http)
			r->sample.outcome = thread_causes_note_reply(t, c, CAUSE_REPLY, reply);
		else if (r->miss)
			r->sample.outcome = OUTCOME_MISS;
		request_done(t, r, status == REPLY_ERROR ? FAILURE_REFUSED : FAILURE_NONE);
	} else if (r) {
		c->dead--;
	}
	if (r)
		conn_drop(t, c, r);
	/*
	 * An HTTP error counts as a success of the connection: the server serves it. An error of
	 * another protocol may mean that the server refuses the connection.
	 */
	if (status != REPLY_ERROR || c->target->protocol->http || c->parser.session)
		conn_reply_note_success(t, c);
	c->reply_begin = c->rx;
}

/* Ends the stream: completes a reply that only ends with the stream. Returns -EPIPE. */
static int conn_end_stream(struct load_thread *t, struct load_conn *c)
{
	const struct net_rx_stamp none = {};
	struct reply reply = {};
	size_t used = 0;

	if (c->head && c->target->protocol->parse(&c->parser, c->head->sample.type, NULL, 0,
						  &used, &reply) == 1)
		conn_complete(t, c, &reply, &none, true);
	return -EPIPE;
}

static int conn_note_garbled(struct load_conn *c, const char *data, size_t n, size_t used)
{
	if (c->parser.session)
		conn_session_garbled(c, data, n, used);
	else
		error_text_garbled(&c->parser.error_text, data, n, used ? used - 1 : 0, false);
	return -EPROTO;
}

/*
 * Reads bytes that no request asked for. An error reply says why the server will not serve this
 * connection ("-ERR max number of clients reached", HTTP 408), so it counts as a close (-EPIPE).
 * Bytes that are no reply are valid in some protocols (0). Other bytes are garbled (-EPROTO).
 */
static int conn_read_unsolicited(struct load_conn *c, const char *data, size_t n)
{
	const struct protocol *protocol = c->target->protocol;
	struct reply reply = {};
	size_t used = 0;
	int ret = protocol->parse(&c->parser, 0, data, n, &used, &reply);

	if (ret == 1 && reply.status == REPLY_ERROR)
		return -EPIPE;
	if (ret || !protocol->pushes)
		return conn_note_garbled(c, data, n, used);
	c->rx = c->stream.tls ? c->stream.received : c->rx + used;
	c->reply_begin = c->rx;
	return 0;
}

/*
 * Prepares what follows from bytes that a session has received: output, and the end of a connection
 * that the server closes (GOAWAY). Returns 0, or -EPIPE: the connection has ended in order.
 */
static int conn_session_received(struct load_thread *t, struct load_conn *c)
{
	const struct protocol_session *session = c->parser.session;

	c->heard_ns = t->now;
	if (session->going_away && !c->retiring && c->replies && session->why.len)
		thread_causes_note_goaway(t, c);
	c->retiring |= session->going_away;
	/* Bytes outside of replies, such as settings, are part of none. */
	if (!session->replies_begun)
		c->reply_begin = c->rx;
	while (session->going_away && c->unwritten && t->phase == PHASE_RUN)
		conn_resend_queue(t, c, c->unwritten);
	if (session->has_output || c->unwritten)
		conn_mark_dirty(t, c);
	return session->going_away && !c->outstanding ? -EPIPE : 0;
}

static int conn_parse(struct load_thread *t, struct load_conn *c, size_t n,
		      const struct net_rx_stamp *rx)
{
	const struct protocol *protocol = c->target->protocol;
	const struct protocol_session *session = c->parser.session;
	size_t at = 0, used;
	bool close = false;
	int ret;

	while (at < n || (session && session->replies_ready)) {
		struct reply reply = {};

		/*
		 * Bytes without an outstanding request are unsolicited, except for replies with
		 * ids, which may answer requests that timed out.
		 */
		if (!c->head && !protocol->matched_by_id)
			return close ? -EPIPE : conn_read_unsolicited(c, t->in + at, n - at);
		used = 0;
		ret = protocol->parse(&c->parser, c->head ? c->head->sample.type : 0,
				      t->in + at, n - at, &used, &reply);
		at += used;
		c->rx = c->stream.tls ? c->stream.received : c->rx + used;
		if (ret < 0)
			return c->stream.datagram ? 0 : conn_note_garbled(c, t->in, n, at);
		if (!ret)
			break;
		conn_complete(t, c, &reply, rx, at == n);
		close |= reply.close;
	}
	if (session)
		return conn_session_received(t, c);
	return close ? -EPIPE : 0;
}

bool conn_cancel(struct load_thread *t, struct load_conn *c, struct load_request *r)
{
	struct protocol_session *session = c->parser.session;

	if (!c->stream.datagram && (!session || c->heard_ns < r->queued_ns))
		return false;
	if (session && r->begun)
		c->target->protocol->session->cancel(session, r->reply_id);
	conn_drop(t, c, r);
	if (session)
		conn_mark_dirty(t, c);
	conn_settle(t, c);
	return true;
}

int conn_receive(struct load_thread *t, struct load_conn *c, bool to_end)
{
	struct net_rx_stamp stamp = {};
	bool drained;
	ssize_t n;
	int err;

	do {
		n = net_stream_read(&c->stream, t->in, LOAD_IN_SIZE, &stamp, &drained);
		t->bulky |= n > LOAD_BULK;
		thread_clock(t);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return n;
		if (!n && !c->stream.datagram)
			return conn_end_stream(t, c);
		t->count.bytes_received += n;
		err = conn_parse(t, c, n, &stamp);
		if (err)
			return err;
	} while (to_end || (!drained && (!c->stream.datagram || c->outstanding)));
	return 0;
}

int conn_errors(struct load_thread *t, struct load_conn *c)
{
	struct net_tx_stamp stamps[NET_STAMP_BATCH];
	int i, n, any = 0;

	do {
		n = c->stream.stamps ? net_stamp_drain(c->stream.fd, stamps) : 0;
		for (i = 0; i < n; i++) {
			if (stamps[i].kind < NET_STAMP_KINDS && stamps[i].ns)
				match_stamp(&c->match, stamps[i].kind, stamps[i].id,
					    stamps[i].kind == NET_STAMP_NIC ?
					    stamps[i].ns : conn_sample_mono(t, stamps[i].ns));
		}
		any |= n;
	} while (n == NET_STAMP_BATCH);
	if (any)
		request_emit(t, false);
	return n < 0 ? n : any ? 0 : net_stream_connected(&c->stream);
}

void conn_fail(struct load_thread *t, struct load_conn *c, int err)
{
	enum load_failure first = err == -EPROTO ? FAILURE_GARBLED : FAILURE_RESET;
	struct load_request *r;

	for (r = c->head; r; r = c->head) {
		if (!(r->sample.flags & SAMPLE_FAILED)) {
			r->sample.done = t->now;
			thread_causes_note_cut(t, c, err);
			request_done(t, r, first);
			first = FAILURE_RESET;
		}
		conn_drop(t, c, r);
	}
	c->dead = 0;
}
