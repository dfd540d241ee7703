/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* HTTP/1.0 and 1.1, for bpf/stream.h. Source: RFC 9112. */
#ifndef HOSTLAT_BPF_STREAM_HTTP_H
#define HOSTLAT_BPF_STREAM_HTTP_H

#include "bpf/stream_word.h"

static inline bool http_version(const struct stream_parser *s)
{
	return stream_is(s, "HTTP/1.1") || stream_is(s, "HTTP/1.0");
}

static inline bool http_method(const struct stream_parser *s)
{
	return stream_is(s, "GET") || stream_is(s, "POST") || stream_is(s, "PUT") ||
	       stream_is(s, "HEAD") || stream_is(s, "DELETE") || stream_is(s, "OPTIONS") ||
	       stream_is(s, "PATCH");
}

/* Ends a word of the first line. `last`: the word ends the line, and is a request's version. */
static inline __u32 http_word(struct stream_parser *s, bool reply, bool last)
{
	if (reply && !s->at && !http_version(s))
		return stream_bad(s);
	if (reply && s->at == 1) {
		if (!s->is_number)
			return stream_bad(s);
		s->left = s->number;
	}
	if (!reply && !s->at) {
		if (!http_method(s))
			return stream_bad(s);
		if (stream_is(s, "HEAD"))
			s->flags |= IS_HEAD;
	}
	if (!reply && last && (s->at != 2 || !http_version(s)))
		return stream_bad(s);
	s->at++;
	stream_word(s);
	return 0;
}

static inline __u32 http_field(struct stream_parser *s)
{
	if (s->kind == KIND_LENGTH) {
		if (!s->is_number || s->flags & HAS_LENGTH)
			return stream_bad(s);
		s->flags |= HAS_LENGTH;
		s->body = s->number;
	} else if (s->kind == KIND_ENCODING) {
		if (!stream_is(s, "chunked") || s->flags & HAS_CHUNKS)
			return stream_bad(s);
		s->flags |= HAS_CHUNKS;
	}
	stream_line(s, AT_NAME);
	return 0;
}

static inline __u32 http_body(struct stream_parser *s)
{
	if ((s->flags & HAS_LENGTH) && (s->flags & HAS_CHUNKS))
		return stream_bad(s);
	if (s->flags & HAS_CHUNKS) {
		stream_line(s, AT_CHUNK_SIZE);
		return 0;
	}
	return s->body ? stream_pass(s, s->body, 0, AT_BODY) : stream_complete(s);
}

/* Ends the header. s->left: a reply's status code. */
static inline __u32 http_header_ends(struct stream_parser *s, bool reply, bool no_body)
{
	__u64 status = s->left;

	if (!reply)
		return http_body(s);
	if (status < 100 || status == 101)
		return stream_bad(s);
	if (status < 200) {
		stream_complete(s);
		return STREAM_AGAIN;
	}
	if (no_body || status == 204 || status == 304)
		return STREAM_HEAD | stream_complete(s);
	/* the reply's body lasts until the connection closes */
	if (!(s->flags & (HAS_LENGTH | HAS_CHUNKS))) {
		s->skip = ~0ULL;
		s->state = AT_CLOSE;
		return STREAM_HEAD;
	}
	return STREAM_HEAD | http_body(s);
}

static inline __u32 http_name(struct stream_parser *s, __u8 c)
{
	/* the name has 17 bytes, s->word only 16 */
	bool encoding = s->length == 17 && s->word[0] == STREAM_WORD("transfer-encodin", 0) &&
			s->word[1] == STREAM_WORD("transfer-encodin", 8);

	if ((c == ' ' || c == '\t' || c == '\n') || !s->length)
		if (c == ' ' || c == '\t' || c == '\n' || c == ':')
			return stream_bad(s);
	if (c != ':')
		return stream_add(s, stream_lower(c));
	s->kind = stream_is(s, "content-length") ? KIND_LENGTH :
		  encoding ? KIND_ENCODING : KIND_OTHER;
	stream_word(s);
	s->state = AT_VALUE;
	return 0;
}

static inline __u32 http_chunk_size(struct stream_parser *s, __u8 c)
{
	__u8 low = stream_lower(c);
	bool digit = c >= '0' && c <= '9';

	if (c == '\n') {
		if (!s->length)
			return stream_bad(s);
		if (!s->number) {
			stream_line(s, AT_TRAILER);
			return 0;
		}
		return stream_pass(s, s->number, 2, AT_CHUNK);
	}
	if (c == ';' || c == ' ')
		s->at = 1; /* nonzero: ignore the rest of the line, a chunk extension */
	if (s->at)
		return 0;
	if (!digit && (low < 'a' || low > 'f'))
		return stream_bad(s);
	s->number = s->number * 16 + (digit ? c - '0' : low - 'a' + 10);
	s->length++;
	return s->number > STREAM_NUMBER_MAX ? stream_bad(s) : 0;
}

static inline __u32 http_byte(struct stream_parser *s, __u8 c, bool reply, bool no_body)
{
	__u32 events = 0;

	if (c == '\r')
		return 0;
	switch (s->state) {
	case AT_LINE:
		if (c != ' ' && c != '\n')
			return stream_add(s, c);
		if (s->length || !s->at)
			events = http_word(s, reply, c == '\n');
		if (c == '\n' && !events) {
			if (reply && !s->left)
				return stream_bad(s);
			stream_line(s, AT_NAME);
		}
		return events;
	case AT_NAME:
		if (c == '\n' && !s->length)
			return http_header_ends(s, reply, no_body);
		return http_name(s, c);
	case AT_VALUE:
		if (c == '\n')
			return http_field(s);
		if ((c == ' ' || c == '\t') && !s->length)
			return 0;
		return stream_add(s, stream_lower(c));
	case AT_CHUNK_SIZE:
		return http_chunk_size(s, c);
	case AT_TRAILER:
		if (c == '\n' && !s->length)
			return stream_complete(s);
		s->length = c != '\n';
		return 0;
	default:
		return stream_bad(s);
	}
}

#endif
