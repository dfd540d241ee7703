/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions of a foreign recording that are made to take memory: watch keeps to its budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "cmd/live_options.h"
#include "event/memsource.h"
#include "hist_at.h"
#include "output/json.h"
#include "report/report.h"
#include "watch/state.h"

#define BUDGET (1u << 20)

struct delta {
	struct event_hist head;
	struct event_bucket buckets[2];
};

static int feed(struct watch *w, uint32_t kind, const void *payload, uint32_t size)
{
	const struct event event = {
		.kind = kind, .core = EVENT_CORE_NONE, .size = size, .payload = payload,
	};

	return watch_feed(w, &event);
}

static struct delta a_delta(uint32_t group, int schema, int32_t from, int32_t to)
{
	return (struct delta){
		.head = { .stage = STAGE_IP, .protocol = PROTO_TCP, .origin = ORIGIN_LINK,
			  .schema = (int8_t)schema, .group = group, .n = 2, .sum_ns = 3,
			  .min_ns = 1, .max_ns = 2 },
		.buckets = { { .index = from, .count = 1 }, { .index = to, .count = 2 } },
	};
}

/* The memory of all buckets, counted anew. */
static size_t memory_of(const struct watch *w)
{
	size_t bytes = 0;

	vec_for_each(&w->rows, row)
		for (int i = 0; i < WATCH_SPANS * DIST_MAX; i++)
			bytes += hist_bytes(&(*row)->hists[i / DIST_MAX][i % DIST_MAX]);
	return bytes;
}

static void close_interval(struct watch *w)
{
	const struct event_interval interval = { .from_ns = 1, .to_ns = 2, .ncpus = 1 };

	assert_int_equal(feed(w, EV_INTERVAL, &interval, sizeof(interval)), WATCH_CLOSED);
}

static char *json_of(struct watch *w)
{
	const struct provenance nobody = { .version = "1", .command = "watch", .schema = 1 };
	struct strbuf text = STRBUF_INIT(1 << 24);
	struct report report;

	report_init(&report, &nobody);
	assert_int_equal(watch_report(w, WATCH_TOTAL, &report), 0);
	json_report(&report, JSON_DOCUMENT, &text);
	report_release(&report);
	return strbuf_detach(&text);
}

static void test_decompression_bomb(void **state)
{
	struct watch *w = watch_new(0);
	uint64_t taken = 0;
	char *text;

	(void)state;
	assert_non_null(w);
	w->hist_bytes_max = BUDGET;
	for (uint32_t group = 1; group <= 1000; group++) {
		const struct delta delta = a_delta(group, 8, 0, 10240);

		assert_int_equal(feed(w, EV_HIST, &delta, sizeof(delta)), WATCH_MORE);
		assert_in_range(memory_of(w), 1, BUDGET);
		assert_int_equal(memory_of(w), w->hist_bytes);
	}
	vec_for_each(&w->rows, row)
		taken += (*row)->hists[WATCH_TOTAL][DIST_LATENCY].count;
	assert_int_equal(taken + 3 * w->periods[WATCH_TOTAL].no_room, 3000);
	assert_true(taken > 0);
	close_interval(w);
	text = json_of(w);
	assert_non_null(strstr(text, "not added to the distributions"));
	free(text);
	watch_free(w);
}

/* Memory that a coarser schema frees is free; the remaining memory counts. */
static void test_coarser_schema_frees_memory(void **state)
{
	struct watch *w = watch_new(0);

	(void)state;
	assert_non_null(w);
	w->hist_bytes_max = BUDGET;
	for (int schema = 8; schema >= -4; schema--) {
		for (uint32_t group = 1; group <= 40; group++) {
			const int32_t last = schema >= 0 ? 40 << schema : 3;
			const struct delta delta = a_delta(group, schema, 0, last);

			assert_int_equal(feed(w, EV_HIST, &delta, sizeof(delta)), WATCH_MORE);
			assert_in_range(memory_of(w), 1, BUDGET);
			assert_int_equal(memory_of(w), w->hist_bytes);
		}
	}
	watch_free(w);
}

/* Control: what hostlat itself records fits, and sums are as if every delta were a histogram. */
static void test_control(void **state)
{
	struct watch *w = watch_new(0);
	struct hist sum, one;
	char *text;

	(void)state;
	assert_non_null(w);
	hist_init(&sum, 3);
	for (int i = 0; i < 200; i++) {
		const int32_t from = 80 + i % 50, to = from + 30 + i % 7;
		const struct delta delta = a_delta(1, i % 3 ? 3 : 4, from, to);

		hist_init(&one, delta.head.schema);
		assert_int_equal(hist_add_at(&one, from, 1), 0);
		assert_int_equal(hist_add_at(&one, to, 2), 0);
		hist_add_stats(&one, 3, 1, 2);
		assert_int_equal(hist_merge(&sum, &one), 0);
		hist_release(&one);
		assert_int_equal(feed(w, EV_HIST, &delta, sizeof(delta)), WATCH_MORE);
	}
	assert_int_equal(w->rows.len, 1);
	for (int32_t i = 0; i < 400; i++)
		assert_int_equal(hist_at(&w->rows.items[0]->hists[WATCH_TOTAL][0], i),
				 hist_at(&sum, i));
	assert_int_equal(w->rows.items[0]->hists[WATCH_TOTAL][0].schema, 3);
	assert_int_equal(w->rows.items[0]->hists[WATCH_TOTAL][0].count, sum.count);
	assert_int_equal(w->periods[WATCH_TOTAL].no_room, 0);
	close_interval(w);
	text = json_of(w);
	assert_null(strstr(text, "left out"));
	free(text);
	hist_release(&sum);
	watch_free(w);
}

/* A row of one CPU: two distributions. */
#define ROW_BYTES (2 * (5 + BUCKET_COUNT_DEFAULT) * sizeof(uint64_t))

/* Every row that --memory has room for, with all its buckets, in one snapshot. */
static bool snapshot_fits(uint64_t memory, uint64_t limit)
{
	static struct event_bucket buckets[BUCKET_COUNT_DEFAULT];
	const struct event_hist head = { .n = BUCKET_COUNT_DEFAULT };
	struct event_memsource *queue;
	int err = 0;

	assert_int_equal(event_memsource_new(&queue, limit), 0);
	for (uint64_t used = 0; !err && used + ROW_BYTES <= memory; used += ROW_BYTES) {
		for (int i = 0; !err && i < 2; i++) /* latency and step */
			err = event_put_array(event_memsource_sink(queue), EV_HIST, 1, &head,
					      sizeof(head), buckets, sizeof(buckets));
	}
	event_source_free(event_memsource_source(queue));
	return !err;
}

static void test_big_snapshots(void **state)
{
	(void)state;
	for (uint64_t memory = 16 << 20; memory <= 128 << 20; memory *= 2)
		assert_true(snapshot_fits(memory, live_options_queue_bytes(memory)));
	assert_false(snapshot_fits(128 << 20, 16 << 20)); /* control */
}

/* A dictionary that was full is a limit of its own, not a loss of events. */
static void test_names_not_kept(void **state)
{
	struct event_loss loss = { .why = LOSS_DICT_FULL, .kind = EV_NAME, .records = 7 };
	struct watch *w = watch_new(0);
	char *text;

	(void)state;
	assert_non_null(w);
	assert_int_equal(feed(w, EV_LOSS, &loss, sizeof(loss)), WATCH_MORE);
	close_interval(w);
	text = json_of(w);
	assert_non_null(strstr(text, "7 names were dropped: "));
	assert_null(strstr(text, "events-lost"));
	free(text);
	loss.why = LOSS_PRODUCER; /* control */
	assert_int_equal(feed(w, EV_LOSS, &loss, sizeof(loss)), WATCH_MORE);
	text = json_of(w);
	assert_non_null(strstr(text, "events-lost"));
	free(text);
	watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decompression_bomb),
		cmocka_unit_test(test_coarser_schema_frees_memory),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_names_not_kept),
		cmocka_unit_test(test_big_snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
