/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events that a source lets through (right in size and shape, anything in content) through the
 * analysis of watch and both writers. The input is a sequence of (kind, bytes given, bytes);
 * bytes that a payload needs beyond those are 0.
 */
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "event/memsource.h"
#include "output/json.h"
#include "output/text.h"
#include "report/report.h"
#include "watch/watch.h"

#define QUEUE_MAX (1 << 20)
#define OUTPUT_MAX (64UL << 20)

#define ITEMS_MAX 8 /* that follow a struct and are given */
#define SPREAD_MAX 512 /* buckets of a distribution that are made of two given ones */

struct payload {
	_Alignas(8) unsigned char bytes[sizeof(struct event_hist) +
					SPREAD_MAX * sizeof(struct event_bucket)];
};

static const size_t sizes[EV_RECORD_MAX] = {
	[EV_CLOCK] = sizeof(struct event_clock), [EV_HIST] = sizeof(struct event_hist),
	[EV_COUNT] = sizeof(struct event_count), [EV_BINDING] = sizeof(struct event_binding),
	[EV_SHARE] = sizeof(struct event_share), [EV_CULPRIT] = sizeof(struct event_culprit),
	[EV_INTERVAL] = sizeof(struct event_interval), [EV_GROUP] = sizeof(struct event_group),
	[EV_LOSS] = sizeof(struct event_loss), [EV_SLOW] = sizeof(struct event_slow),
};

/* Many buckets from the first given one on, as far apart as the second one's index says. */
static void spread(struct event_hist *hist)
{
	struct event_bucket *buckets = (struct event_bucket *)(hist + 1);

	hist->n = hist->n / ITEMS_MAX % SPREAD_MAX;
	for (uint32_t i = 2; i < hist->n; i++)
		buckets[i] = (struct event_bucket){
			.index = (int32_t)((uint32_t)buckets[0].index +
					   i * ((uint32_t)buckets[1].index % 64)),
			.count = i,
		};
}

/* A struct's `n` decides how many items follow it. */
static size_t shaped_size(uint16_t kind, struct payload *payload)
{
	struct event_hist *hist = (struct event_hist *)payload->bytes;
	struct event_group *group = (struct event_group *)payload->bytes;

	if (kind == EV_HIST && hist->n >= 1024 && hist->n % 2)
		spread(hist);
	else if (kind == EV_HIST)
		hist->n %= ITEMS_MAX;
	if (kind == EV_HIST)
		return sizeof(*hist) + hist->n * sizeof(struct event_bucket);
	if (kind == EV_GROUP)
		return sizeof(*group) + (group->n %= ITEMS_MAX) * sizeof(struct event_label);
	return sizes[kind];
}

static void put_one(struct event_sink *sink, uint16_t kind, struct payload *payload)
{
	static const char *const facts[] = {
		WATCH_FACT_UNCOVERED, WATCH_FACT_TARGET, WATCH_FACT_COST, WATCH_FACT_SLOWER,
	};
	char text[33] = { 0 };

	memcpy(text, payload->bytes + 4, sizeof(text) - 1);
	if (kind == EV_FACT)
		event_put_fact(sink, 0, facts[payload->bytes[0] & 3], text);
	else if (kind == EV_NAME)
		event_put_name(sink, 0, payload->bytes[0] % DICT_MAX, payload->bytes[1], text);
	else
		event_put(sink, kind, 0, payload->bytes, shaped_size(kind, payload));
}

static void put_all(struct event_sink *sink, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		struct payload payload = { .bytes = { 0 } };
		size_t len = data[1], have = len < size - 2 ? len : size - 2;

		memcpy(payload.bytes, data + 2, have);
		put_one(sink, data[0] % EV_RECORD_MAX, &payload);
		data += 2 + have;
		size -= 2 + have;
	}
}

static void check_text(const struct report *r, unsigned int width)
{
	const struct text_style style = { .width = width, .wrap = true, .utf8 = width & 1 };
	struct strbuf out = STRBUF_INIT(OUTPUT_MAX);

	text_report(r, &style, &out);
	BUG_ON(out.error);
	for (size_t i = 0; i < out.len; i++)
		BUG_ON((unsigned char)out.buf[i] < 0x20 && out.buf[i] != '\n');
	strbuf_release(&out);
}

static void check_json(const struct report *r)
{
	struct strbuf out = STRBUF_INIT(OUTPUT_MAX);

	json_report(r, JSON_LINE, &out);
	BUG_ON(out.error || memchr(out.buf, '\n', out.len) != out.buf + out.len - 1);
	strbuf_release(&out);
}

static void check_report(struct watch *w, enum watch_span span, unsigned int width)
{
	static const struct provenance nobody = { .version = "1", .command = "watch" };
	struct report r;

	report_init(&r, &nobody);
	BUG_ON(watch_report(w, span, &r));
	check_json(&r);
	check_text(&r, width);
	report_release(&r);
}

static void watch_all(struct watch *w, struct event_source *source, unsigned int width)
{
	struct event_block block;
	struct event event;

	while (event_source_next(source, &block) > 0) {
		for (size_t at = 0; event_block_next(&block, &at, &event);) {
			if (watch_feed(w, &event) == WATCH_CLOSED)
				check_report(w, WATCH_INTERVAL, width);
		}
	}
	check_report(w, WATCH_TOTAL, width);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_memsource *queue;
	struct watch *w = watch_new(size ? data[0] & 3 : 0);

	BUG_ON(!w || event_memsource_new(&queue, QUEUE_MAX));
	put_all(event_memsource_sink(queue), data, size);
	watch_all(w, event_memsource_source(queue), size ? data[0] : 0);
	event_memsource_free(queue);
	watch_free(w);
	return 0;
}
