/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Parsers that find requests and replies in a connection's bytes, byte by byte: memcached's text
 * and meta commands, RESP (Redis), HTTP/1.0 and 1.1. Compiled for BPF and for the host: no memory
 * but struct stream_parser, no loops.
 *
 * Bytes of a body are not parsed: while `skip` is not 0, the caller skips that many with
 * stream_skip(). STREAM_BAD: the connection cannot be followed for sure. Sources: memcached's
 * doc/protocol.txt, the Redis serialization protocol specification, RFC 9112.
 */
#ifndef HOSTLAT_BPF_STREAM_H
#define HOSTLAT_BPF_STREAM_H

#include "bpf/stream_http.h"

/* ---- memcached ---- */

static inline __u8 memcached_kind(const struct stream_parser *s)
{
	if (stream_is(s, "get") || stream_is(s, "gets") || stream_is(s, "gat") ||
	    stream_is(s, "gats") || stream_is(s, "stats") || stream_is(s, "version"))
		return KIND_PLAIN;
	if (stream_is(s, "set") || stream_is(s, "add") || stream_is(s, "replace") ||
	    stream_is(s, "append") || stream_is(s, "prepend") || stream_is(s, "cas"))
		return KIND_STORE;
	if (stream_is(s, "delete") || stream_is(s, "incr") || stream_is(s, "decr") ||
	    stream_is(s, "touch") || stream_is(s, "flush_all") || stream_is(s, "verbosity"))
		return KIND_QUIETABLE;
	if (stream_is(s, "ms"))
		return KIND_META_STORE;
	if (stream_is(s, "mg") || stream_is(s, "md") || stream_is(s, "ma") || stream_is(s, "mn") ||
	    stream_is(s, "me"))
		return KIND_META;
	return stream_is(s, "quit") ? KIND_QUIT : 0;
}

/* Ends a word of a command. The meta flag q (the reply may be missing) is not supported. */
static inline __u32 memcached_word(struct stream_parser *s)
{
	__u32 flags_from = s->kind == KIND_META_STORE ? 3 : 2;
	__u32 size_at = s->kind == KIND_META_STORE ? 2 : 4;
	bool stores = s->kind == KIND_STORE || s->kind == KIND_META_STORE;

	if (!s->at) {
		s->kind = memcached_kind(s);
		if (!s->kind)
			return stream_bad(s);
	} else if (stores && s->at == size_at) {
		if (!s->is_number)
			return stream_bad(s);
		s->body = s->number;
		s->flags |= HAS_SIZE;
	} else if (s->kind == KIND_META || s->kind == KIND_META_STORE) {
		if (s->at >= flags_from && (s->word[0] & 0xff) == 'q')
			return stream_bad(s);
	} else if (s->kind == KIND_STORE || s->kind == KIND_QUIETABLE) {
		s->flags &= ~IS_NOREPLY;
		if (stream_is(s, "noreply"))
			s->flags |= IS_NOREPLY;
	}
	s->at++;
	stream_word(s);
	return 0;
}

static inline __u32 memcached_line(struct stream_parser *s)
{
	if (!s->at)
		return stream_bad(s);
	if (s->kind == KIND_QUIT)
		s->flags |= IS_NOREPLY;
	if (s->kind != KIND_STORE && s->kind != KIND_META_STORE)
		return stream_complete(s);
	return s->flags & HAS_SIZE ? stream_pass(s, s->body, 2, AT_BODY) : stream_bad(s);
}

static inline __u32 memcached_reply_word(struct stream_parser *s)
{
	if (!s->at) {
		if (stream_is(s, "VALUE"))
			s->kind = KIND_VALUE;
		else if (stream_is(s, "STAT") || stream_is(s, "ITEM"))
			s->kind = KIND_MORE;
		else if (stream_is(s, "VA"))
			s->kind = KIND_VA;
		else if (stream_is(s, "ERROR") || stream_is(s, "CLIENT_ERROR") ||
			 stream_is(s, "SERVER_ERROR"))
			/* unknown after an error: how much of the request the server has read */
			return stream_bad(s);
		else
			s->kind = KIND_LAST;
	} else if (s->at == (s->kind == KIND_VA ? 1 : 3) && s->is_number) {
		s->body = s->number;
		s->flags |= HAS_SIZE;
	}
	s->at++;
	stream_word(s);
	return 0;
}

static inline __u32 memcached_reply_line(struct stream_parser *s)
{
	bool sized = s->flags & HAS_SIZE;

	s->flags &= ~HAS_SIZE;
	if (!s->at)
		return stream_bad(s);
	if (s->kind == KIND_VALUE)
		return sized ? stream_pass(s, s->body, 2, AT_MORE) : stream_bad(s);
	if (s->kind == KIND_VA)
		return sized ? stream_pass(s, s->body, 2, AT_BODY) : stream_bad(s);
	if (s->kind == KIND_LAST)
		return stream_complete(s);
	stream_line(s, AT_LINE);
	return 0;
}

static inline __u32 memcached_byte(struct stream_parser *s, __u8 c, bool reply)
{
	__u32 events = 0;

	if (c == '\r')
		return 0;
	if (c != ' ' && c != '\n')
		return stream_add(s, c);
	if (s->length)
		events = reply ? memcached_reply_word(s) : memcached_word(s);
	if (c == '\n' && !events)
		events = reply ? memcached_reply_line(s) : memcached_line(s);
	return events;
}

/* ---- RESP ---- */

/* Returns true for commands that get no reply or several replies. */
static inline bool resp_is_odd(const struct stream_parser *s)
{
	return stream_is(s, "subscribe") || stream_is(s, "psubscribe") ||
	       stream_is(s, "ssubscribe") || stream_is(s, "unsubscribe") ||
	       stream_is(s, "punsubscribe") || stream_is(s, "sunsubscribe") ||
	       stream_is(s, "monitor") || stream_is(s, "sync") || stream_is(s, "psync") ||
	       stream_is(s, "replconf");
}

static inline __u32 resp_argument(struct stream_parser *s)
{
	if (!s->at && resp_is_odd(s))
		return stream_bad(s);
	if (!s->at && stream_is(s, "client"))
		s->kind = KIND_CLIENT;
	if (s->at == 1 && s->kind == KIND_CLIENT && stream_is(s, "reply"))
		return stream_bad(s);
	s->at++;
	if (!--s->left)
		return stream_complete(s);
	stream_word(s);
	s->state = AT_DOLLAR;
	return 0;
}

/* Ends an argument's size: the first two arguments, if short, are parsed, others skipped. */
static inline __u32 resp_size(struct stream_parser *s)
{
	__u64 size = s->number;

	if (!s->is_number)
		return stream_bad(s);
	stream_word(s);
	if (s->at >= 2 || size > 16)
		return stream_pass(s, size, 2, AT_ARGUMENT);
	s->body = size + 2;
	s->state = AT_ARGUMENT;
	return 0;
}

static inline __u32 resp_byte(struct stream_parser *s, __u8 c)
{
	if (s->state == AT_DOLLAR) {
		s->state = AT_SIZE;
		return c == '$' ? 0 : stream_bad(s);
	}
	if (s->state == AT_ARGUMENT) {
		if (s->body > 2)
			stream_add(s, stream_lower(c));
		return --s->body ? 0 : resp_argument(s);
	}
	if (c == '\r')
		return 0;
	if (c != '\n')
		return stream_add(s, c);
	if (s->state == AT_SIZE)
		return resp_size(s);
	if (!s->is_number || !s->number)
		return stream_bad(s);
	s->left = s->number;
	stream_word(s);
	s->state = AT_DOLLAR;
	return 0;
}

static inline __u32 resp_element(struct stream_parser *s)
{
	if (!--s->left)
		return stream_complete(s);
	stream_word(s);
	s->state = AT_ELEMENT;
	return 0;
}

static inline __u32 resp_type(struct stream_parser *s, __u8 c)
{
	stream_word(s);
	s->kind = c;
	if (c == '+' || c == '-' || c == ':' || c == '_' || c == '#' || c == ',' || c == '(')
		s->state = AT_SIMPLE;
	else if (c == '$' || c == '=' || c == '!')
		s->state = AT_SIZE;
	else if (c == '*' || c == '~' || c == '%')
		s->state = AT_COUNT;
	else
		return stream_bad(s);
	return 0;
}

/* Ends a size or a number of elements (a map has two per entry). A negative number: no value. */
static inline __u32 resp_number(struct stream_parser *s)
{
	bool none = (s->word[0] & 0xff) == '-';
	__u64 n = s->number;

	if (none)
		return resp_element(s);
	if (!s->is_number)
		return stream_bad(s);
	if (s->state == AT_SIZE)
		return stream_pass(s, n, 2, AT_ELEMENT);
	s->left += s->kind == '%' ? 2 * n : n;
	if (s->left > STREAM_NUMBER_MAX)
		return stream_bad(s);
	return resp_element(s);
}

static inline __u32 resp_reply_byte(struct stream_parser *s, __u8 c)
{
	if (s->state == AT_ELEMENT)
		return resp_type(s, c);
	if (s->state == AT_SIMPLE)
		return c == '\n' ? resp_element(s) : 0;
	if (c == '\r')
		return 0;
	return c == '\n' ? resp_number(s) : stream_add(s, c);
}

/* ---- all protocols ---- */

/* always inlined, as BPF calls may nest only eight deep */
#define stream_entry inline __attribute__((always_inline))

/*
 * Parses the next byte that a client sends, while `skip` is 0. A connection's first byte determines
 * the protocol. Returns enum stream_event.
 */
static stream_entry __u32 stream_request(struct stream_parser *s, __u8 c)
{
	if (s->state == AT_START) {
		if (!s->protocol)
			s->protocol = c == '*' ? STREAM_RESP :
				      c >= 'a' && c <= 'z' ? STREAM_MEMCACHED :
				      c >= 'A' && c <= 'Z' ? STREAM_HTTP : STREAM_UNKNOWN;
		s->state = s->protocol == STREAM_RESP ? AT_COUNT : AT_LINE;
		if (s->protocol == STREAM_RESP)
			return c == '*' ? 0 : stream_bad(s);
	}
	if (s->protocol == STREAM_MEMCACHED)
		return memcached_byte(s, c, false);
	if (s->protocol == STREAM_RESP)
		return resp_byte(s, c);
	return s->protocol == STREAM_HTTP ? http_byte(s, c, false, false) : stream_bad(s);
}

/*
 * Parses the next byte that a server sends, in the requests' protocol. `no_body`: the reply has no
 * body (HEAD). Returns enum stream_event.
 */
static stream_entry __u32 stream_reply(struct stream_parser *s, __u8 c, bool no_body)
{
	__u32 head = 0;

	if (s->state == AT_START) {
		s->state = AT_LINE;
		if (s->protocol == STREAM_RESP) {
			s->left = 1;
			s->state = AT_ELEMENT;
		}
		if (s->protocol != STREAM_HTTP)
			head = STREAM_HEAD;
	}
	if (s->protocol == STREAM_MEMCACHED)
		return head | memcached_byte(s, c, true);
	if (s->protocol == STREAM_RESP)
		return head | resp_reply_byte(s, c);
	return s->protocol == STREAM_HTTP ? http_byte(s, c, true, no_body) : stream_bad(s);
}

/* Returns true if only the end of the current line matters, not the bytes before the end. */
static stream_entry bool stream_ignores_line(const struct stream_parser *s)
{
	if (s->protocol == STREAM_HTTP)
		return s->state == AT_VALUE && s->kind == KIND_OTHER;
	return s->protocol == STREAM_MEMCACHED && s->state == AT_LINE && s->at &&
	       (s->kind == KIND_PLAIN || s->kind == KIND_LAST || s->kind == KIND_MORE);
}

/* Skips `n` bytes, at most `skip`. Returns enum stream_event. */
static stream_entry __u32 stream_skip(struct stream_parser *s, __u64 n)
{
	if (s->state != AT_CLOSE)
		s->skip -= n;
	if (s->skip)
		return 0;
	switch (s->state) {
	case AT_BODY:
		return stream_complete(s);
	case AT_MORE:
		stream_line(s, AT_LINE);
		return 0;
	case AT_ARGUMENT:
		return resp_argument(s);
	case AT_ELEMENT:
		return resp_element(s);
	case AT_CHUNK:
		stream_line(s, AT_CHUNK_SIZE);
		return 0;
	default:
		return stream_bad(s);
	}
}

#endif
