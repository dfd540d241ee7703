/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Events, states, words and numbers that the parsers of bpf/stream.h share. */
#ifndef HOSTLAT_BPF_STREAM_WORD_H
#define HOSTLAT_BPF_STREAM_WORD_H

#include <linux/types.h>
#include <stdbool.h>

enum stream_protocol { STREAM_UNKNOWN, STREAM_MEMCACHED, STREAM_RESP, STREAM_HTTP };

/* Events that a parsed byte, or the last skipped byte, causes. */
enum stream_event {
	STREAM_END = 1,      /* the request or reply is complete */
	STREAM_HEAD = 2,     /* the reply is now known to be a final one: not an HTTP 1xx reply */
	STREAM_AGAIN = 4,    /* reply: 100 Continue, the final reply is still to come */
	STREAM_BAD = 8,
	STREAM_NO_REPLY = 16, /* with STREAM_END: the request has no reply */
	STREAM_NO_BODY = 32, /* with STREAM_END: the request's reply has no body (HEAD) */
};

enum stream_state {
	AT_START,
	AT_LINE,      /* parsing the words of a line */
	AT_BODY,      /* skipping the last bytes of the message */
	AT_MORE,      /* skipping bytes; then a line of the same message follows */
	AT_COUNT,     /* RESP: number of a request's arguments, or of a reply's elements */
	AT_DOLLAR, AT_SIZE, AT_ARGUMENT, AT_ELEMENT, AT_SIMPLE,
	AT_NAME, AT_VALUE, /* HTTP: header field */
	AT_CHUNK_SIZE, AT_CHUNK, AT_TRAILER, AT_CLOSE,
};

/* Parser of one direction of a connection. Zero it before the connection's first byte. */
struct stream_parser {
	__u64 word[2];  /* first 16 bytes of the word */
	__u64 skip;     /* bytes to skip */
	__u64 number;   /* value of the word; valid if `is_number` */
	__u64 body, left;
	__u32 length;   /* length of the word in bytes */
	__u32 at;       /* index of the word in its line, or of the argument */
	__u8 protocol;  /* enum stream_protocol */
	__u8 state;
	__u8 kind;      /* enum stream_kind of the command, header field or reply */
	__u8 flags;
	__u8 is_number;
	__u8 pad[7];
};

enum stream_flags { IS_NOREPLY = 1, IS_HEAD = 2, HAS_LENGTH = 4, HAS_CHUNKS = 8, HAS_SIZE = 16 };

enum stream_kind {
	KIND_PLAIN = 1, KIND_QUIETABLE, KIND_STORE, KIND_META, KIND_META_STORE, KIND_QUIT,
	KIND_LAST, KIND_VALUE, KIND_MORE, KIND_VA,
	KIND_LENGTH, KIND_ENCODING, KIND_OTHER,
	KIND_CLIENT,
};

#define STREAM_NUMBER_MAX (1ULL << 40)

#define STREAM_BYTE(s, i) \
	((__u64)(unsigned char)((i) < sizeof(s) - 1 ? (s)[(i) < sizeof(s) ? (i) : 0] : 0))
#define STREAM_WORD(s, i)                                                                          \
	(STREAM_BYTE(s, (i)) | STREAM_BYTE(s, (i) + 1) << 8 | STREAM_BYTE(s, (i) + 2) << 16 |      \
	 STREAM_BYTE(s, (i) + 3) << 24 | STREAM_BYTE(s, (i) + 4) << 32 |                           \
	 STREAM_BYTE(s, (i) + 5) << 40 | STREAM_BYTE(s, (i) + 6) << 48 |                           \
	 STREAM_BYTE(s, (i) + 7) << 56)
/* True if the word is `text`, of up to 16 bytes; `length` distinguishes longer words. */
#define stream_is(s, text)                                                                         \
	((s)->length == sizeof(text) - 1 && (s)->word[0] == STREAM_WORD(text, 0) &&                \
	 (s)->word[1] == STREAM_WORD(text, 8))

static inline void stream_word(struct stream_parser *s)
{
	s->word[0] = s->word[1] = 0;
	s->number = 0;
	s->length = 0;
	s->is_number = 0;
}

static inline void stream_line(struct stream_parser *s, __u8 state)
{
	stream_word(s);
	s->at = 0;
	s->kind = 0;
	s->state = state;
}

static inline __u32 stream_bad(struct stream_parser *s)
{
	s->skip = 0;
	return STREAM_BAD;
}

/* Ends a request or reply, and prepares for the next one. */
static inline __u32 stream_complete(struct stream_parser *s)
{
	__u32 events = STREAM_END | (s->flags & IS_NOREPLY ? STREAM_NO_REPLY : 0) |
		       (s->flags & IS_HEAD ? STREAM_NO_BODY : 0);

	s->flags = 0;
	s->body = s->left = s->skip = 0;
	stream_line(s, AT_START);
	return events;
}

static inline __u8 stream_lower(__u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static inline __u32 stream_add(struct stream_parser *s, __u8 c)
{
	bool digit = c >= '0' && c <= '9';

	if (s->length < 16)
		s->word[s->length >> 3 & 1] |= (__u64)c << (s->length & 7) * 8;
	if (digit && (s->is_number || !s->length)) {
		s->number = s->number * 10 + (c - '0');
		s->is_number = s->number <= STREAM_NUMBER_MAX;
	} else {
		s->is_number = 0;
	}
	s->length++;
	return 0;
}

/* Begins to skip a body of `size` and `n` more bytes; parsing then continues in `state`. */
static inline __u32 stream_pass(struct stream_parser *s, __u64 size, __u32 n, __u8 state)
{
	s->skip = size + n;
	s->state = state;
	return 0;
}

#endif
