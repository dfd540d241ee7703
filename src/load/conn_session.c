/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load/target_urls.h"

/* ---- submitting ---- */

/* Submits the next request. Returns 1, 0 if none may be submitted now, or -errno. */
static int session_submit_next(struct load_thread *t, struct load_conn *c)
{
	const struct load_target *target = c->target;
	struct protocol_session *session = c->parser.session;
	struct load_request *r = c->unwritten;
	struct encoded_request request = {};
	struct rng rng;
	int err;

	if (!r || session->requests >= session->requests_max || session->going_away)
		return 0;
	request.number = r->number;
	rng_init(&rng, t->config->seed + (r->number + 1) * 0x9e3779b97f4a7c15ULL);
	err = protocol_submit(target->protocol, target_urls_draw(target, &rng), &rng, session,
			      &request);
	if (err)
		return err;
	r->reply_id = request.id;
	r->sample.type = request.type;
	r->sample.tx_bytes = 0;
	if (!(r->sample.flags & SAMPLE_RESENT))
		r->sample.sent = t->now;
	c->unwritten = r->next;
	return 1;
}

/* ---- output ---- */

static struct load_request *session_find_request(const struct load_conn *c, uint32_t id)
{
	struct load_request *r = c->head;

	while (r && (r == c->unwritten || r->reply_id != id))
		r = r == c->unwritten ? NULL : r->next;
	return r;
}

/* Notes that a piece of request `id` begins at byte `from` of the stream. */
static void session_note_begin(struct load_conn *c, uint32_t id, uint64_t from)
{
	struct load_request *r = id ? session_find_request(c, id) : NULL;

	if (!r || r->begun)
		return;
	r->begun = true;
	r->sample.tx_offset = from;
}

/* Notes that request `id` ends before byte `to` of the stream. */
static void session_note_end(struct load_conn *c, uint32_t id, uint64_t to)
{
	struct load_request *r = id ? session_find_request(c, id) : NULL;

	if (!r)
		return;
	r->sample.tx_bytes = (uint32_t)(to - r->sample.tx_offset);
	if (c->stream.stamps)
		match_expect(&c->match, &r->tx, (uint32_t)(to - 1));
}

/*
 * Collects output in t->out: pieces and, when there are none, further requests. A TLS record has
 * the end of one request at most, *ends: its place in the stream is known when it is written.
 * Returns the bytes or -errno.
 */
static ssize_t session_collect(struct load_thread *t, struct load_conn *c, uint32_t *ends)
{
	const struct session_ops *ops = c->target->protocol->session;
	const bool tls = c->stream.tls;
	struct session_piece piece;
	size_t n = 0;
	int got;

	*ends = 0;
	while (n + SESSION_PIECE_MAX <= t->out_size) {
		got = ops->output(c->parser.session, t->out + n, &piece);
		if (!got) {
			got = session_submit_next(t, c);
			if (got > 0)
				continue;
		}
		if (got <= 0)
			return got < 0 ? got : (ssize_t)n;
		session_note_begin(c, piece.id, c->stream.sent + (tls ? 0 : n));
		n += (size_t)got;
		if (!piece.last)
			continue;
		if (tls) {
			*ends = piece.id;
			break;
		}
		session_note_end(c, piece.id, c->stream.sent + n);
	}
	return (ssize_t)n;
}

/* Keeps output that the socket did not take. Returns 0 or -ENOMEM. */
static int session_keep(struct load_conn *c, const char *data, size_t size)
{
	c->pending = malloc(size);
	if (!c->pending)
		return -ENOMEM;
	memcpy(c->pending, data, size);
	c->pending_at = 0;
	c->pending_size = size;
	return 0;
}

/* Writes bytes. Returns how many the socket took, or -errno; sets c->blocked if not all. */
static ssize_t session_write(struct load_thread *t, struct load_conn *c, const char *data,
			     size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && !c->blocked) {
		n = net_stream_write(&c->stream, data + done, size - done);
		c->blocked = n == -EAGAIN;
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && n != -EAGAIN)
			return n;
	}
	t->count.bytes_sent += done;
	return (ssize_t)done;
}

static int session_write_pending(struct load_thread *t, struct load_conn *c)
{
	ssize_t n;

	if (!c->pending)
		return 0;
	n = session_write(t, c, c->pending + c->pending_at, c->pending_size - c->pending_at);
	if (n < 0)
		return (int)n;
	c->pending_at += (size_t)n;
	if (c->pending_at == c->pending_size) {
		free(c->pending);
		c->pending = NULL;
	}
	return 0;
}

int conn_session_flush(struct load_thread *t, struct load_conn *c)
{
	ssize_t size, n;
	uint32_t ends;
	int err;

	if (!c->parser.session)
		return 0;
	c->blocked = false;
	err = session_write_pending(t, c);
	while (!err && !c->blocked) {
		thread_clock(t);
		size = session_collect(t, c, &ends);
		if (size <= 0)
			return (int)size;
		n = session_write(t, c, t->out, (size_t)size);
		t->bulky |= size > LOAD_BULK;
		if (n < 0)
			return (int)n;
		session_note_end(c, ends, c->stream.sent);
		if (n < size)
			err = session_keep(c, t->out + n, (size_t)(size - n));
	}
	return err;
}

/* ---- the end ---- */

void conn_session_garbled(struct load_conn *c, const char *data, size_t n, size_t used)
{
	struct error_text *text = &c->parser.error_text;

	error_text_garbled(text, data, n, used ? used - 1 : 0, true);
	if (!text->len)
		*text = c->parser.session->why;
}

void conn_session_finish(struct load_thread *t, struct load_conn *c)
{
	if (!c->parser.session || c->state != CONN_OPEN || c->pending)
		return;
	c->target->protocol->session->finish(c->parser.session);
	(void)conn_session_flush(t, c);
}

void conn_session_close(struct load_conn *c)
{
	free(c->pending);
	c->pending = NULL;
	if (c->parser.session)
		c->target->protocol->session->close(c->parser.session);
	c->parser.session = NULL;
}
