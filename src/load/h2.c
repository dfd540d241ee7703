/* SPDX-License-Identifier: Apache-2.0 */
#include "load/h2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "load/h2_session.h"
#include "load/text.h"
#include "load/workload.h"

/*
 * Flow control must not slow replies down: their bytes are discarded at once. A stream's window
 * suffices for 1 GB/s at a round trip of 16 ms.
 */
#define STREAM_WINDOW (16 << 20)
#define CONNECTION_WINDOW (64 << 20)
/* nghttp2 has no further stream number after this one. */
#define LAST_STREAM 0x7ffffffd

static struct h2_session *h2_of(struct protocol_session *session)
{
	return (struct h2_session *)session;
}

/* ---- streams ---- */

static struct h2_stream *h2_stream_new(struct h2_session *s)
{
	struct h2_stream *st = s->spare, *all;

	if (st) {
		s->spare = st->next;
		all = st->next_all;
	} else {
		st = malloc(sizeof(*st));
		if (!st)
			return NULL;
		all = s->all;
		s->all = st;
	}
	/* The text is written before it is read, so it is not cleared. */
	memset(st, 0, offsetof(struct h2_stream, text));
	st->next_all = all;
	st->text.len = 0;
	return st;
}

static void h2_stream_release(struct h2_session *s, struct h2_stream *st)
{
	h2_request_release(&st->own);
	st->next = s->spare;
	s->spare = st;
}

/* ---- requests ---- */

static ssize_t h2_read_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t room,
			    uint32_t *flags, nghttp2_data_source *source, void *session)
{
	struct h2_stream *st = source->ptr;
	const size_t n = st->body_left < room ? st->body_left : room;

	(void)ng;
	(void)id;
	(void)session;
	memcpy(to, st->body, n);
	st->body += n;
	st->body_left -= n;
	if (!st->body_left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

/* Returns the request of an operation, shared or the stream's own; NULL if memory is short. */
static const struct h2_request *h2_request_of(struct h2_session *s, struct h2_stream *st,
					      const struct workload *w,
					      const struct operation *o)
{
	const bool same = w == s->workload && h2_request_is_same(w, o->kind);
	struct h2_request *r = same ? &s->same[o->kind] : &st->own;

	if (!r->text && h2_request_make(r, s, w, o)) {
		h2_request_release(r);
		return NULL;
	}
	return r;
}

static int h2_submit(struct protocol_session *session, const struct workload *w,
		     const struct operation *o, struct encoded_request *out)
{
	struct h2_session *s = h2_of(session);
	struct h2_stream *st = h2_stream_new(s);
	const struct h2_request *r = st ? h2_request_of(s, st, w, o) : NULL;
	nghttp2_data_provider body = { .source.ptr = st, .read_callback = h2_read_body };
	int32_t id = -1;

	if (r) {
		st->body = r->body;
		st->body_left = r->body_size;
		id = nghttp2_submit_request(s->ng, NULL, r->fields, r->n_fields,
					    r->body_size ? &body : NULL, st);
	}
	if (id < 0) {
		if (st)
			h2_stream_release(s, st);
		return -ENOMEM;
	}
	st->id = (uint32_t)id;
	session->requests++;
	session->has_output = true;
	session->going_away |= id >= LAST_STREAM;
	out->id = (uint32_t)id;
	out->type = (uint16_t)o->kind;
	return 0;
}

/* ---- output ---- */

/* Finds out which request the bytes of a frame belong to. */
static void h2_describe(const uint8_t *frame, size_t size, struct session_piece *piece)
{
	static const char preface[] = "PRI ";
	uint8_t type;

	*piece = (struct session_piece){ 0 };
	if (size < H2_FRAME_HEAD || !memcmp(frame, preface, sizeof(preface) - 1))
		return;
	type = frame[3];
	if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA)
		return;
	piece->id = (uint32_t)frame[5] << 24 | (uint32_t)frame[6] << 16 | (uint32_t)frame[7] << 8 |
		    frame[8];
	piece->last = frame[4] & NGHTTP2_FLAG_END_STREAM;
}

static int h2_output(struct protocol_session *session, void *to, struct session_piece *piece)
{
	struct h2_session *s = h2_of(session);
	const uint8_t *data;
	ssize_t n = nghttp2_session_mem_send(s->ng, &data);

	*piece = (struct session_piece){ 0 };
	session->has_output = n > 0;
	if (n < 0)
		return n == NGHTTP2_ERR_NOMEM ? -ENOMEM : -EPROTO;
	if (!n)
		return 0;
	BUG_ON(n > SESSION_PIECE_MAX);
	memcpy(to, data, (size_t)n);
	h2_describe(data, (size_t)n, piece);
	return (int)n;
}

/* ---- input ---- */

static uint32_t h2_payload_size(const uint8_t head[H2_FRAME_HEAD])
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

/*
 * Finds the next bytes for nghttp2: up to the end of a frame at most, with a whole head, because
 * nghttp2 counts a CONTINUATION once for each piece of its head. Sets *from and *n (0: the head is
 * not whole yet). Returns the number of received bytes that were used.
 */
static size_t h2_next_bytes(struct h2_session *s, const uint8_t *data, size_t size,
			    const uint8_t **from, size_t *n)
{
	size_t used = 0;

	*from = data;
	*n = size < s->frame_left ? size : s->frame_left;
	if (!s->frame_left && !s->head_size && size >= H2_FRAME_HEAD) {
		s->frame_left = H2_FRAME_HEAD + h2_payload_size(data);
		*n = size < s->frame_left ? size : s->frame_left;
	}
	if (s->frame_left) {
		s->frame_left -= (uint32_t)*n;
		return *n;
	}
	while (s->head_size < H2_FRAME_HEAD && used < size)
		s->head[s->head_size++] = data[used++];
	if (s->head_size == H2_FRAME_HEAD) {
		*from = s->head;
		*n = H2_FRAME_HEAD;
		s->frame_left = h2_payload_size(s->head);
		s->head_size = 0;
	}
	return used;
}

/* Whether nghttp2 has found that the peer violates the protocol, and ends the connection. */
static bool h2_is_broken(const struct h2_session *s)
{
	return !s->base.going_away && !nghttp2_session_check_request_allowed(s->ng);
}

static int h2_next_reply(struct h2_session *s, struct reply *out)
{
	struct h2_stream *st = s->ready;

	s->ready = st->next;
	if (!s->ready)
		s->ready_end = &s->ready;
	s->base.replies_ready--;
	h2_reply_fill(s, st, out);
	st->returned = true;
	if (st->closed)
		h2_stream_release(s, st);
	return 1;
}

/* Feeds nghttp2 frame by frame, so that a reply ends with its last byte. */
int h2_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	     size_t *used, struct reply *out)
{
	struct h2_session *s = h2_of(parser->session);
	const uint8_t *p = data;

	(void)type;
	*used = 0;
	s->text = &parser->error_text;
	while (!s->ready && *used < size) {
		const uint8_t *from;
		size_t n, part = h2_next_bytes(s, p + *used, size - *used, &from, &n);

		if (n && (nghttp2_session_mem_recv(s->ng, from, n) < 0 || h2_is_broken(s))) {
			/* The place of the error is the frame's head. */
			*used += part < H2_FRAME_HEAD ? part : H2_FRAME_HEAD;
			return -EPROTO;
		}
		*used += part;
	}
	s->base.has_output = nghttp2_session_want_write(s->ng);
	return s->ready ? h2_next_reply(s, out) : 0;
}

/* ---- the session ---- */

static bool h2_reply_begun(const struct protocol_session *session, uint32_t id)
{
	const struct h2_session *s = (const struct h2_session *)session;
	const struct h2_stream *st = nghttp2_session_get_stream_user_data(s->ng, (int32_t)id);

	return st && st->begun;
}

static void h2_cancel(struct protocol_session *session, uint32_t id)
{
	struct h2_session *s = h2_of(session);
	struct h2_stream *st = nghttp2_session_get_stream_user_data(s->ng, (int32_t)id);

	if (!st || st->end != H2_OPEN)
		return;
	session->replies_begun -= st->begun;
	st->end = H2_RESET;
	st->returned = true;
	nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, (int32_t)id, NGHTTP2_CANCEL);
	session->has_output = true;
}

static void h2_finish(struct protocol_session *session)
{
	struct h2_session *s = h2_of(session);

	session->going_away = true;
	session->has_output = !nghttp2_session_terminate_session(s->ng, NGHTTP2_NO_ERROR);
}

static void h2_close(struct protocol_session *session)
{
	struct h2_session *s = h2_of(session);
	struct h2_stream *st, *next;

	if (!s)
		return;
	nghttp2_session_del(s->ng);
	for (st = s->all; st; st = next) {
		next = st->next_all;
		h2_request_release(&st->own);
		free(st);
	}
	for (int i = 0; i < OPERATIONS; i++)
		h2_request_release(&s->same[i]);
	free(s);
}

static int h2_begin(struct h2_session *s)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
	};
	nghttp2_session_callbacks *callbacks;
	int err = nghttp2_session_callbacks_new(&callbacks);

	if (err)
		return err;
	h2_reply_callbacks(callbacks);
	err = nghttp2_session_client_new(&s->ng, callbacks, s);
	nghttp2_session_callbacks_del(callbacks);
	if (!err)
		err = nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, settings,
					      ARRAY_LEN(settings));
	if (!err)
		err = nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0,
							    CONNECTION_WINDOW);
	return err;
}

static struct protocol_session *h2_open(const struct protocol *protocol,
					const struct workload *workload)
{
	struct h2_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->workload = workload;
	s->grpc = protocol->grpc;
	s->tls = protocol->tls;
	s->ready_end = &s->ready;
	s->release = h2_stream_release;
	s->base.has_output = true;
	if (h2_begin(s)) {
		h2_close(&s->base);
		return NULL;
	}
	return &s->base;
}

const struct session_ops h2_session_ops = {
	.open = h2_open, .close = h2_close, .submit = h2_submit, .output = h2_output,
	.reply_begun = h2_reply_begun, .cancel = h2_cancel, .finish = h2_finish,
};
