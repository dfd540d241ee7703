/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events that a source lets through (right in size and shape, anything in content) through the
 * analysis of conns, in any order, and both writers. The input is a sequence of (kind, bytes given,
 * bytes); bytes that a struct needs beyond those are 0. Of EV_CONN they are pairs that set one of
 * the struct's 32-bit words, and its times are often made to fit, as it is refused without. EV_CALL
 * (kind 254) are bytes of the struct; each is also written as a line. The same events, as those of
 * another host with another clock, may be joined to them.
 */
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "conns/peer_match.h"
#include "conns/conns.h"
#include "event/kinds.h"
#include "output/json.h"
#include "output/text.h"
#include "report/report.h"

#define OUTPUT_MAX (64UL << 20)
#define REPORTS_MAX 16 /* interval reports per input; each is written as text and as JSON */

struct payload {
	_Alignas(8) unsigned char bytes[512];
};

static unsigned int reports;
static uint64_t now; /* where the last interval ended */

static void check_report(struct conns *c, enum conns_span span, unsigned int width)
{
	static const struct provenance nobody = { .version = "1", .command = "conns" };
	const struct text_style style = { .width = width, .wrap = true, .utf8 = width & 1 };
	struct strbuf out = STRBUF_INIT(OUTPUT_MAX);
	struct report r;

	report_init(&r, &nobody);
	BUG_ON(conns_report(c, span, &r));
	json_report(&r, JSON_LINE, &out);
	BUG_ON(out.error || memchr(out.buf, '\n', out.len) != out.buf + out.len - 1);
	strbuf_reset(&out);
	text_report(&r, &style, &out);
	BUG_ON(out.error);
	for (size_t i = 0; i < out.len; i++)
		BUG_ON((unsigned char)out.buf[i] < 0x20 && out.buf[i] != '\n');
	strbuf_release(&out);
	report_release(&r);
}

static void feed(struct conns *c, const struct event_block *block, unsigned int width)
{
	size_t at = 0;
	int result;

	while ((result = conns_feed_block(c, block, &at)) == CONNS_CLOSED)
		if (reports++ < REPORTS_MAX)
			check_report(c, CONNS_INTERVAL, width);
	BUG_ON(result != CONNS_MORE);
}

/* ---- connections ---- */

/* Small cookies and flows meet each other; times that fit are not refused. */
static void fit(struct event_conn *e, uint8_t how)
{
	e->cookie &= 7;
	e->flow &= 7;
	e->to = e->from = now - 1000000000ull * (e->from & 3);
	e->to += 500000000;
	e->send_buffer_ns &= 0x7ffffff;
	e->congestion_ns &= 0x3ffffff;
	e->receiver_window_ns &= 0x3ffffff;
	e->delayed_ack_ns &= 0x3ffffff;
	e->unknown_ns &= 0x3ffffff;
	e->sender_app_ns = e->to - e->from - e->send_buffer_ns - e->congestion_ns -
			   e->receiver_window_ns - e->delayed_ack_ns - e->unknown_ns;
	e->samples = UINT32_MAX;
	e->rtt_samples = 0;
	for (int i = 0; i < CONN_RTTS; i++)
		e->rtt_samples += e->rtts[i] &= 0xffffff;
	e->rtt_min_us = e->rtt_samples ? 1 : 0;
	e->rtt_max_us = e->rtt_samples ? UINT32_MAX : 0;
	for (int i = 0; i < CONN_STATES; i++)
		e->sampled[i] &= 0xffffff;
	if (how & 1)
		e->known = 0xfff;
	if (!(how & 2))
		return;
	memset(e->sampled, 0, sizeof(e->sampled));
	e->samples = e->sampled[how >> 5] = 20;
	e->zero_windows = e->unread = how & 16;
}

static void put_conn(struct conns *c, const struct payload *payload, size_t size, uint8_t how,
		     unsigned int width)
{
	uint32_t words[sizeof(struct event_conn) / 4] = { 0 };
	struct event_conn e;
	struct event_block block = {
		.kind = EV_CONN, .core = EVENT_CORE_NONE, .count = 1, .record_size = sizeof(e),
		.size = sizeof(e), .data = &e,
	};

	for (size_t i = 0; i + 3 <= size; i += 3)
		words[payload->bytes[i] % ARRAY_LEN(words)] =
			(uint32_t)payload->bytes[i + 1] << payload->bytes[i + 2] % 25;
	memcpy(&e, words, sizeof(e));
	if (how & 0x80)
		block.record_size = offsetof(struct event_conn, unknown_ns); /* an old file's */
	else
		fit(&e, how);
	if (e.from <= e.to)
		feed(c, &block, width);
}

/* ---- calls ---- */

static void put_call(struct conns *c, const struct payload *payload, unsigned int width)
{
	static const struct provenance nobody = { .version = "1", .command = "conns" };
	struct strbuf out = STRBUF_INIT(OUTPUT_MAX);
	struct event_call call;
	const struct event_block block = {
		.kind = EV_CALL, .core = EVENT_CORE_NONE, .count = 1, .record_size = sizeof(call),
		.size = sizeof(call), .data = &call,
	};
	struct report r;

	memcpy(&call, payload, sizeof(call));
	call.cookie &= 7;
	call.flow &= 7;
	if (event_check(EV_CALL, 1, &call, sizeof(call)))
		return;
	feed(c, &block, width);
	if (reports++ >= REPORTS_MAX)
		return;
	report_init(&r, &nobody);
	if (conns_report_call(c, &call, width & 1, &r))
		json_report(&r, JSON_LINE, &out);
	BUG_ON(report_error(&r) || out.error);
	BUG_ON(out.len && memchr(out.buf, '\n', out.len) != out.buf + out.len - 1);
	report_release(&r);
	strbuf_release(&out);
}

/* ---- records ---- */

static const size_t sizes[EV_RECORD_MAX] = {
	[EV_COUNT] = sizeof(struct event_count), [EV_FLOW] = sizeof(struct event_flow),
	[EV_INTERVAL] = sizeof(struct event_interval), [EV_LOSS] = sizeof(struct event_loss),
	[EV_CLOCK] = sizeof(struct event_clock),
};

/* "key\0value\0" behind the head; the name's or the value's text ends where the bytes do. */
static size_t shape(uint16_t kind, struct payload *p)
{
	static const char *const keys[] = {
		CONNS_FACT_BUDGET_LOW, CONNS_FACT_BUDGET_HIGH, CONNS_FACT_MISSING, "other",
	};
	const char *key = keys[p->bytes[0] & 3];
	char value[33] = { 0 };

	memcpy(value, p->bytes + 1, sizeof(value) - 1);
	if (kind == EV_FACT) {
		struct event_fact fact = { .key_size = (__u16)(strlen(key) + 1),
					   .value_size = (__u16)(strlen(value) + 1) };

		memcpy(p->bytes, &fact, sizeof(fact));
		memcpy(p->bytes + sizeof(fact), key, fact.key_size);
		memcpy(p->bytes + sizeof(fact) + fact.key_size, value, fact.value_size);
		return sizeof(fact) + fact.key_size + fact.value_size;
	}
	if (kind == EV_NAME) {
		struct event_name name = { .dict = p->bytes[0] % DICT_MAX,
					   .id = 1 + p->bytes[1] % 8 };

		memcpy(p->bytes, &name, sizeof(name));
		memcpy(p->bytes + sizeof(name), value, strlen(value) + 1);
		return sizeof(name) + strlen(value) + 1;
	}
	if (kind == EV_FLOW)
		p->bytes[0] &= 7;
	return sizes[kind];
}

static void put_record(struct conns *c, uint16_t kind, struct payload *payload, unsigned int width)
{
	const size_t size = shape(kind, payload);
	struct {
		struct event_record head;
		struct payload payload;
	} record = { .head = { .kind = kind, .version = 1, .size = (uint32_t)size },
		     .payload = *payload };
	const struct event_block block = {
		.core = EVENT_CORE_NONE, .count = 1, .size = event_record_size(size),
		.data = &record,
	};

	if (size)
		feed(c, &block, width);
	if (kind == EV_INTERVAL)
		now = ((const struct event_interval *)payload->bytes)->to_ns;
	now = (now & INT64_MAX >> 1) | 1ull << 40;
}

static void put_all(struct conns *c, const uint8_t *data, size_t size, unsigned int width)
{
	while (size >= 3) {
		struct payload payload = { .bytes = { 0 } };
		size_t len = data[1], have = len < size - 3 ? len : size - 3;

		memcpy(payload.bytes, data + 3, have);
		if (data[0] == 254)
			put_call(c, &payload, width);
		else if (data[0] & 1)
			put_conn(c, &payload, have, data[2], width);
		else
			put_record(c, data[0] / 2 % EV_RECORD_MAX, &payload, width);
		data += 3 + have;
		size -= 3 + have;
	}
}

static bool keep(const struct conn_view *view, void *ctx)
{
	(void)ctx;
	return view != NULL;
}

static void put_stream(struct conns *c, const uint8_t *data, size_t size, unsigned int width)
{
	reports = 0;
	now = 1ull << 40;
	put_all(c, data, size, width);
}

/* With the same events, later or earlier. */
static void join(struct conns *c, const uint8_t *data, size_t size, unsigned int width)
{
	const struct conns_options all = { .text_only = true };
	const struct conns_window window = {
		.shift_ns = (int64_t)data[0] * 10000000 - 1280000000, .to = INT64_MAX,
	};
	const struct peer_match_config config = { .here = { "a", 1 }, .there = { "", 2 },
					      .error_ns = (uint64_t)data[1] << 20 };
	struct conns *there = conns_new(&all);
	struct peer_recording *e;

	BUG_ON(!there);
	conns_set_window(there, &window);
	put_stream(there, data, size, width);
	BUG_ON(peer_match_new(&e, c, there, &config));
	check_report(c, CONNS_TOTAL, width);
	peer_match_free(e, c);
	conns_free(there);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t first = size ? data[0] : 0, last = size ? data[size - 1] : 0;
	const struct conns_options options = {
		.by = first & 3, .sort = last % (CONNS_SORT_REMOTE + 1), .all = first & 4,
		.problems_only = first & 8, .follows = first & 16, .follow = last & 7,
		.select = first & 32 ? keep : NULL,
	};
	const struct event_damage damage = { .reasons = last };
	struct conns *c = conns_new(&options);

	BUG_ON(!c);
	put_stream(c, data + (size > 0), size - (size > 0), first);
	if (last & 64 && size > 3)
		join(c, data + 1, size - 1, first);
	conns_set_damage(c, &damage);
	check_report(c, CONNS_TOTAL, first);
	conns_free(c);
	return 0;
}
