/* SPDX-License-Identifier: Apache-2.0 */
/* Downsampling a recording of connections loses no total, no problem and no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "conns/downsample.h"
#include "conns/conn_accumulate.h"
#include "event/conn_times.h"

#define FLOWS 40
#define ROUNDS 400

/* An interval of a connection: 9 of 10 are without a problem. */
static struct event_conn record(struct rng *rng, uint32_t flow, uint64_t from, uint64_t to)
{
	struct event_conn e = { .cookie = flow, .flow = flow, .from = from, .to = to,
				.known = 0xfff, .pid = 1 + flow / 4 };

	e.busy_ns = rng_below(rng, to - from);
	e.bytes_sent = rng_below(rng, 1 << 20);
	e.samples = e.sampled[CONN_AT_FLIGHT] = (uint32_t)rng_below(rng, 5);
	e.sampled_ns[CONN_AT_FLIGHT] = e.samples * rng_below(rng, 1000000);
	e.rto = flow % 10 ? 0 : !rng_below(rng, 10);
	e.rtt_samples = (uint32_t)rng_below(rng, 20);
	for (uint32_t i = 0; i < e.rtt_samples; i++)
		e.rtts[30 + rng_below(rng, 1 + flow)]++;
	e.write_seq = (uint32_t)rng_u64(rng);
	conn_times(&e);
	return e;
}

struct sums {
	struct event_conn of[FLOWS + 1];
	uint64_t records, timeouts;
};

static void add(struct sums *s, const struct event_conn *e)
{
	struct event_conn *sum = &s->of[e->flow];

	assert_true(e->flow <= FLOWS);
	if (!sum->to) {
		*sum = *e;
	} else {
		assert_int_equal(sum->to, e->from); /* no gap, none twice */
		conn_accumulate_next(sum, e);
	}
	s->records++;
	/* A timeout is a second's, not a minute's. */
	if (e->rto && e->to - e->from <= NS_PER_S)
		s->timeouts += e->rto;
}

static void take_out(struct downsample *c, struct sums *s)
{
	uint64_t to = 0;

	vec_for_each(&c->out, e) {
		assert_true(e->to >= to);
		to = e->to;
		add(s, e);
	}
	vec_clear(&c->out);
}

static void totals_and_problems_stay(void **state)
{
	struct sums *all = calloc(1, sizeof(*all)), *kept = calloc(1, sizeof(*kept));
	uint64_t told[FLOWS + 1] = { 0 };
	struct downsample c;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	assert_int_equal(downsample_init(&c), 0);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		const uint64_t now = round * NS_PER_S;

		for (uint32_t flow = 1; flow <= FLOWS; flow++) {
			struct event_conn e;

			if (rng_below(&rng, 3) && round > 1)
				continue;
			/* in one or two parts */
			for (int part = (int)rng_below(&rng, 2); part >= 0; part--) {
				const uint64_t from = told[flow] ? told[flow] : now - NS_PER_S;

				e = record(&rng, flow, from, now - (uint64_t)part * 1000 - flow);
				told[flow] = e.to;
				add(all, &e);
				assert_int_equal(downsample_add(&c, &e), 0);
			}
		}
		assert_true(downsample_most(&c, 0) >= c.out.len);
		assert_int_equal(downsample_close(&c, now, round == ROUNDS), 0);
		take_out(&c, kept);
	}
	for (uint32_t flow = 1; flow <= FLOWS; flow++)
		assert_memory_equal(&all->of[flow], &kept->of[flow], sizeof(struct event_conn));
	assert_int_equal(c.n, 0);
	assert_int_equal(c.added, all->records);
	assert_int_equal(c.written, kept->records);
	assert_true(kept->records < all->records / 2);
	downsample_release(&c);
	free(all);
	free(kept);
}

static struct event_conn second(uint32_t flow, uint32_t pid, uint64_t at)
{
	return (struct event_conn){ .cookie = flow, .flow = flow, .pid = pid,
				    .from = at * NS_PER_S, .to = (at + 1) * NS_PER_S,
				    .sender_app_ns = NS_PER_S, .known = 0x7ff };
}

/* Records of a connection with a problem, and of its process, stay whole for a minute. */
static void whole_if(uint32_t rto, uint64_t lost_reply)
{
	struct downsample c;
	size_t written[100] = { 0 };

	assert_int_equal(downsample_init(&c), 0);
	for (uint64_t at = 0; at < 100; at++) {
		struct event_conn bad = second(1, 5, at), same = second(2, 5, at),
				  other = second(3, 6, at), unknown = second(4, 0, at);

		bad.rto = at == 10 ? rto : 0;
		bad.stall_ns = bad.rto * 200 * NS_PER_MS;
		bad.lost_reply = at == 10 ? lost_reply : 0;
		assert_int_equal(downsample_add(&c, &same), 0);
		assert_int_equal(downsample_add(&c, &bad), 0);
		assert_int_equal(downsample_add(&c, &other), 0);
		assert_int_equal(downsample_add(&c, &unknown), 0);
		assert_int_equal(downsample_close(&c, (at + 1) * NS_PER_S, false), 0);
		written[at] = c.out.len;
		vec_clear(&c.out);
	}
	assert_int_equal(written[9], 0);
	/* the earlier record and the interval, of two connections */
	assert_int_equal(written[10], 4);
	assert_int_equal(written[11], 2);
	assert_int_equal(written[59], 2 + 2); /* the minute is over: all */
	assert_int_equal(written[69], 2);
	assert_int_equal(written[70], 0);
	downsample_release(&c);
}

static void records_around_a_problem_stay_whole(void **state)
{
	(void)state;
	whole_if(1, 0);
	whole_if(0, 10 * NS_PER_S); /* which others decide */
}

/* A connection that ends is written at once. */
static void ended_connections_are_written(void **state)
{
	struct event_conn e = second(9, 3, 0);
	struct downsample c;

	(void)state;
	assert_int_equal(downsample_init(&c), 0);
	assert_int_equal(downsample_add(&c, &e), 0);
	assert_int_equal(downsample_close(&c, NS_PER_S, false), 0);
	assert_int_equal(c.out.len, 0);
	e = second(9, 3, 1);
	e.flags = CONN_CLOSED;
	assert_int_equal(downsample_add(&c, &e), 0);
	assert_int_equal(downsample_close(&c, 2 * NS_PER_S, false), 0);
	assert_int_equal(c.out.len, 1);
	assert_int_equal(c.out.items[0].to - c.out.items[0].from, 2 * NS_PER_S);
	assert_true(c.out.items[0].flags & CONN_CLOSED);
	assert_int_equal(c.n, 0);
	downsample_release(&c);
}

/* Records beyond the available memory are written as they are. */
static void records_beyond_memory_stay_as_they_are(void **state)
{
	struct downsample c;

	(void)state;
	assert_int_equal(downsample_init(&c), 0);
	for (uint32_t flow = 1; flow <= DOWNSAMPLE_MAX + 10; flow++) {
		const struct event_conn e = second(flow, 0, 0);

		assert_int_equal(downsample_add(&c, &e), 0);
	}
	assert_int_equal(c.out.len, 10);
	assert_int_equal(downsample_close(&c, NS_PER_S, true), 0);
	assert_int_equal(c.out.len, DOWNSAMPLE_MAX + 10);
	downsample_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_and_problems_stay),
		cmocka_unit_test(records_around_a_problem_stay_whole),
		cmocka_unit_test(ended_connections_are_written),
		cmocka_unit_test(records_beyond_memory_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
