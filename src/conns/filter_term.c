/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/filter_term.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "conns/counter.h"

#define PORT_TEXT_MAX 64
#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + 8)
#define SERVICE_BUF 2048
#define MILLION 1000000
#define V4_BITS 32
#define V6_BITS 128

enum filter_kind {
	KIND_ADDRESS, KIND_PORT, KIND_STATE, KIND_CLASS, KIND_TEXT, KIND_COUNT, KIND_TIME,
	KIND_SIZE, KIND_SHARE, KINDS,
};

struct filter_field {
	/* text.filter is the field's name; NULL: the counter is no field */
	struct counter_text text;
	enum filter_kind kind;
	/* address, port: 0 local, 1 remote; text: enum conn_text; numbers: enum conn_number */
	unsigned index;
};

#define FIELD(name, of, at) { .text.filter = (name), .kind = KIND_##of, .index = (at) }
#define ROW(field, value, known, object, key, unit, ...)                                           \
	{ .text = { .meaning = __VA_ARGS__ }, .kind = KIND_##unit,                                 \
	  .index = CONN_NUMBER_OF_##field },

static const struct filter_field fields[] = {
	FIELD("src", ADDRESS, 0), FIELD("dst", ADDRESS, 1),
	FIELD("sport", PORT, 0), FIELD("dport", PORT, 1),
	FIELD("state", STATE, 0), FIELD("class", CLASS, 0),
	FIELD("app", TEXT, CONN_TEXT_APP), FIELD("comm", TEXT, CONN_TEXT_COMM),
	FIELD("cgroup", TEXT, CONN_TEXT_CGROUP), FIELD("unit", TEXT, CONN_TEXT_UNIT),
	FIELD("netns", TEXT, CONN_TEXT_NETNS),
	FIELD("congestion-control", TEXT, CONN_TEXT_CONTROL),
	FIELD("pid", COUNT, CONN_NUMBER_PID), FIELD("rtt", TIME, CONN_NUMBER_RTT),
	FIELD("min-rtt", TIME, CONN_NUMBER_MIN_RTT),
	FIELD("retrans", COUNT, CONN_NUMBER_RETRANS),
	FIELD("unsent", SIZE, CONN_NUMBER_UNSENT),
	FIELD("unacked", SIZE, CONN_NUMBER_UNACKED),
	FIELD("sndbuf", SIZE, CONN_NUMBER_SNDBUF), FIELD("rcvbuf", SIZE, CONN_NUMBER_RCVBUF),
	FIELD("cwnd", COUNT, CONN_NUMBER_CWND), FIELD("mss", COUNT, CONN_NUMBER_MSS),
	FIELD("age", TIME, CONN_NUMBER_AGE),
	FIELD("sender-app", SHARE, CONN_NUMBER_SENDER_APP),
	FIELD("send-buffer", SHARE, CONN_NUMBER_SEND_BUFFER),
	FIELD("congestion", SHARE, CONN_NUMBER_CONGESTION),
	FIELD("receiver-window", SHARE, CONN_NUMBER_RECEIVER_WINDOW),
	FIELD("delayed-ack", SHARE, CONN_NUMBER_DELAYED_ACK),
	CONN_COUNTERS_EACH(ROW)
};

static const char *const filter_values[KINDS] = {
	[KIND_ADDRESS] = "an address, optionally with /PREFIX and :PORT, IPv6 in brackets "
			 "(10.0.0.0/8, 10.1.2.3:80, [2001:db8::]/32, :443)",
	[KIND_PORT] = "a port, 0 to 65535 or a service's name (:443, https)",
	[KIND_STATE] = "a state (established, close-wait, ...) or connected, synchronized, "
		       "bucket, big, all",
	[KIND_CLASS] = "a class (send-buffer, timeout, ...)",
	[KIND_TEXT] = "a text",
	[KIND_COUNT] = PARSE_U64_TAKES,
	[KIND_TIME] = PARSE_DURATION_TAKES,
	[KIND_SIZE] = PARSE_SIZE_TAKES,
	[KIND_SHARE] = PARSE_FRACTION_TAKES,
};

/* Spellings of each operator. */
static const char *const ops[FILTER_OPS][3] = {
	[FILTER_EQ] = { "=", "==", "eq" }, [FILTER_NE] = { "!=", "ne", "neq" },
	[FILTER_LT] = { "<", "lt", "lt" }, [FILTER_LE] = { "<=", "le", "leq" },
	[FILTER_GT] = { ">", "gt", "gt" }, [FILTER_GE] = { ">=", "ge", "geq" },
};

/* Names of the TCP states, by the kernel's number of the state. */
static const char *const states[] = {
	NULL, "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait",
	"closed", "close-wait", "last-ack", "listening", "closing",
};

#define STATE(n) (1U << (n))
#define STATES_ALL (STATE(12) - STATE(1))
#define STATES_CONNECTED (STATES_ALL & ~(STATE(7) | STATE(10)))
#define STATES_BUCKET (STATE(3) | STATE(6))

static const struct {
	const char *name;
	uint32_t states;
} groups[] = {
	{ "all", STATES_ALL },
	{ "connected", STATES_CONNECTED },
	{ "synchronized", STATES_CONNECTED & ~STATE(2) },
	{ "bucket", STATES_BUCKET },
	{ "big", STATES_ALL & ~STATES_BUCKET },
	{ "listen", STATE(10) },
	{ "close", STATE(7) },
	{ "syn-received", STATE(3) },
};

/* ---- words ---- */

const struct filter_field *filter_field_find(const char *name, const char **near)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!fields[i].text.filter)
			continue;
		if (strcmp(fields[i].text.filter, name) == 0)
			return &fields[i];
		nearest_offer(&nearest, fields[i].text.filter);
	}
	*near = nearest.best;
	return NULL;
}

bool filter_op_find(const char *word, enum filter_op *op)
{
	for (int i = 0; i < FILTER_OPS; i++) {
		for (size_t j = 0; j < ARRAY_LEN(ops[i]); j++) {
			if (strcmp(ops[i][j], word) == 0) {
				*op = (enum filter_op)i;
				return true;
			}
		}
	}
	return false;
}

bool filter_field_has_op(const struct filter_field *field, enum filter_op op)
{
	return op <= FILTER_NE || field->kind == KIND_PORT || field->kind >= KIND_COUNT;
}

const char *filter_field_values(const struct filter_field *field)
{
	return filter_values[field->kind];
}

/* ---- values ---- */

static int filter_term_service(const char *name, uint64_t *port)
{
	char buf[SERVICE_BUF];
	struct servent entry, *found = NULL;

	if (!*name || getservbyname_r(name, "tcp", &entry, buf, sizeof(buf), &found) || !found)
		return -EINVAL;
	*port = ntohs((uint16_t)found->s_port);
	return 0;
}

/* Parses a port. Returns 0, 1 for "*" (any port), or -EINVAL. */
static int filter_term_port(const char *text, uint64_t *port)
{
	uint64_t value;

	if (strcmp(text, "*") == 0)
		return 1;
	if (parse_u64(text, &value))
		return strlen(text) < PORT_TEXT_MAX ? filter_term_service(text, port) : -EINVAL;
	if (value > UINT16_MAX)
		return -EINVAL;
	*port = value;
	return 0;
}

static void filter_term_mask(uint8_t address[16], unsigned bits)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned left = bits > i * 8 ? bits - i * 8 : 0;

		if (left < 8)
			address[i] &= (uint8_t)(0xff00 >> left);
	}
}

/* Converts IPv4-mapped IPv6 to IPv4, as in struct filter_view. */
static void filter_term_unmap(struct filter_term *term)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (term->family != AF_INET6 || term->prefix < 96 || memcmp(term->address, mapped, 12))
		return;
	memmove(term->address, term->address + 12, 4);
	memset(term->address + 4, 0, 12);
	term->family = AF_INET;
	term->prefix -= 96;
}

/* Parses an address such as "10.0.0.0/8" or "2001:db8::"; "*" is any. Returns 0 or -EINVAL. */
static int filter_term_address(struct filter_term *term, const char *text, size_t size)
{
	char copy[ADDRESS_TEXT_MAX], *slash;
	uint64_t bits;

	if (size == 1 && *text == '*')
		return 0;
	if (size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, copy, term->address) == 1)
		term->family = AF_INET;
	else if (inet_pton(AF_INET6, copy, term->address) == 1)
		term->family = AF_INET6;
	else
		return -EINVAL;
	bits = term->family == AF_INET ? V4_BITS : V6_BITS;
	term->prefix = (uint8_t)bits;
	if (slash && (parse_u64(slash, &bits) || bits > term->prefix))
		return -EINVAL;
	term->prefix = (uint8_t)bits;
	filter_term_mask(term->address, term->prefix);
	filter_term_unmap(term);
	return 0;
}

/* Parses ADDRESS[:PORT]. In "[::1]/64:80", the prefix is behind the bracket. */
static int filter_term_host(struct filter_term *term, const char *text)
{
	const char *close = *text == '[' ? strchr(text, ']') : NULL;
	const char *colon = strrchr(text, ':');
	char inner[ADDRESS_TEXT_MAX];
	size_t size;
	int err;

	if (*text == '[') {
		struct strbuf join = STRBUF_INIT(sizeof(inner) - 1);

		if (!close)
			return -EINVAL;
		colon = strchr(close, ':');
		strbuf_add(&join, text + 1, (size_t)(close - text) - 1);
		strbuf_add(&join, close + 1, strcspn(close + 1, ":"));
		err = join.error ? -EINVAL : 0;
		/*
		 * Behind the closing bracket may be only /PREFIX or :PORT; inside, only an IPv6
		 * address.
		 */
		if (!err && (close[1] && close[1] != '/' && close[1] != ':'))
			err = -EINVAL;
		if (!err && !memchr(strbuf_str(&join), ':', join.len))
			err = -EINVAL;
		if (!err)
			err = filter_term_address(term, strbuf_str(&join), join.len);
		strbuf_release(&join);
	} else if (!colon || strchr(text, ':') != colon) {
		/* There is no port: more than one colon is a plain IPv6 address. */
		return filter_term_address(term, text, strlen(text));
	} else {
		size = (size_t)(colon - text);
		err = size ? filter_term_address(term, text, size) : 0;
	}
	if (err || !colon)
		return err;
	err = filter_term_port(colon + 1, &term->number);
	term->has_port = err == 0;
	return err < 0 ? err : 0;
}

static int filter_term_state(const char *text, uint64_t *out)
{
	for (unsigned i = 1; i < ARRAY_LEN(states); i++) {
		if (strcmp(states[i], text) == 0) {
			*out = STATE(i);
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		if (strcmp(groups[i].name, text) == 0) {
			*out = groups[i].states;
			return 0;
		}
	}
	return -EINVAL;
}

static int filter_term_share(const char *text, uint64_t *out)
{
	double share;

	if (parse_fraction(text, &share))
		return -EINVAL;
	*out = (uint64_t)(share * MILLION + 0.5);
	return 0;
}

int filter_term_parse(struct filter_term *term, const char *value)
{
	switch (term->field->kind) {
	case KIND_ADDRESS:
		return filter_term_host(term, value);
	case KIND_PORT:
		value += *value == '*' && value[1] == ':';
		value += *value == ':';
		return filter_term_port(value, &term->number) ? -EINVAL : 0;
	case KIND_STATE:
		return filter_term_state(value, &term->number);
	case KIND_COUNT:
		return parse_u64(value, &term->number) ? -EINVAL : 0;
	case KIND_TIME:
		return parse_duration(value, &term->number) ? -EINVAL : 0;
	case KIND_SIZE:
		return parse_size(value, &term->number) ? -EINVAL : 0;
	case KIND_SHARE:
		return filter_term_share(value, &term->number);
	default:
		term->text = strdup(value);
		return term->text ? 0 : -ENOMEM;
	}
}

void filter_term_release(struct filter_term *term)
{
	free(term->text);
	term->text = NULL;
}

/* ---- evaluation ---- */

static enum filter_truth filter_term_truth(bool holds)
{
	return holds ? FILTER_TRUE : FILTER_FALSE;
}

/* Returns the truth of = or !=; `holds` tells whether the field equals the term's value. */
static enum filter_truth filter_term_equal(const struct filter_term *term, bool holds)
{
	return filter_term_truth(holds == (term->op == FILTER_EQ));
}

static enum filter_truth filter_term_order(const struct filter_term *term, uint64_t a)
{
	uint64_t b = term->number;

	switch (term->op) {
	case FILTER_LT:
		return filter_term_truth(a < b);
	case FILTER_LE:
		return filter_term_truth(a <= b);
	case FILTER_GT:
		return filter_term_truth(a > b);
	case FILTER_GE:
		return filter_term_truth(a >= b);
	default:
		return filter_term_equal(term, a == b);
	}
}

static bool filter_term_within(const struct filter_term *term, const struct filter_view *view)
{
	const uint8_t *address = term->field->index ? view->remote : view->local;
	uint16_t port = term->field->index ? view->remote_port : view->local_port;
	uint8_t masked[16] = { 0 };

	if (term->has_port && term->number != port)
		return false;
	if (!term->family)
		return true;
	memcpy(masked, address, view->family == AF_INET ? 4 : 16);
	filter_term_mask(masked, term->prefix);
	return term->family == view->family && !memcmp(masked, term->address, sizeof(masked));
}

static bool filter_term_has_class(const struct filter_term *term, const struct filter_view *view)
{
	for (size_t i = 0; i < view->n_classes; i++) {
		if (strcmp(view->classes[i], term->text) == 0)
			return true;
	}
	return false;
}

enum filter_truth filter_term_judge(const struct filter_term *term, const struct filter_view *view)
{
	unsigned i = term->field->index;

	switch (term->field->kind) {
	case KIND_ADDRESS:
		return view->family ? filter_term_equal(term, filter_term_within(term, view))
				    : FILTER_UNKNOWN;
	case KIND_PORT:
		if (!view->family)
			return FILTER_UNKNOWN;
		return filter_term_order(term, i ? view->remote_port : view->local_port);
	case KIND_STATE:
		if (!view->tcp_state || view->tcp_state >= ARRAY_LEN(states))
			return FILTER_UNKNOWN;
		return filter_term_equal(term, term->number & STATE(view->tcp_state));
	case KIND_CLASS:
		return view->classes ? filter_term_equal(term, filter_term_has_class(term, view))
				     : FILTER_UNKNOWN;
	case KIND_TEXT:
		if (!view->text[i])
			return FILTER_UNKNOWN;
		return filter_term_equal(term, strcmp(view->text[i], term->text) == 0);
	default:
		return view->known >> i & 1 ? filter_term_order(term, view->number[i])
					    : FILTER_UNKNOWN;
	}
}
