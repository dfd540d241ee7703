/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 replies. The parser reads the status and four fields (Content-Length,
 * Transfer-Encoding, Connection, Location); lines of other fields are skipped whole. RFC 9112, 6.3
 * defines where the body ends. A single '\n' also ends a line (2.2); a field may continue on the
 * next line (5.2).
 */
#include "load/http.h"

#include <errno.h>
#include <string.h>

#include "load/text.h"

#define HEAD_MAX 65536
#define NAME_MAX_BYTES 18 /* size for the longest name that matters: Transfer-Encoding */
#define TOKEN_MAX 12      /* size for the longest token that matters: keep-alive */
#define CHUNK_DIGITS 12
#define LENGTH_MAX (1ULL << 48)
#define TOO_LONG 0xff
#define ERROR_TEXT_FROM 300     /* lowest HTTP status of replies whose text is stored */

enum http_phase {
	STATUS, REASON, FIELD, HEAD_END, NAME, VALUE, OTHER, BODY, UNTIL_CLOSE,
	CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_END, TRAILER, TRAILER_LINE, TRAILER_END,
};

enum http_field { FIELD_LENGTH = 1, FIELD_TRANSFER, FIELD_CONNECTION, FIELD_LOCATION };

/* Length of a redirect's text, "301 to URL": cut there, with dots that say so. */
#define REDIRECT_TEXT_MAX (ERROR_TEXT_CLEAN_MAX - 4)

enum redirect_text { REDIRECT_NONE, REDIRECT_SHOWN, REDIRECT_CUT };

struct http_state {
	uint8_t phase;
	uint8_t at;       /* bytes parsed of the status line or of "\r\n" */
	uint8_t minor;    /* minor version of HTTP */
	uint8_t field;    /* enum http_field */
	/*
	 * the head has a Content-Length, a Transfer-Encoding; the last transfer coding is "chunked"
	 */
	uint8_t has_length, has_coding, chunked;
	uint8_t close, keep;
	uint8_t headless; /* the request is a HEAD: its reply has no body */
	uint8_t redirect; /* enum redirect_text */
	uint8_t gap;      /* white space follows the token or number */
	uint8_t digits;
	uint8_t name_len, token_len; /* bytes stored; TOO_LONG: the parser ignores the text */
	char name[NAME_MAX_BYTES], token[TOKEN_MAX];
	uint16_t status;
	uint32_t head;    /* bytes read of the head, or of a chunk-size line */
	uint64_t number;  /* numeric value of the current field */
	uint64_t left;    /* bytes of the body or chunk still to come */
};

_Static_assert(sizeof(struct http_state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

/* ---- The head ---- */

/* Reads the status line: "HTTP/1.", a digit, a space, three digits. */
static int http_step_status(struct http_state *s, struct text_cursor *c)
{
	static const char start[] = "HTTP/1.d ddd";

	while (c->p < c->end && s->at < sizeof(start) - 1) {
		char byte = *c->p++, expected = start[s->at++];

		if (expected == 'd' ? !parse_is_digit(byte) : byte != expected)
			return -EPROTO;
		if (s->at == 8)
			s->minor = (uint8_t)(byte - '0');
		else if (s->at > 9)
			s->status = (uint16_t)(s->status * 10 + (byte - '0'));
	}
	if (s->at < sizeof(start) - 1)
		return 0;
	s->phase = REASON;
	return s->status >= 100 ? 0 : -EPROTO;
}

/* Skips the rest of a line, then sets the phase to `next`. */
static int skip_line(struct http_state *s, struct text_cursor *c, enum http_phase next)
{
	size_t n = (size_t)(c->end - c->p);
	const char *newline = memchr(c->p, '\n', n);

	n = newline ? (size_t)(newline + 1 - c->p) : n;
	if (n + s->head > HEAD_MAX)
		return -EPROTO;
	s->head += (uint32_t)n;
	c->p += n;
	if (newline)
		s->phase = next;
	return 0;
}

/* Begins the error text with the status; the reason phrase and the body follow. */
static void http_begin_error_text(struct http_state *s)
{
	const char digits[] = { (char)('0' + s->status / 100), (char)('0' + s->status / 10 % 10),
				(char)('0' + s->status % 10) };

	error_text_begin(parser_error_text(s));
	error_text_add(parser_error_text(s), digits, sizeof(digits));
}

static int http_step_reason(struct http_state *s, struct text_cursor *c)
{
	const char *from;
	int err;

	if (s->at) {
		/* A space or the end of the line must follow the status code. */
		if (*c->p != ' ' && *c->p != '\r' && *c->p != '\n')
			return -EPROTO;
		s->at = 0;
		if (s->status >= ERROR_TEXT_FROM)
			http_begin_error_text(s);
	}
	from = c->p;
	err = skip_line(s, c, FIELD);
	if (s->status >= ERROR_TEXT_FROM)
		error_text_add(parser_error_text(s), from, (size_t)(c->p - from));
	return err;
}

static void begin_body(struct http_state *s)
{
	s->head = 0;
	s->at = s->digits = 0;
	if (s->has_coding) {
		s->phase = s->chunked ? CHUNK_SIZE : UNTIL_CLOSE;
		s->left = 0;
	} else {
		s->phase = s->has_length ? BODY : UNTIL_CLOSE;
	}
	/*
	 * A reply with Content-Length and Transfer-Encoding may be an attack (RFC 9112, 6.3), so
	 * the connection is not reused.
	 */
	if (s->phase == UNTIL_CLOSE || (s->has_coding && s->has_length))
		s->close = true;
}

/* Ends the head. Returns 1: the reply has no body; 0: more bytes follow; or -EPROTO. */
static int end_head(struct http_state *s)
{
	if (s->status == 101)
		return -EPROTO;
	if (s->status < 200) {
		*s = (struct http_state){ .head = s->head, .headless = s->headless };
		return 0;
	}
	if (s->minor == 0 && !s->keep)
		s->close = true;
	if (s->headless || s->status == 204 || s->status == 304)
		return 1;
	begin_body(s);
	return s->phase == BODY && !s->left;
}

static int http_step_head_end(struct http_state *s, struct text_cursor *c)
{
	return *c->p++ == '\n' ? end_head(s) : -EPROTO;
}

static bool http_token_is(const char *text, uint8_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Appends `byte` in lower case; sets *len to TOO_LONG if there is no space. */
static void http_append_lower(char *text, uint8_t *len, uint8_t max, char byte)
{
	if (*len >= max)
		*len = TOO_LONG;
	else
		text[(*len)++] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

static enum http_field find_field(const struct http_state *s)
{
	if (http_token_is(s->name, s->name_len, "content-length"))
		return FIELD_LENGTH;
	if (http_token_is(s->name, s->name_len, "transfer-encoding"))
		return FIELD_TRANSFER;
	if (http_token_is(s->name, s->name_len, "connection"))
		return FIELD_CONNECTION;
	return s->status / 100 == 3 && http_token_is(s->name, s->name_len, "location") ?
		FIELD_LOCATION : 0;
}

/* Appends a byte of a Location to the error text, which becomes "301 to URL". */
static void http_add_location(struct http_state *s, char byte)
{
	struct error_text *text = parser_error_text(s);

	if (s->redirect == REDIRECT_NONE) {
		http_begin_error_text(s);
		error_text_add(text, " to ", 4);
		s->redirect = REDIRECT_SHOWN;
	}
	if (s->redirect == REDIRECT_CUT)
		return;
	error_text_add(text, &byte, 1);
	if (text->len < REDIRECT_TEXT_MAX)
		return;
	error_text_add(text, "...", 3);
	s->redirect = REDIRECT_CUT;
}

/* Reads a field's name up to its colon; names that are too long are left to skip_line(). */
static int http_step_name(struct http_state *s, struct text_cursor *c)
{
	for (; c->p < c->end; c->p++, s->head++) {
		char byte = *c->p;

		if (byte <= ' ' || byte > '~' || s->head >= HEAD_MAX)
			return -EPROTO;
		if (byte == ':') {
			s->field = find_field(s);
			s->phase = s->field ? VALUE : OTHER;
			c->p += s->field != 0;
			return 0;
		}
		http_append_lower(s->name, &s->name_len, NAME_MAX_BYTES, byte);
		if (s->name_len == TOO_LONG) {
			s->phase = OTHER;
			return 0;
		}
	}
	return 0;
}

static int http_add_digit(struct http_state *s, char byte)
{
	if (!parse_is_digit(byte) || s->gap)
		return -EPROTO;
	s->number = s->number * 10 + (uint64_t)(byte - '0');
	s->digits = 1;
	return s->number > LENGTH_MAX ? -EPROTO : 0;
}

/* Ends a member of a comma-separated list; empty members are ignored. */
static void end_token(struct http_state *s)
{
	/* Ignore "identity": until RFC 7230, it named the absence of a transfer coding. */
	if (s->field == FIELD_TRANSFER && s->token_len &&
	    !http_token_is(s->token, s->token_len, "identity")) {
		s->has_coding = true;
		s->chunked = http_token_is(s->token, s->token_len, "chunked");
	} else if (s->field == FIELD_CONNECTION) {
		s->close |= http_token_is(s->token, s->token_len, "close");
		s->keep |= http_token_is(s->token, s->token_len, "keep-alive");
	}
	s->token_len = s->gap = 0;
}

/* Evaluates a complete header field. Returns 0, or -EPROTO for an invalid Content-Length. */
static int end_value(struct http_state *s)
{
	if (s->field != FIELD_LENGTH) {
		if (s->field != FIELD_LOCATION)
			end_token(s);
		return 0;
	}
	if (!s->digits || (s->has_length && s->number != s->left))
		return -EPROTO;
	s->has_length = true;
	s->left = s->number;
	return 0;
}

static int http_add_value_byte(struct http_state *s, char byte)
{
	if (byte == ' ' || byte == '\t' || byte == '\r') {
		s->gap = s->digits || s->token_len;
		return 0;
	}
	if (s->field == FIELD_LENGTH)
		return http_add_digit(s, byte);
	if (s->field == FIELD_LOCATION) {
		http_add_location(s, byte);
		return 0;
	}
	if (byte == ',') {
		end_token(s);
		return 0;
	}
	if (s->gap)
		s->token_len = TOO_LONG;
	if (s->token_len != TOO_LONG)
		http_append_lower(s->token, &s->token_len, TOKEN_MAX, byte);
	return 0;
}

static int http_step_value(struct http_state *s, struct text_cursor *c)
{
	while (c->p < c->end) {
		char byte = *c->p++;

		if (s->head++ >= HEAD_MAX || byte == '\0')
			return -EPROTO;
		if (byte == '\n') {
			s->phase = FIELD;
			return 0;
		}
		if (http_add_value_byte(s, byte))
			return -EPROTO;
	}
	return 0;
}

/* Reads the first byte of a line of the head. */
static int http_step_field(struct http_state *s, struct text_cursor *c)
{
	char byte = *c->p;

	if (byte == ' ' || byte == '\t') {
		s->phase = s->field ? VALUE : OTHER;
		return 0;
	}
	if (s->field && end_value(s))
		return -EPROTO;
	s->name_len = s->token_len = s->digits = s->gap = s->field = 0;
	s->number = 0;
	if (byte == '\n') {
		c->p++;
		return end_head(s);
	}
	if (byte == '\r') {
		c->p++;
		s->phase = HEAD_END;
		return 0;
	}
	byte |= 0x20;
	s->phase = byte == 'c' || byte == 't' || byte == 'l' ? NAME : OTHER;
	return 0;
}

/* ---- The body ---- */

/* Appends bytes of the body to the error text, except to a redirect's, which has its target. */
static void http_add_body_text(struct http_state *s, const char *from, const char *to)
{
	if (s->status >= ERROR_TEXT_FROM && !s->redirect)
		error_text_add(parser_error_text(s), from, (size_t)(to - from));
}

static int http_step_data(struct http_state *s, struct text_cursor *c)
{
	const char *from = c->p;
	const bool all = text_skip(c, &s->left);

	http_add_body_text(s, from, c->p);
	if (!all)
		return 0;
	if (s->phase == BODY)
		return 1;
	s->phase = CHUNK_END;
	s->at = 0;
	return 0;
}

static int http_step_chunk_size(struct http_state *s, struct text_cursor *c)
{
	int digit = text_hex_digit(*c->p);

	if (digit < 0) {
		if (!s->digits || !strchr(" \t;\r\n", *c->p) || !*c->p)
			return -EPROTO;
		s->phase = CHUNK_EXTENSION;
		return 0;
	}
	c->p++;
	if (s->digits++ == CHUNK_DIGITS)
		return -EPROTO;
	s->left = s->left << 4 | (uint64_t)digit;
	return 0;
}

static int http_step_chunk_extension(struct http_state *s, struct text_cursor *c)
{
	int err = skip_line(s, c, s->left ? CHUNK_DATA : TRAILER);

	if (s->phase == CHUNK_DATA)
		s->head = 0;
	return err;
}

static int http_step_chunk_end(struct http_state *s, struct text_cursor *c)
{
	char byte = *c->p++;

	if (byte == '\r' && !s->at) {
		s->at = 1;
		return 0;
	}
	if (byte != '\n')
		return -EPROTO;
	s->phase = CHUNK_SIZE;
	s->digits = s->at = 0;
	return 0;
}

static int http_step_trailer(struct http_state *s, struct text_cursor *c)
{
	if (*c->p == '\n') {
		c->p++;
		return 1;
	}
	s->phase = *c->p == '\r' ? TRAILER_END : TRAILER_LINE;
	c->p += s->phase == TRAILER_END;
	return 0;
}

static int http_step(struct http_state *s, struct text_cursor *c)
{
	switch ((enum http_phase)s->phase) {
	case STATUS:
		return http_step_status(s, c);
	case REASON:
		return http_step_reason(s, c);
	case FIELD:
		return http_step_field(s, c);
	case HEAD_END:
		return http_step_head_end(s, c);
	case NAME:
		return http_step_name(s, c);
	case VALUE:
		return http_step_value(s, c);
	case OTHER:
		return skip_line(s, c, FIELD);
	case BODY:
	case CHUNK_DATA:
		return http_step_data(s, c);
	case UNTIL_CLOSE:
		http_add_body_text(s, c->p, c->end);
		c->p = c->end;
		return 0;
	case CHUNK_SIZE:
		return http_step_chunk_size(s, c);
	case CHUNK_EXTENSION:
		return http_step_chunk_extension(s, c);
	case CHUNK_END:
		return http_step_chunk_end(s, c);
	case TRAILER:
		return http_step_trailer(s, c);
	case TRAILER_LINE:
		return skip_line(s, c, TRAILER);
	case TRAILER_END:
		return *c->p++ == '\n' ? 1 : -EPROTO;
	}
	return -EPROTO;
}

/* A redirect or "not found" is quick and has no content, so it counts as a miss. */
enum reply_status http_reply_status(uint16_t status)
{
	if (status / 100 == 3 || status == 404 || status == 410)
		return REPLY_MISS;
	return status >= 400 ? REPLY_ERROR : REPLY_OK;
}

int http_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out)
{
	struct http_state *s = (struct http_state *)parser->state;
	struct text_cursor c = { data, size ? (const char *)data + size : data };
	int done = !data && s->phase == UNTIL_CLOSE;

	s->headless = type == OPERATION_HEAD;
	while (!done && c.p < c.end)
		done = http_step(s, &c);
	*used = (size_t)(c.p - (const char *)data);
	if (done == 1) {
		*out = (struct reply){ .status = http_reply_status(s->status), .close = s->close,
				       .code = s->status };
		if (s->status >= ERROR_TEXT_FROM)
			out->error_text = &parser->error_text;
		*s = (struct http_state){ 0 };
	}
	return done;
}
