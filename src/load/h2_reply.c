/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of HTTP/2 and gRPC: nghttp2's callbacks, and what a reply means. */
#include <stdio.h>
#include <string.h>

#include "load/causes.h"
#include "load/grpc_message.h"
#include "load/h2_session.h"
#include "load/http.h"
#include "load/text.h"

#define ERROR_TEXT_FROM 300 /* lowest HTTP status of replies whose text is stored */

/* Queues the reply of a stream for parse(), unless it has ended before. */
static void h2_reply_end(struct h2_session *s, struct h2_stream *st, enum h2_end end)
{
	if (st->end != H2_OPEN)
		return;
	st->end = (uint8_t)end;
	s->base.replies_begun -= st->begun;
	s->base.replies_ready++;
	st->next = NULL;
	*s->ready_end = st;
	s->ready_end = &st->next;
}

/* ---- fields ---- */

static uint32_t h2_number(const uint8_t *value, size_t size)
{
	uint32_t n = 0;

	for (size_t i = 0; i < size; i++) {
		if (!parse_is_digit((char)value[i]) || n > 1000000)
			return UINT32_MAX;
		n = n * 10 + (uint32_t)(value[i] - '0');
	}
	return size ? n : UINT32_MAX;
}

static void h2_read_status(struct h2_stream *st, const uint8_t *value, size_t size)
{
	/* nghttp2 lets only three digits pass. */
	st->status = (uint16_t)h2_number(value, size);
	if (st->status >= ERROR_TEXT_FROM) {
		error_text_begin(&st->text);
		error_text_add(&st->text, (const char *)value, size);
		error_text_add(&st->text, "\n", 1);
	}
}

/* Stores a gRPC status message, of which bytes may be percent-encoded. */
static void h2_read_message(struct h2_stream *st, const char *value, size_t size)
{
	error_text_begin(&st->text);
	for (size_t i = 0; i < size; i++) {
		const bool coded = value[i] == '%' && size - i > 2;
		const int high = coded ? text_hex_digit(value[i + 1]) : -1;
		const int low = high < 0 ? -1 : text_hex_digit(value[i + 2]);
		const char byte = low < 0 ? value[i] : (char)(high << 4 | low);

		error_text_add(&st->text, &byte, 1);
		i += low < 0 ? 0 : 2;
	}
}

/* Makes the text of a redirect "301 to URL". */
static void h2_read_location(struct h2_stream *st, const char *value, size_t size)
{
	const size_t most = ERROR_TEXT_CLEAN_MAX - sizeof("301 to ...");

	st->text.len = 3;
	error_text_add(&st->text, " to ", 4);
	error_text_add(&st->text, value, size < most ? size : most);
	if (size > most)
		error_text_add(&st->text, "...", 3);
	st->redirect = true;
}

static bool h2_name_is(const uint8_t *name, size_t size, const char *expected)
{
	return size == strlen(expected) && memcmp(name, expected, size) == 0;
}

static int h2_on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
			size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
			void *session)
{
	const struct h2_session *s = session;
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);

	(void)flags;
	if (!st || st->end != H2_OPEN)
		return 0;
	if (h2_name_is(name, name_size, ":status")) {
		h2_read_status(st, value, size);
	} else if (!s->grpc && st->status / 100 == 3 && !st->redirect &&
		   h2_name_is(name, name_size, "location")) {
		h2_read_location(st, (const char *)value, size);
	} else if (s->grpc && h2_name_is(name, name_size, "grpc-status")) {
		st->has_grpc_status = true;
		st->grpc_status = h2_number(value, size);
	} else if (s->grpc && h2_name_is(name, name_size, "grpc-message")) {
		h2_read_message(st, (const char *)value, size);
	}
	return 0;
}

/* ---- frames ---- */

static int h2_on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2_session *s = session;
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);

	if (st && st->end == H2_OPEN && !st->begun) {
		st->begun = true;
		s->base.replies_begun++;
	}
	return 0;
}

static int h2_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data,
		      size_t size, void *session)
{
	const struct h2_session *s = session;
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);

	(void)flags;
	if (!st || st->end != H2_OPEN)
		return 0;
	st->received += size;
	if (!s->grpc && st->status >= ERROR_TEXT_FROM && !st->redirect)
		error_text_add(&st->text, (const char *)data, size);
	return 0;
}

/* Takes over the peer's limit of streams. */
static void h2_read_settings(struct h2_session *s)
{
	s->base.requests_max = nghttp2_session_get_remote_settings(
		s->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	s->base.ready = true;
}

/* Notes that the peer ends the connection; the text says why, unless that is usual. */
static void h2_read_goaway(struct h2_session *s, const nghttp2_goaway *goaway)
{
	char text[ERROR_TEXT_MAX];
	int n;

	s->base.going_away = true;
	if (goaway->error_code == NGHTTP2_NO_ERROR)
		return;
	n = snprintf(text, sizeof(text), "GOAWAY %s%s%.*s",
		     nghttp2_http2_strerror(goaway->error_code),
		     goaway->opaque_data_len ? ": " : "", (int)(goaway->opaque_data_len & 0xff),
		     goaway->opaque_data_len ? (const char *)goaway->opaque_data : "");
	error_text_begin(s->text);
	error_text_add(s->text, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	s->base.why = *s->text;
}

/* The server may end a reply before it has read the request: the rest would be for nothing. */
static void h2_stop_sending(struct h2_session *s, struct h2_stream *st)
{
	if (nghttp2_session_get_stream_local_close(s->ng, (int32_t)st->id) == 0)
		nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, (int32_t)st->id,
					  NGHTTP2_CANCEL);
}

static int h2_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2_session *s = session;
	struct h2_stream *st;

	switch (frame->hd.type) {
	case NGHTTP2_SETTINGS:
		if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
			h2_read_settings(s);
		return 0;
	case NGHTTP2_GOAWAY:
		h2_read_goaway(s, &frame->goaway);
		return 0;
	case NGHTTP2_RST_STREAM:
		st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
		if (st)
			st->reset_by_peer = true;
		return 0;
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
		if (st && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
			h2_reply_end(s, st, H2_COMPLETE);
			h2_stop_sending(s, st);
		}
		return 0;
	default:
		return 0;
	}
}

static int h2_on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *session)
{
	struct h2_session *s = session;
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);

	if (!st)
		return 0;
	st->closed = true;
	st->reset_code = code;
	s->base.requests--;
	/* A GOAWAY closes the streams that it leaves out with REFUSED_STREAM, too. */
	if (code == NGHTTP2_REFUSED_STREAM && !st->begun)
		h2_reply_end(s, st, H2_UNPROCESSED);
	else
		h2_reply_end(s, st, st->reset_by_peer ? H2_RESET : H2_INVALID);
	if (st->returned)
		s->release(s, st);
	return 0;
}

static int h2_on_invalid_frame(nghttp2_session *ng, const nghttp2_frame *frame, int code,
			       void *session)
{
	struct h2_session *s = session;
	const char *text = nghttp2_strerror(code);

	(void)ng;
	(void)frame;
	/* nghttp2 has already described an invalid field to h2_on_error(). */
	if (!s->base.why.len)
		error_text_add(&s->base.why, text, strlen(text));
	return 0;
}

static int h2_on_error(nghttp2_session *ng, int code, const char *text, size_t size, void *session)
{
	struct h2_session *s = session;

	(void)ng;
	(void)code;
	error_text_begin(&s->base.why);
	error_text_add(&s->base.why, text, size);
	return 0;
}

void h2_reply_callbacks(nghttp2_session_callbacks *c)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, h2_on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(c, h2_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, h2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, h2_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, h2_on_stream_close);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, h2_on_invalid_frame);
	nghttp2_session_callbacks_set_error_callback2(c, h2_on_error);
}

/* ---- meaning ---- */

static void h2_reply_fail(struct h2_session *s, struct reply *out, const char *kind,
			  const char *name)
{
	out->status = REPLY_ERROR;
	snprintf(s->cause, sizeof(s->cause), "%s%s%s", kind, *kind && *name ? " " : "", name);
	out->cause = s->cause;
}

static void h2_reply_fill_grpc(struct h2_session *s, const struct h2_stream *st, struct reply *out)
{
	char number[16];

	if (st->status != 200 && !st->has_grpc_status) {
		snprintf(number, sizeof(number), "%u", st->status);
		h2_reply_fail(s, out, "HTTP", number);
	} else if (!st->has_grpc_status) {
		h2_reply_fail(s, out, "no grpc-status", "");
	} else if (st->grpc_status == UINT32_MAX) {
		h2_reply_fail(s, out, "invalid grpc-status", "");
	} else if (st->grpc_status) {
		snprintf(number, sizeof(number), "%u", st->grpc_status);
		h2_reply_fail(s, out, "grpc-status", number);
	} else if (st->received < GRPC_PREFIX) {
		h2_reply_fail(s, out, "no gRPC message", "");
	}
}

void h2_reply_fill(struct h2_session *s, const struct h2_stream *st, struct reply *out)
{
	*out = (struct reply){ .status = REPLY_OK, .id = st->id };
	if (st->end == H2_UNPROCESSED) {
		h2_reply_fail(s, out, "RST_STREAM", nghttp2_http2_strerror(st->reset_code));
		out->status = REPLY_UNPROCESSED;
	} else if (st->end == H2_RESET) {
		h2_reply_fail(s, out, "RST_STREAM", nghttp2_http2_strerror(st->reset_code));
	} else if (st->end == H2_INVALID) {
		h2_reply_fail(s, out, CAUSE_GARBLED, "");
		*s->text = s->base.why;
		error_text_begin(&s->base.why);
		out->error_text = s->text;
	} else if (s->grpc) {
		h2_reply_fill_grpc(s, st, out);
	} else {
		out->code = st->status;
		out->status = http_reply_status(st->status);
	}
	if (st->end != H2_INVALID && st->text.len) {
		*s->text = st->text;
		out->error_text = s->text;
	}
}
