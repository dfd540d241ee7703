/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 and gRPC: replies as servers send them, and as they should not, in every split. What a row
 * expects is a letter and a stream number per reply: O ok, M miss, E error, U unprocessed; then the
 * failure's name in brackets, "~" if the connection goes away, "!" for a violation. Requests are
 * read by nghttp2's own server.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/session.h"
#include "load/workload.h"

#define REQUESTS 3 /* streams 1, 3 and 5 */

/* A frame of less than 256 bytes; `flags` and `id` are one byte each. */
#define FRAME(size, type, flags, id, payload) "\0\0" size type flags "\0\0\0" id payload
#define SETTINGS FRAME("\0", "\4", "\0", "\0", "")
#define HEADERS(flags, id, size, payload) FRAME(size, "\1", flags, id, payload)
#define DATA(flags, id, size, payload) FRAME(size, "\0", flags, id, payload)
#define RESET(id, code) FRAME("\4", "\3", "\0", id, "\0\0\0" code)
#define GOAWAY(id, code) FRAME("\x8", "\7", "\0", "\0", "\0\0\0" id "\0\0\0" code)
#define OK_FIELD "\x88"        /* HPACK's static table: ":status: 200" */
#define NOT_FOUND_FIELD "\x8d" /* ":status: 404" */
#define STATUS_FIELD(number) "\x08\x03" number
#define GRPC_STATUS(size, number) "\0\x0b" "grpc-status" size number
#define END "\5"      /* END_HEADERS and END_STREAM */
#define NOT_END "\4"  /* END_HEADERS */
#define MESSAGE(flags, id) DATA(flags, id, "\6", "\0\0\0\0\1x")
#define GRPC_BEGIN(id) HEADERS(NOT_END, id, "\1", OK_FIELD)

static const struct row {
	const char *url, *expected, *data;
	size_t size;
} rows[] = {
#define H2_ROW(expected, text) { "h2c://a/", expected, SETTINGS text, sizeof(SETTINGS text) - 1 }
#define RAW_ROW(expected, text) { "h2c://a/", expected, text, sizeof(text) - 1 }
#define GRPC_ROW(expected, text)                                                                   \
	{ "grpc://a/s/m", expected, SETTINGS text, sizeof(SETTINGS text) - 1 }
	H2_ROW("", ""),
	H2_ROW("O1", HEADERS(END, "\1", "\1", OK_FIELD)),
	H2_ROW("M3 O1", HEADERS(END, "\3", "\1", NOT_FOUND_FIELD)
			HEADERS(END, "\1", "\1", OK_FIELD)),
	H2_ROW("O5 O3 O1", HEADERS(NOT_END, "\1", "\1", OK_FIELD) HEADERS(NOT_END, "\3", "\1",
	       OK_FIELD) DATA("\0", "\1", "\2", "ab") HEADERS(END, "\5", "\1", OK_FIELD)
	       DATA("\1", "\3", "\1", "x") DATA("\1", "\1", "\0", "")),
	H2_ROW("E1", HEADERS(NOT_END, "\1", "\5", STATUS_FIELD("503"))
		     DATA("\1", "\1", "\4", "busy")),
	H2_ROW("O1", HEADERS(NOT_END, "\1", "\5", STATUS_FIELD("103"))
		     HEADERS(END, "\1", "\1", OK_FIELD)),
	H2_ROW("O1", FRAME("\1", "\1", "\1", "\1", OK_FIELD)
		     FRAME("\4", "\x9", "\4", "\1", "\0\1t\0")),
	H2_ROW("O1", HEADERS(NOT_END, "\1", "\1", OK_FIELD)
		     HEADERS(END, "\1", "\4", "\0\1t\0")),
	H2_ROW("", FRAME("\x8", "\6", "\0", "\0", "pingpong")
		   FRAME("\4", "\x8", "\0", "\0", "\0\0\1\0")
		   FRAME("\3", "\x99", "\0", "\0", "new")),
	H2_ROW("", HEADERS(NOT_END, "\1", "\1", OK_FIELD)),
	/* ends of streams and of the connection */
	H2_ROW("U1[RST_STREAM REFUSED_STREAM]", RESET("\1", "\7")),
	H2_ROW("E3[RST_STREAM CANCEL]", RESET("\3", "\x8")),
	H2_ROW("E3[RST_STREAM INTERNAL_ERROR]", HEADERS(NOT_END, "\3", "\1", OK_FIELD)
	       RESET("\3", "\2")),
	H2_ROW("O1", HEADERS(END, "\1", "\1", OK_FIELD) RESET("\1", "\0")),
	H2_ROW("U5[RST_STREAM REFUSED_STREAM] O1 O3~",
	       GOAWAY("\3", "\0") HEADERS(END, "\1", "\1", OK_FIELD)
	       HEADERS(END, "\3", "\1", OK_FIELD)),
	H2_ROW("U5[RST_STREAM REFUSED_STREAM]~", GOAWAY("\3", "\xb")),
	/* violations of a stream */
	H2_ROW("E1[garbled]", HEADERS(END, "\1", "\4", "\0\1a\0")),
	H2_ROW("O3 E1[garbled]", HEADERS(NOT_END, "\1", "\5", OK_FIELD "\x0f\x0d\x01" "2")
	       DATA("\1", "\1", "\1", "x") HEADERS(END, "\3", "\1", OK_FIELD)),
	/* violations of the connection */
	H2_ROW("!", DATA("\1", "\1", "\1", "x")),
	RAW_ROW("!", HEADERS(END, "\1", "\1", OK_FIELD)),
	RAW_ROW("!", "HTTP/1.1 400 Bad Request\r\n\r\n"),
	RAW_ROW("!", FRAME("\1", "\4", "\0", "\0", "x")),
	H2_ROW("!", HEADERS(END, "\1", "\1", "\xff")),
	H2_ROW("!", HEADERS(END, "\7", "\1", OK_FIELD)),
	H2_ROW("!", HEADERS(END, "\0", "\1", OK_FIELD)),
	H2_ROW("!", DATA("\1", "\x9", "\1", "x")),
	H2_ROW("!", FRAME("\4", "\x8", "\0", "\0", "\0\0\0\0")),
	H2_ROW("!", FRAME("\4", "\x8", "\0", "\0", "\x7f\xff\xff\xff")),
	H2_ROW("!", FRAME("\0", "\4", "\1", "\0", "")
		    FRAME("\5", "\5", "\4", "\1", "\0\0\0\2" OK_FIELD)),
	H2_ROW("!", FRAME("\1", "\1", "\1", "\1", OK_FIELD) FRAME("\1", "\0", "\1", "\1", "x")),
	H2_ROW("!", "\x00\x40\x01\x00\x00\x00\x00\x00\x01" "too long a frame"),
	/* gRPC */
	GRPC_ROW("O1", GRPC_BEGIN("\1") MESSAGE("\0", "\1")
		       HEADERS(END, "\1", "\x0f", GRPC_STATUS("\1", "0"))),
	GRPC_ROW("E1[grpc-status 14]",
		 HEADERS(END, "\1", "\x11", OK_FIELD GRPC_STATUS("\2", "14"))),
	GRPC_ROW("E1[grpc-status 5]", GRPC_BEGIN("\1") MESSAGE("\0", "\1")
		 HEADERS(END, "\1", "\x0f", GRPC_STATUS("\1", "5"))),
	GRPC_ROW("E1[no grpc-status]", GRPC_BEGIN("\1") MESSAGE("\1", "\1")),
	GRPC_ROW("E1[no gRPC message]",
		 HEADERS(END, "\1", "\x10", OK_FIELD GRPC_STATUS("\1", "0"))),
	GRPC_ROW("E1[invalid grpc-status]",
		 HEADERS(END, "\1", "\x10", OK_FIELD GRPC_STATUS("\1", "x"))),
	GRPC_ROW("E1[HTTP 502]", HEADERS(END, "\1", "\5", STATUS_FIELD("502"))),
	GRPC_ROW("U3[RST_STREAM REFUSED_STREAM]", RESET("\3", "\7")),
};

struct run {
	const struct protocol *protocol;
	struct workload workload;
	struct target target;
	struct reply_parser parser;
	struct strbuf results;
	bool garbled;
};

static int run_output(struct run *r, char to[SESSION_PIECE_MAX], struct session_piece *piece)
{
	int n = r->protocol->session->output(r->parser.session, to, piece);

	assert_true(n >= 0);
	return n;
}

static void drain(struct run *r)
{
	static char to[SESSION_PIECE_MAX];
	struct session_piece piece;

	while (run_output(r, to, &piece))
		;
}

static uint32_t submit(struct run *r)
{
	struct encoded_request request = { 0 };
	struct rng rng;

	rng_init(&rng, 1);
	if (protocol_submit(r->protocol, &r->workload, &rng, r->parser.session, &request))
		return 0;
	return request.id;
}

static bool begin_with(struct run *r, const char *url, const char *workload,
		       const struct request_options *options)
{
	struct strbuf why = STRBUF_INIT(1024);
	int err;

	*r = (struct run){ .results = STRBUF_INIT(4096) };
	err = target_parse(url, &r->target, &why);
	r->target.options = options;
	if (err || workload_parse(&r->workload, workload, &r->target, &why))
		fail_msg("%s: %s", url, strbuf_str(&why));
	strbuf_release(&why);
	r->protocol = r->target.protocol;
	r->parser.session = r->protocol->session->open(r->protocol, &r->workload);
	return r->parser.session != NULL;
}

static bool begin(struct run *r, const char *url, const char *workload)
{
	return begin_with(r, url, workload, NULL);
}

static void end(struct run *r)
{
	r->protocol->session->close(r->parser.session);
	workload_release(&r->workload);
	strbuf_release(&r->results);
}

static void begin_requests(struct run *r, const char *url, unsigned int n)
{
	assert_true(begin(r, url, NULL));
	drain(r);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(submit(r), 1 + 2 * i);
	drain(r);
}

static void note_reply(struct run *r, const struct reply *reply)
{
	static const char letters[] = "OMEU";

	strbuf_printf(&r->results, "%s%c%u", r->results.len ? " " : "", letters[reply->status],
		      reply->id);
	if (reply->cause)
		strbuf_printf(&r->results, "[%s]", reply->cause);
}

/* One read's bytes, in memory of just that size, so that a sanitizer sees what is read beyond. */
static void feed(struct run *r, const char *data, size_t size)
{
	char *bytes = malloc(size ? size : 1), *at = bytes;
	struct reply reply;
	size_t used;

	assert_non_null(bytes);
	memcpy(bytes, data, size);
	while ((size || r->parser.session->replies_ready) && !r->garbled) {
		int got = r->protocol->parse(&r->parser, 0, at, size, &used, &reply);

		assert_true(used <= size);
		at += used;
		size -= used;
		if (got == 1)
			note_reply(r, &reply);
		else if (got == 0)
			assert_int_equal(size, 0);
		else
			assert_int_equal(got, -EPROTO);
		r->garbled = got < 0;
	}
	free(bytes);
}

static void check(struct run *r, const struct row *row)
{
	/* A stream that this side resets ends with the output. */
	if (!r->garbled) {
		drain(r);
		feed(r, "", 0);
	}
	if (r->garbled)
		strbuf_puts(&r->results, "!");
	else if (r->parser.session->going_away)
		strbuf_puts(&r->results, "~");
	if (strcmp(strbuf_str(&r->results), row->expected) != 0)
		fail_msg("row %zu: expected %s, got %s (%.*s)", (size_t)(row - rows),
			 row->expected, strbuf_str(&r->results), r->parser.error_text.len,
			 r->parser.error_text.text);
}

static void test_every_split(void **state)
{
	(void)state;
	for (const struct row *row = rows; row < rows + ARRAY_LEN(rows); row++) {
		for (size_t at = 0; at <= row->size; at++) {
			struct run r;

			begin_requests(&r, row->url, REQUESTS);
			feed(&r, row->data, at);
			feed(&r, row->data + at, row->size - at);
			check(&r, row);
			end(&r);
		}
	}
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	for (const struct row *row = rows; row < rows + ARRAY_LEN(rows); row++) {
		struct run r;

		begin_requests(&r, row->url, REQUESTS);
		for (size_t at = 0; at < row->size; at++)
			feed(&r, row->data + at, 1);
		check(&r, row);
		end(&r);
	}
}

/* ---- the state of a session, as the engine reads it ---- */

static void test_state(void **state)
{
	static const char limit[] = FRAME("\6", "\4", "\0", "\0", "\0\3\0\0\0\2");
	static const char part[] = HEADERS(NOT_END, "\1", "\1", OK_FIELD);
	const struct session_ops *ops;
	struct protocol_session *s;
	struct run r;

	(void)state;
	begin_requests(&r, "h2c://a/", 2);
	s = r.parser.session;
	ops = r.protocol->session;
	assert_false(s->ready);
	feed(&r, limit, sizeof(limit) - 1);
	assert_true(s->ready && s->has_output);
	assert_int_equal(s->requests_max, 2);
	assert_int_equal(s->requests, 2);
	feed(&r, part, sizeof(part) - 1);
	assert_int_equal(s->replies_begun, 1);
	assert_true(ops->reply_begun(s, 1));
	assert_false(ops->reply_begun(s, 3) || ops->reply_begun(s, 99));
	/* A request that was given up has no reply, even if one comes. */
	ops->cancel(s, 1);
	ops->cancel(s, 1);
	ops->cancel(s, 99);
	assert_int_equal(s->replies_begun, 0);
	feed(&r, DATA("\1", "\1", "\1", "x"), sizeof(DATA("\1", "\1", "\1", "x")) - 1);
	drain(&r);
	assert_int_equal(s->requests, 1);
	assert_int_equal(r.results.len, 0);
	feed(&r, HEADERS(END, "\3", "\1", OK_FIELD), sizeof(part) - 1);
	assert_string_equal(strbuf_str(&r.results), "O3");
	assert_int_equal(s->requests, 0);
	end(&r);
}

static void test_texts(void **state)
{
	static const struct {
		const char *url, *data;
		size_t size;
		const char *text;
	} cases[] = {
#define TEXT_CASE(url, data, text) { url, data, sizeof(data) - 1, text }
		TEXT_CASE("h2c://a/", SETTINGS HEADERS(NOT_END, "\1", "\5", STATUS_FIELD("503"))
			  DATA("\1", "\1", "\4", "busy"), "503: busy"),
		TEXT_CASE("h2c://a/", SETTINGS HEADERS(NOT_END, "\1", "\x0a",
			  STATUS_FIELD("301") "\x0f\x1f\2" "/x") DATA("\1", "\1", "\4", "gone"),
			  "301 to /x"),
		TEXT_CASE("grpc://a/s/m", SETTINGS HEADERS(END, "\1", "\x2a", OK_FIELD
			  GRPC_STATUS("\2", "14") "\0\x0c" "grpc-message" "\x0a" "not%20now%"),
			  "not now%"),
		TEXT_CASE("h2c://a/", SETTINGS FRAME("\xc", "\7", "\0", "\0",
			  "\0\0\0\1\0\0\0\xb" "slow"), "GOAWAY ENHANCE_YOUR_CALM: slow"),
		TEXT_CASE("h2c://a/", SETTINGS HEADERS(END, "\1", "\5", OK_FIELD "\0\1A\0"),
			  "Invalid HTTP header field was received: frame type: 1, stream: 1, "
			  "name: [A], value: []"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[ERROR_TEXT_CLEAN_MAX];
		struct run r;

		begin_requests(&r, cases[i].url, 1);
		feed(&r, cases[i].data, cases[i].size);
		drain(&r);
		feed(&r, "", 0);
		error_text_clean(&r.parser.error_text, text);
		if (strcmp(text, cases[i].text) != 0)
			fail_msg("case %zu: expected '%s', got '%s' (%s)", i, cases[i].text, text,
				 strbuf_str(&r.results));
		end(&r);
	}
}

/* ---- requests, as a server reads them ---- */

struct server {
	struct strbuf fields; /* "name=value " of each request, then its body's size and end */
	nghttp2_session *ng;
};

static int server_on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
			    size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
			    void *user)
{
	struct server *it = user;

	(void)ng;
	(void)frame;
	(void)flags;
	strbuf_printf(&it->fields, "%.*s=%.*s ", (int)name_size, name, (int)size, value);
	return 0;
}

static int server_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data,
			  size_t size, void *user)
{
	struct server *it = user;

	(void)ng;
	(void)flags;
	(void)id;
	for (size_t i = 0; i < size && size < 100; i++)
		strbuf_printf(&it->fields, "%02x", data[i]);
	if (size >= 100)
		strbuf_printf(&it->fields, "+%zu ", size);
	return 0;
}

static int server_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct server *it = user;

	(void)ng;
	if (frame->hd.type <= NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		strbuf_puts(&it->fields, "END");
	return 0;
}

static void server_begin(struct server *it)
{
	nghttp2_session_callbacks *c;

	*it = (struct server){ .fields = STRBUF_INIT(1 << 16) };
	assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
	nghttp2_session_callbacks_set_on_header_callback(c, server_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, server_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, server_on_frame);
	assert_int_equal(nghttp2_session_server_new(&it->ng, c, it), 0);
	nghttp2_session_callbacks_del(c);
	assert_int_equal(nghttp2_submit_settings(it->ng, 0, NULL, 0), 0);
}

/* Passes bytes in both directions until neither side has any. Counts pieces that end a request. */
static unsigned int exchange(struct run *r, struct server *it)
{
	static char to[SESSION_PIECE_MAX];
	struct session_piece piece;
	unsigned int ends = 0;
	const uint8_t *back;
	ssize_t n;
	bool more;

	do {
		more = false;
		while ((n = run_output(r, to, &piece)) > 0) {
			assert_int_equal(nghttp2_session_mem_recv(it->ng, (uint8_t *)to, (size_t)n),
					 n);
			ends += piece.last;
			more = true;
		}
		while ((n = nghttp2_session_mem_send(it->ng, &back)) > 0) {
			feed(r, (const char *)back, (size_t)n);
			more = true;
		}
	} while (more);
	assert_false(r->garbled);
	return ends;
}

static void test_requests(void **state)
{
	static const struct {
		const char *url, *workload, *fields;
	} cases[] = {
		{ "h2c://a/x?y", NULL, ":method=GET :scheme=http :authority=a :path=/x?y "
				       "user-agent=hostlat/0.1.0 END" },
		{ "h2c://u:p@[::1]:81/", NULL,
		  ":method=GET :scheme=http :authority=[::1]:81 :path=/ user-agent=hostlat/0.1.0 "
		  "authorization=Basic dTpw END" },
		{ "h2c://a/", "read=0,head=1",
		  ":method=HEAD :scheme=http :authority=a :path=/ user-agent=hostlat/0.1.0 END" },
		{ "h2://a", "read=0,value=3",
		  ":method=POST :scheme=https :authority=a :path=/ user-agent=hostlat/0.1.0 "
		  "content-type=application/octet-stream content-length=3 6a6c62END" },
		{ "grpc://a:1/s.S/m", NULL,
		  ":method=POST :scheme=http :authority=a:1 :path=/s.S/m "
		  "user-agent=hostlat/0.1.0 content-type=application/grpc te=trailers "
		  "0000000000END" },
		{ "grpcs://a/s.S/m", "message=hex:0a0148",
		  ":method=POST :scheme=https :authority=a:50051 :path=/s.S/m "
		  "user-agent=hostlat/0.1.0 content-type=application/grpc te=trailers "
		  "00000000030a0148END" },
		{ "grpc://a/s.S/m", "message=base64:CgFI",
		  ":method=POST :scheme=http :authority=a:50051 :path=/s.S/m "
		  "user-agent=hostlat/0.1.0 content-type=application/grpc te=trailers "
		  "00000000030a0148END" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct server it;
		struct run r;

		server_begin(&it);
		assert_true(begin(&r, cases[i].url, cases[i].workload));
		exchange(&r, &it);
		assert_true(r.parser.session->ready);
		assert_int_equal(submit(&r), 1);
		assert_int_equal(exchange(&r, &it), 1);
		assert_string_equal(strbuf_str(&it.fields), cases[i].fields);
		nghttp2_session_del(it.ng);
		strbuf_release(&it.fields);
		end(&r);
	}
}

/* Options form requests as in HTTP/1.1; fields of a connection are left out. */
static void test_options(void **state)
{
	const struct request_options options = {
		.headers = { { "X-Number: {seq}", "Connection: close", "Host: b" }, 3 },
		.method = "PUT", .body = "{seq}-{seq}",
	};
	struct encoded_request request = { .number = 7 };
	struct server it;
	struct rng rng;
	struct run r;

	(void)state;
	rng_init(&rng, 1);
	server_begin(&it);
	assert_true(begin_with(&r, "h2c://a/{seq}", NULL, &options));
	exchange(&r, &it);
	for (; request.number < 9; request.number++) {
		assert_int_equal(protocol_submit(r.protocol, &r.workload, &rng, r.parser.session,
						 &request), 0);
		exchange(&r, &it);
	}
	assert_string_equal(strbuf_str(&it.fields),
			    ":method=PUT :scheme=http :authority=b :path=/7 "
			    "user-agent=hostlat/0.1.0 content-type=application/octet-stream "
			    "x-number=7 content-length=3 372d37END"
			    ":method=PUT :scheme=http :authority=b :path=/8 "
			    "user-agent=hostlat/0.1.0 content-type=application/octet-stream "
			    "x-number=8 content-length=3 382d38END");
	nghttp2_session_del(it.ng);
	strbuf_release(&it.fields);
	end(&r);
}

/* A body beyond the server's window waits for its updates, and is whole in the end. */
static void test_large_body(void **state)
{
	size_t got = 0;
	struct server it;
	struct run r;

	(void)state;
	server_begin(&it);
	assert_true(begin(&r, "h2c://a/", "read=0,value=1000000"));
	exchange(&r, &it);
	submit(&r);
	assert_int_equal(exchange(&r, &it), 1);
	for (const char *p = strbuf_str(&it.fields); (p = strchr(p, '+')); p++)
		got += strtoul(p, NULL, 10);
	assert_int_equal(got, 1000000);
	nghttp2_session_del(it.ng);
	strbuf_release(&it.fields);
	end(&r);
}

/* The streams of a long connection reuse their memory, whatever becomes of them. */
static void test_many_streams(void **state)
{
	struct run r;

	(void)state;
	begin_requests(&r, "h2c://a/", 0);
	feed(&r, SETTINGS, sizeof(SETTINGS) - 1);
	for (uint32_t id = 1; id < 20000; id += 2) {
		char reply[] = "\0\0\1\1\5\0\0\0\0" OK_FIELD;

		assert_int_equal(submit(&r), id);
		drain(&r);
		reply[7] = (char)(id >> 8);
		reply[8] = (char)id;
		if (id % 3 == 0)
			r.protocol->session->cancel(r.parser.session, id);
		else
			feed(&r, reply, sizeof(reply) - 1);
		drain(&r);
		assert_int_equal(r.parser.session->requests, 0);
		strbuf_reset(&r.results);
	}
	end(&r);
}

/* The last output tells the peer that the connection ends. */
static void test_finish(void **state)
{
	static char to[SESSION_PIECE_MAX];
	struct session_piece piece;
	struct run r;

	(void)state;
	begin_requests(&r, "h2c://a/", 0);
	feed(&r, SETTINGS, sizeof(SETTINGS) - 1);
	drain(&r);
	r.protocol->session->finish(r.parser.session);
	assert_true(r.parser.session->has_output);
	assert_int_equal(run_output(&r, to, &piece), 17);
	assert_int_equal(to[3], NGHTTP2_GOAWAY);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_many_streams),
		cmocka_unit_test(test_finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
