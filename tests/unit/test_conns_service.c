/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of a connection by the measure of its service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "conns/rules.h"
#include "conns/select.h"
#include "conns/state.h"
#include "conns_rig.h"

#define HEALTHY 10000u

static struct event_conn connection(struct conns_rig *rig, uint32_t i, const char *remote)
{
	rig_flow(rig, i, "10.0.0.1", (uint16_t)i, remote, 80, 1);
	return rig_conn(rig, i, i);
}

/* Samples that find the state with this probability; the record's times are the samples' share. */
static void sample(struct event_conn *e, struct rng *rng, double share, uint32_t samples,
		   enum conn_sample_state state)
{
	const uint64_t ns = NS_PER_S;

	e->samples = samples;
	for (uint32_t i = 0; i < samples; i++)
		e->sampled[state] += rng_uniform(rng) < share;
	if (state == CONN_AT_SEND_BUFFER)
		e->send_buffer_ns = ns * e->sampled[state] / samples;
	else if (state == CONN_AT_DELAYED_ACK)
		e->delayed_ack_ns = ns * e->sampled[state] / samples;
	else
		e->receiver_window_ns = ns * e->sampled[state] / samples;
	e->known &= ~(uint32_t)(CONN_KNOWS_CHRONO | CONN_KNOWS_PEER_DELACKS);
}

/* Connections with a harmful problem of the class: in the interval, and if each is judged alone. */
static void count(struct conns_rig *rig, enum conn_class class, uint32_t *together, uint32_t *alone)
{
	struct conn_problem problems[RULES_MAX];

	*together = *alone = 0;
	vec_for_each(&rig->c->interval_records, record) {
		struct conn_view view = { .c = &record->c };

		*together += record->judged.harmful >> class & 1;
		rules_judge(&view, problems);
		*alone += view.judged.harmful >> class & 1;
	}
}

static bool is_harmful(struct conns_rig *rig, uint64_t cookie, enum conn_class class)
{
	vec_for_each(&rig->c->interval_records, record)
		if (record->c.cookie == cookie)
			return record->judged.harmful >> class & 1;
	fail();
	return false;
}

/* 2 % of the time is below the limit of 5 %: of 10,000 connections none has a problem. */
static void healthy_connections_are_no_crowd(void **state)
{
	static const struct {
		enum conn_sample_state state;
		enum conn_class class;
	} kinds[] = {
		{ CONN_AT_SEND_BUFFER, CONN_SEND_BUFFER },
		{ CONN_AT_WINDOW, CONN_RECEIVER_WINDOW },
		{ CONN_AT_DELAYED_ACK, CONN_DELAYED_ACK },
	};
	uint32_t together, alone;
	struct conns_rig rig;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		rig_init(&rig, NULL);
		for (uint32_t i = 1; i <= HEALTHY; i++) {
			struct event_conn e = connection(&rig, i, "10.0.1.1");

			sample(&e, &rng, 0.02, 10 + i % 5, kinds[kind].state);
			rig_put_fitted(&rig, e);
		}
		rig_interval(&rig);
		count(&rig, kinds[kind].class, &together, &alone);
		assert_in_range(together, 0, 1);
		assert_in_range(alone, 60, HEALTHY); /* the rule without the service */
		rig_release(&rig);
	}
}

/* The same for buffers that applications do not read. */
static void healthy_readers_are_no_crowd(void **state)
{
	uint32_t together, alone;
	struct conns_rig rig;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= HEALTHY; i++) {
		struct event_conn e = connection(&rig, i, "10.0.1.1");

		e.samples = 10;
		for (uint32_t k = 0; k < e.samples; k++)
			e.unread += rng_uniform(&rng) < 0.02;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	count(&rig, CONN_RECEIVER_NOT_READING, &together, &alone);
	assert_in_range(together, 0, 1);
	assert_in_range(alone, 60, HEALTHY);
	rig_release(&rig);
}

/* A connection unlike the others is found, with few samples or many; so is a service of such. */
static void limits_are_found(void **state)
{
	uint32_t together, alone;
	struct conns_rig rig;
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 2000; i++) {
		struct event_conn e = connection(&rig, i, "10.0.1.1");
		const double share = i <= 2 ? 0.9 : i <= 4 ? 0.3 : 0.02;

		sample(&e, &rng, share, i == 1 ? 10 : i <= 4 ? 100 : 20, CONN_AT_SEND_BUFFER);
		rig_put_fitted(&rig, e);
	}
	for (uint32_t i = 2001; i <= 2100; i++) {
		struct event_conn e = connection(&rig, i, "10.0.1.2");

		sample(&e, &rng, 0.3, 100, CONN_AT_SEND_BUFFER);
		rig_put_fitted(&rig, e);
	}
	rig_interval(&rig);
	for (uint32_t i = 1; i <= 4; i++)
		assert_true(is_harmful(&rig, i, CONN_SEND_BUFFER));
	for (uint32_t i = 2001; i <= 2100; i++)
		assert_true(is_harmful(&rig, i, CONN_SEND_BUFFER));
	count(&rig, CONN_SEND_BUFFER, &together, &alone);
	assert_in_range(together, 104, 105);
	rig_release(&rig);
}

static void put_losses(struct conns_rig *rig, struct rng *rng, uint32_t i, const char *remote,
		       double losses)
{
	struct event_conn e = connection(rig, i, remote);

	e.mss = 1448;
	e.bytes_sent = 1448 * 1000;
	for (uint32_t k = 0; k < 1000; k++)
		e.fast_retransmit += rng_uniform(rng) < losses;
	e.recoveries = e.fast_retransmit;
	e.bytes_retransmitted = 1448ULL * e.fast_retransmit;
	rig_put(rig, &e);
}

/* Losses without a stall are harmful where they are more than the service's others. */
static void losses_are_judged_by_the_service(void **state)
{
	uint32_t together, alone;
	struct conns_rig rig;
	struct rng rng;
	struct report r;

	(void)state;
	rng_init(&rng, 6);
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 1000; i++)
		put_losses(&rig, &rng, i, "10.0.1.1", i == 7 ? 0.06 : 0.01);
	put_losses(&rig, &rng, 1001, "10.0.1.2", 0.04); /* the only one of its service */
	for (uint32_t i = 1002; i <= 1101; i++)
		put_losses(&rig, &rng, i, "10.0.1.3", 0.04);
	rig_interval(&rig);
	count(&rig, CONN_FAST_RETRANSMIT, &together, &alone);
	assert_int_equal(together, 1);
	assert_int_equal(alone, 0);
	assert_true(is_harmful(&rig, 7, CONN_FAST_RETRANSMIT));
	rig_report(&rig, CONNS_TOTAL, &r); /* totals are judged alike; what is harmless is listed */
	assert_true(rig_cell(rig_table(&r, "problems"),
			     rig_problem(&r, 7, CONN_FAST_RETRANSMIT), "harmful")->boolean);
	assert_false(rig_cell(rig_table(&r, "problems"),
			      rig_problem(&r, 8, CONN_FAST_RETRANSMIT), "harmful")->boolean);
	report_release(&r);
	rig_release(&rig);
}

/* Segments that are lost together are one event: two bursts of ten are no excess. */
static void bursts_of_losses_are_one_event(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 100; i++) {
		struct event_conn e = connection(&rig, i, "10.0.1.1");

		e.mss = 1448;
		e.bytes_sent = 1448 * 1000;
		e.recoveries = i == 1 ? 2 : i % 10 == 0;
		e.fast_retransmit = 10 * e.recoveries;
		e.bytes_retransmitted = 1448ULL * e.fast_retransmit;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	assert_false(is_harmful(&rig, 1, CONN_FAST_RETRANSMIT));
	rig_release(&rig);
}

/* 9 of 10 samples are less certain than 80 of 100. */
static void order_is_by_certain_time(void **state)
{
	struct conns_rig rig;
	const struct table *t;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		struct event_conn e = connection(&rig, i, i == 1 ? "10.0.1.1" : "10.0.1.2");

		e.samples = i == 1 ? 10 : 100;
		e.sampled[CONN_AT_SEND_BUFFER] = i == 1 ? 9 : 80;
		e.send_buffer_ns = (i == 1 ? 900 : 800) * NS_PER_MS;
		rig_put_fitted(&rig, e);
	}
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	t = rig_table(&r, "connections");
	assert_string_equal(rig_cell(t, t->first, "cookie")->string, "2");
	t = rig_table(&r, "problems");
	assert_int_equal(rig_cell(t, rig_problem(&r, 1, CONN_SEND_BUFFER), "lost_ns")->u64,
			 900 * NS_PER_MS);
	assert_in_range(rig_cell(t, rig_problem(&r, 1, CONN_SEND_BUFFER), "lost_lo_ns")->u64,
			590 * NS_PER_MS, 600 * NS_PER_MS); /* Wilson: 0.5958 */
	report_release(&r);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_connections_are_no_crowd),
		cmocka_unit_test(healthy_readers_are_no_crowd),
		cmocka_unit_test(limits_are_found),
		cmocka_unit_test(losses_are_judged_by_the_service),
		cmocka_unit_test(bursts_of_losses_are_one_event),
		cmocka_unit_test(order_is_by_certain_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
