/* SPDX-License-Identifier: Apache-2.0 */
/* Slow messages: the slowest are kept, in order, and their steps add up whatever is in an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>

#include "base/rng.h"
#include "event/memsource.h"
#include "report/human.h"
#include "watch/state.h"

#define N 3000

static int feed(struct watch *w, uint16_t kind, const void *payload, uint32_t size)
{
	struct event event = {
		.kind = kind, .core = EVENT_CORE_NONE, .size = size, .payload = payload,
	};

	return watch_feed(w, &event);
}

static int feed_slow(struct watch *w, const struct event_slow *slow)
{
	return feed(w, EV_SLOW, slow, sizeof(*slow));
}

/* By the fact that a live run puts, too. */
static struct watch *new_watch(const char *slower_than)
{
	struct event_memsource *queue;
	struct watch *w = watch_new(0);
	struct event_block block;
	struct event event;
	size_t at = 0;

	assert_non_null(w);
	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(event_put_fact(event_memsource_sink(queue), 0, WATCH_FACT_SLOWER,
					slower_than), 0);
	assert_int_equal(event_source_next(event_memsource_source(queue), &block), 1);
	assert_true(event_block_next(&block, &at, &event));
	watch_feed(w, &event);
	event_memsource_free(queue);
	return w;
}

static struct event_slow message(uint64_t total)
{
	return (struct event_slow){
		.direction = DIR_INGRESS, .protocol = PROTO_TCP, .origin = ORIGIN_LINK,
		.family = AF_INET, .at_ns[SLOW_AT(STAGE_READ)] = total,
	};
}

static int close_interval(struct watch *w)
{
	struct event_interval interval = { .to_ns = 1, .ncpus = 1 };

	return feed(w, EV_INTERVAL, &interval, sizeof(interval));
}

static const struct object *slow_of(const struct report *r)
{
	for (const struct object_field *f = r->body.first; f; f = f->next) {
		if (f->name && strcmp(f->name, "slow") == 0)
			return f->value.type == VALUE_OBJECT ? f->value.object : NULL;
	}
	fail();
	return NULL;
}

static uint64_t total_of(const struct watch_slow *slow, size_t i)
{
	return slow->slowest.items[i].at_ns[SLOW_AT(STAGE_READ)];
}

/* Totals N ... 1 in any order: N - 999 and above are kept, the slowest first. */
static void the_slowest_are_kept(void **state)
{
	struct watch *w = new_watch("1");
	uint64_t totals[N];
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (size_t i = 0; i < N; i++)
		totals[i] = i + 1;
	for (size_t i = N - 1; i; i--) {
		size_t other = rng_below(&rng, i + 1);
		uint64_t mine = totals[i];

		totals[i] = totals[other];
		totals[other] = mine;
	}
	for (size_t i = 0; i < N; i++) {
		struct event_slow m = message(totals[i]);

		assert_int_equal(feed_slow(w, &m), WATCH_MORE);
	}
	for (int span = 0; span < WATCH_SPANS; span++) {
		assert_int_equal(w->slow[span].count, N);
		assert_int_equal(w->slow[span].slowest.len, WATCH_SLOW_MAX);
		for (size_t i = 0; i < WATCH_SLOW_MAX; i++)
			assert_int_equal(total_of(&w->slow[span], i), N - i);
	}
	watch_free(w);
}

static void intervals_begin_empty(void **state)
{
	struct event_slow first = message(5), second = message(3);
	struct watch *w = new_watch("1");

	(void)state;
	feed_slow(w, &first);
	assert_int_equal(close_interval(w), WATCH_CLOSED);
	feed_slow(w, &second);
	assert_int_equal(w->slow[WATCH_INTERVAL].count, 1);
	assert_int_equal(total_of(&w->slow[WATCH_INTERVAL], 0), 3);
	assert_int_equal(w->slow[WATCH_TOTAL].count, 2);
	assert_int_equal(total_of(&w->slow[WATCH_TOTAL], 0), 5);
	watch_free(w);
}

/* Stages in any order, missing, beyond the whole: steps are never negative, and are all of it. */
static void steps_add_up(void **state)
{
	struct watch *w = new_watch("1");
	const struct table *t;
	struct report r;
	struct rng rng;
	size_t rows = 0;

	(void)state;
	rng_init(&rng, 8);
	for (int i = 0; i < WATCH_SLOW_MAX; i++) {
		struct event_slow m = message(1 + rng_below(&rng, 1000));

		for (int stage = 0; stage < SLOW_AT(STAGE_READ); stage++)
			m.at_ns[stage] = rng_below(&rng, 3) ? rng_below(&rng, 1500) : 0;
		feed_slow(w, &m);
	}
	report_init(&r, &(struct provenance){ .version = "1", .command = "watch" });
	assert_int_equal(watch_report(w, WATCH_TOTAL, &r), 0);
	t = slow_of(&r)->last->value.table;
	for (const struct table_row *row = t->first; row; row = row->next, rows++) {
		uint64_t sum = 0;

		for (const struct object_field *f = row->cells[6].object->first; f; f = f->next)
			sum += f->value.u64;
		assert_int_equal(sum, row->cells[5].u64);
	}
	assert_int_equal(rows, WATCH_SLOW_MAX);
	report_release(&r);
	watch_free(w);
}

static void nonsense_is_refused(void **state)
{
	struct event_slow none = message(0), sent = message(1), protocol = message(1),
			  origin = message(1), negative = message(-1ULL);
	struct watch *w = new_watch("x");
	struct report r;

	(void)state;
	sent.direction = DIR_EGRESS;
	protocol.protocol = PROTO_MAX;
	origin.origin = ORIGIN_MAX;
	assert_int_equal(feed_slow(w, &none), -EBADMSG);
	assert_int_equal(feed_slow(w, &sent), -EBADMSG);
	assert_int_equal(feed_slow(w, &protocol), -EBADMSG);
	assert_int_equal(feed_slow(w, &origin), -EBADMSG);
	assert_int_equal(feed_slow(w, &negative), -EBADMSG);
	assert_int_equal(w->slow[WATCH_TOTAL].count, 0);
	report_init(&r, &(struct provenance){ .version = "1", .command = "watch" });
	assert_int_equal(watch_report(w, WATCH_TOTAL, &r), 0);
	assert_null(slow_of(&r));
	assert_string_equal(r.reasons->first->cells[1].string,
			    "6 events were ignored because of impossible values");
	report_release(&r);
	watch_free(w);
}

static void addresses_of_slow_messages(void **state)
{
	const uint8_t v4[] = { 192, 0, 2, 1 }, v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
	char buf[HUMAN_ADDRESS_MAX];

	(void)state;
	assert_string_equal(human_address(buf, AF_INET, v4, 80), "192.0.2.1:80");
	assert_string_equal(human_address(buf, AF_INET6, v6, 65535), "[2001:db8::1]:65535");
	assert_null(human_address(buf, AF_UNIX, v4, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowest_are_kept),
		cmocka_unit_test(intervals_begin_empty),
		cmocka_unit_test(steps_add_up),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(addresses_of_slow_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
