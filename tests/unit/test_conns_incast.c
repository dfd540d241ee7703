/* SPDX-License-Identifier: Apache-2.0 */
/* Incast among losses that chance brings together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "conns/incast.h"
#include "conns/state.h"
#include "conns_rig.h"

#define BEHIND 10000u /* connections to one address */

struct traffic {
	struct conns_rig rig;
	struct rng rng;
	double rate;               /* losing bursts per second that chance brings */
	double next;               /* ns until the next one, from `now` */
	uint64_t writes[4096];     /* bursts of the interval, ns from `now` */
	size_t n;
	uint64_t reports;          /* intervals with an incast */
	uint64_t triples;          /* intervals with three bursts within INCAST_WRITE_NS */
};

/* `ports`: how many remote ports the connections have. */
static void traffic_init(struct traffic *t, uint32_t connections, uint32_t ports, double rate,
			 uint64_t seed)
{
	*t = (struct traffic){ .rate = rate };
	rng_init(&t->rng, seed);
	rig_init(&t->rig, NULL);
	for (uint32_t i = 1; i <= connections; i++)
		rig_flow(&t->rig, i, "10.0.0.1", (uint16_t)i, "10.0.1.1",
			 (uint16_t)(5000 + i % ports), 1);
}

static void put_loser(struct traffic *t, uint32_t conn, uint64_t write_ns)
{
	struct event_conn e = rig_conn(&t->rig, conn, conn);

	e.rto = 1;
	e.write_first = t->rig.now + write_ns;
	e.loss_first = e.write_first + 200 * NS_PER_MS; /* all by the same timer */
	rig_put(&t->rig, &e);
	if (t->n < 4096)
		t->writes[t->n++] = write_ns;
}

/* Bursts of an interval at random times, each of a random connection. */
static void put_chance(struct traffic *t, uint32_t connections)
{
	for (; t->rate > 0 && t->next < NS_PER_S;
	     t->next += rng_exponential(&t->rng, NS_PER_S / t->rate))
		put_loser(t, 1 + (uint32_t)rng_below(&t->rng, connections), (uint64_t)t->next);
	t->next -= NS_PER_S;
}

static int compare_u64(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Ends the interval; returns the members of its largest incast, 0: none. */
static uint32_t end_interval(struct traffic *t)
{
	uint32_t most = 0;
	bool three = false;

	qsort(t->writes, t->n, sizeof(*t->writes), compare_u64);
	for (size_t i = 2; i < t->n; i++)
		three |= t->writes[i] - t->writes[i - 2] <= INCAST_WRITE_NS;
	t->triples += three;
	t->n = 0;
	rig_interval(&t->rig);
	vec_for_each(&t->rig.c->crosses[CONNS_INTERVAL], cross)
		most = cross->members > most ? cross->members : most;
	t->reports += most > 0;
	return most;
}

/* An hour of 10,000 connections to one address, of which 0.1 % of the bursts lose packets. */
static void chance_is_no_incast(void **state)
{
	static const double rates[] = { 1, 5, 10, 20, 100 }; /* losing bursts per second */
	static struct traffic t;
	uint64_t triples = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		traffic_init(&t, BEHIND, 1, rates[i], 1 + i);
		for (uint32_t second = 0; second < 3600; second++) {
			put_chance(&t, BEHIND);
			end_interval(&t);
		}
		assert_in_range(t.reports, 0, 1);
		if (rates[i] == 10)
			triples = t.triples;
		rig_release(&t.rig);
	}
	assert_in_range(triples, 100, 200); /* a rule of three alone reports these */
}

/* 35 workers answer at once, four times, beside 10,000 connections with losses. */
static void workers_are_found_among_chance(void **state)
{
	static struct traffic t;

	(void)state;
	traffic_init(&t, BEHIND, 1, 10, 7);
	for (uint32_t second = 0; second < 120; second++) {
		const bool asked = second % 30 == 20;
		uint32_t members;

		put_chance(&t, BEHIND);
		for (uint32_t i = 0; asked && i < 35; i++)
			put_loser(&t, 1 + 100 * i, 400 * NS_PER_MS + i * NS_PER_MS / 10);
		members = end_interval(&t);
		if (asked)
			assert_in_range(members, 35, 40);
		else
			assert_int_equal(members, 0);
	}
	assert_int_equal(t.reports, 4);
	rig_release(&t.rig);
}

/* Three of a few workers lose packets in each round: one such round may be chance, not all. */
static void many_small_groups_are_no_chance(void **state)
{
	static struct traffic t;

	(void)state;
	traffic_init(&t, 60, 1, 0, 9);
	for (uint32_t second = 0; second < 60; second++) {
		for (uint32_t i = 0; i < 15; i++)
			put_loser(&t, 1 + (second * 15 + i) % 60,
				  200 * NS_PER_MS * (i / 3) + NS_PER_MS * (i % 3));
		end_interval(&t);
	}
	assert_in_range(t.reports, 55, 60);
	rig_release(&t.rig);
}

/*
 * Losses to 1,000 ports of an address, 20 a second; three connections to one of the ports lose
 * packets together. Returns whether that is an incast.
 */
static bool is_found_by_port(uint32_t connections, uint32_t ports)
{
	static struct traffic t;
	bool found;

	traffic_init(&t, connections, ports, 20, 11);
	for (uint32_t second = 0; second < 60; second++) {
		for (uint32_t i = 1; i <= connections; i++) {
			struct event_conn e = rig_conn(&t.rig, i, i);

			rig_put(&t.rig, &e);
		}
		put_chance(&t, connections);
		if (second < 59)
			end_interval(&t);
	}
	for (uint32_t i = 0; i < 3; i++)
		put_loser(&t, 1 + i * ports, 500 * NS_PER_MS + i * NS_PER_MS);
	t.reports = 0;
	end_interval(&t);
	found = t.reports;
	rig_release(&t.rig);
	return found;
}

static void shared_addresses_are_judged_by_port(void **state)
{
	(void)state;
	assert_true(is_found_by_port(3000, 1000));
	assert_false(is_found_by_port(3000, 1)); /* all losses are to the same port */
	assert_false(is_found_by_port(90, 30));  /* few connections: one host with many ports */
}

/* The same three are told where losses are rare, and not where chance brings three. */
static void own_rate_decides(void **state)
{
	static struct traffic t;

	(void)state;
	for (uint32_t busy = 0; busy <= 1; busy++) {
		traffic_init(&t, BEHIND, 1, busy ? 20 : 0.5, 13);
		for (uint32_t second = 0; second < 60; second++) {
			put_chance(&t, BEHIND);
			if (second == 59)
				for (uint32_t i = 0; i < 3; i++)
					put_loser(&t, 1 + i, 500 * NS_PER_MS + i * NS_PER_MS);
			end_interval(&t);
		}
		assert_int_equal(t.reports, !busy);
		rig_release(&t.rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chance_is_no_incast),
		cmocka_unit_test(workers_are_found_among_chance),
		cmocka_unit_test(many_small_groups_are_no_chance),
		cmocka_unit_test(shared_addresses_are_judged_by_port),
		cmocka_unit_test(own_rate_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
