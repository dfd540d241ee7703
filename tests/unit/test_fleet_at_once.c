/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts of rare events: place, time and members are reported, and each trap stays quiet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "fleet/analyses.h"
#include "fleet/scan.h"
#include "fleet_toy.h"

#define NONE FLEET_NONE
#define CLASS FLEET_TIMEOUT
#define RACKS 8u
#define HOSTS 4u /* in each rack */
#define CONNS 8u /* on each host */
#define BURST 120u

static const struct fleet_options options = { .alpha = 0.05, .seed = 1 };

/* Whether a connection, by its number on the host, has an event in the burst. */
typedef bool is_in_burst(uint32_t rack, uint32_t host, uint32_t i);

static struct toy_conn conn_at(uint32_t rack, uint32_t host, uint32_t i)
{
	return (struct toy_conn){ rack * HOSTS + host, rack, i % 3, NONE, NONE };
}

/* Adds a connection with some events at random times and, perhaps, one at `at`. */
static void add_conn(struct rng *rng, const struct toy_conn *where, uint32_t at, uint32_t events,
		     enum fleet_class class)
{
	const uint32_t conn = toy_connect(&toy, where);
	bool event[TOY_INTERVALS] = { false };

	for (uint32_t i = 0; i < events; i++)
		event[1 + rng_below(rng, TOY_INTERVALS - 1)] = true;
	if (at != NONE)
		event[at] = true;
	for (uint32_t k = 0; k < TOY_INTERVALS; k++)
		toy_read(&toy, conn, k, k + 1, class, event[k]);
}

static void run(is_in_burst *in, enum fleet_class class)
{
	struct rng rng;

	rng_init(&rng, 7);
	for (uint32_t rack = 0; rack < RACKS; rack++)
		for (uint32_t host = 0; host < HOSTS; host++)
			for (uint32_t i = 0; i < CONNS; i++) {
				const struct toy_conn where = conn_at(rack, host, i);

				add_conn(&rng, &where, in(rack, host, i) ? BURST + host % 2 : NONE,
					 !rng_below(&rng, 3), class);
			}
	assert_int_equal(fleet_at_once(toy.f, &options, &toy.result), 0);
}

static bool third_of_rack_3(uint32_t rack, uint32_t host, uint32_t i)
{
	(void)host;
	return rack == 3 && i < 3; /* one of each application */
}

static bool most_of_a_host(uint32_t rack, uint32_t host, uint32_t i)
{
	return rack == 3 && host == 2 && i != 4;
}

static bool one_connection(uint32_t rack, uint32_t host, uint32_t i)
{
	return rack == 3 && host == 2 && i == 4;
}

static bool all_racks(uint32_t rack, uint32_t host, uint32_t i)
{
	(void)rack;
	(void)host;
	return i < 3;
}

static bool nobody(uint32_t rack, uint32_t host, uint32_t i)
{
	(void)rack;
	(void)host;
	(void)i;
	return false;
}

static void burst_of_a_rack_is_told_with_its_time(void **state)
{
	const struct fleet_finding *finding;

	(void)state;
	run(third_of_rack_3, CLASS);
	finding = toy_only(&toy, FLEET_AT_ONCE, FLEET_RACK, 3);
	assert_non_null(finding);
	assert_int_equal(finding->class, CLASS);
	assert_true(finding->from_ns <= TOY_START + (BURST + 1) * TOY_STEP);
	assert_true(finding->to_ns >= TOY_START + (BURST + 1) * TOY_STEP);
	assert_true(finding->to_ns - finding->from_ns <= 3 * TOY_STEP);
	assert_int_equal(finding->hosts, 4);
	assert_int_equal(finding->connections, 32);
	assert_int_equal(finding->defined, finding->affected);
	assert_true(finding->n >= 12 && finding->n <= 14);
	assert_true(finding->p < 0.05 && finding->z > 5);
	/* an interval of 2 s each; other events of a member count apart */
	assert_true(fabs((double)finding->excess_ns / 1e9 - 2 * (double)finding->n) < 0.1);
}

static void burst_of_a_host_is_not_its_rack(void **state)
{
	(void)state;
	run(most_of_a_host, CLASS);
	assert_non_null(toy_only(&toy, FLEET_AT_ONCE, FLEET_HOST, 14));
}

static void single_connection_is_nothing(void **state)
{
	(void)state;
	run(one_connection, CLASS);
	assert_int_equal(toy.result.findings.len, 0);
}

/* Twenty events of one connection, in a row: connections are counted. */
static void events_of_one_connection_are_nothing(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t host = 0; host < RACKS * HOSTS; host++)
		for (uint32_t i = 0; i < CONNS; i++) {
			const struct toy_conn where = conn_at(host / HOSTS, host % HOSTS, i);
			uint32_t conn;

			if (host != 14 || i) {
				add_conn(&rng, &where, NONE, 1, CLASS);
				continue;
			}
			conn = toy_connect(&toy, &where);
			for (uint32_t k = 0; k < TOY_INTERVALS; k++)
				toy_read(&toy, conn, k, k + 1, CLASS,
					 k > BURST && k < BURST + 20 && k % 2);
		}
	assert_int_equal(fleet_at_once(toy.f, &options, &toy.result), 0);
	assert_int_equal(toy.result.findings.len, 0);
}

static void burst_of_all_is_no_racks(void **state)
{
	(void)state;
	run(all_racks, CLASS);
	assert_int_equal(toy.result.findings.len, 0);
}

static void chance_is_nothing(void **state)
{
	(void)state;
	run(nobody, CLASS);
	assert_int_equal(toy.result.findings.len, 0);
	assert_true(toy.result.tested > 0);
}

/* Shares of time are no events. */
static void other_classes_are_not_scanned(void **state)
{
	(void)state;
	run(third_of_rack_3, FLEET_DELAYED_ACK);
	assert_int_equal(toy.result.findings.len, 0);
	assert_int_equal(toy.result.tested, 0);
}

/* Connections that begin with a problem: it is not known when it began. */
static void lives_that_begin_are_no_burst(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (uint32_t host = 0; host < RACKS * HOSTS; host++)
		for (uint32_t i = 0; i < CONNS; i++) {
			const struct toy_conn where = conn_at(host / HOSTS, host % HOSTS, i);
			uint32_t conn;

			add_conn(&rng, &where, NONE, 1, CLASS);
			if (host / HOSTS != 3)
				continue;
			conn = toy_connect(&toy, &where);
			toy_read(&toy, conn, BURST, BURST + 2, CLASS, 1);
			toy_read(&toy, conn, BURST + 2, TOY_INTERVALS, CLASS, 0);
		}
	assert_int_equal(fleet_at_once(toy.f, &options, &toy.result), 0);
	assert_int_equal(toy.result.findings.len, 0);
}

/* ---- counting ---- */

/* Counts connections (or children) with an event in a stretch, one by one. */
static uint32_t count(const struct scan_events *events, bool children, const uint32_t *shifts,
		      uint32_t intervals, uint32_t from, uint32_t width)
{
	uint32_t n = 0, child = 0;
	bool counted = false;

	for (size_t i = 0; i < events->len; i++) {
		const struct scan_event *e = &events->items[i];
		const bool new_child = i && e->child != e[-1].child;

		child += new_child;
		if (new_child || (i && !children && e->conn != e[-1].conn))
			counted = false;
		if (counted || ((e->at + shifts[child]) % intervals + intervals - from) %
		    intervals >= width)
			continue;
		counted = true;
		n++;
	}
	return n;
}

static void counts_as_one_by_one(void **state)
{
	static const uint32_t widths[SCAN_WIDTHS] = { 1, 2, 3, 5, 8, 13, 20, 30 };
	enum { INTERVALS = 50, CHILDREN = 4 };
	struct scan_events events;
	uint32_t shifts[CHILDREN];
	struct scan scan;
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	vec_init(&events, 1000);
	for (uint32_t conn = 0; conn < 12; conn++)
		for (uint32_t i = 0; i < 3; i++) {
			const uint32_t at = (uint32_t)rng_below(&rng, INTERVALS);

			assert_int_equal(vec_push(&events, (struct scan_event){
				.child = conn / 3, .conn = conn, .at = at }), 0);
		}
	for (int i = 0; i < CHILDREN; i++)
		shifts[i] = (uint32_t)rng_below(&rng, INTERVALS);
	for (int children = 0; children < 2; children++) {
		assert_int_equal(scan_init(&scan, INTERVALS, events.len), 0);
		scan_add(&scan, &events, children, shifts, &scan.conns);
		for (unsigned int w = 0; w < SCAN_WIDTHS; w++)
			for (uint32_t k = 0; k < INTERVALS; k++)
				assert_int_equal(scan.conns.by_width[w][k],
						 count(&events, children, shifts, INTERVALS, k,
						       widths[w]));
		scan_release(&scan);
	}
	assert_int_equal(scan_children(&events), CHILDREN);
	vec_release(&events);
}

/* Returns the ratio of n connections' events in one interval, of so many children. */
static double llr_of(uint32_t n, uint32_t children, int32_t rest)
{
	struct scan_events events;
	struct scan scan;
	double llr;

	vec_init(&events, 100);
	for (uint32_t conn = 0; conn < n; conn++)
		assert_int_equal(vec_push(&events, (struct scan_event){
			conn * children / n, conn, 50 }), 0);
	assert_int_equal(scan_init(&scan, 100, n), 0);
	for (unsigned int w = 0; w < SCAN_WIDTHS; w++)
		for (uint32_t k = 0; k < 100; k++)
			scan.rest.by_width[w][k] = rest;
	llr = scan_strongest(&scan, &events, NULL).llr;
	scan_release(&scan);
	vec_release(&events);
	return llr;
}

/* 3 connections in one of 100 intervals, beside 4 others in each, and one more as the prior. */
static void stretch_needs_connections_and_children(void **state)
{
	const double part = 0.03 / (0.03 + 4 + 1);

	(void)state;
	assert_true(fabs(llr_of(3, 2, 4) - (3 * log(3 / (8 * part)) +
					    5 * log(5 / (8 * (1 - part))))) < 1e-9);
	assert_true(llr_of(2, 2, 4) == 0);
	assert_true(llr_of(3, 1, 4) == 0);
}

/* Events are independent, but an application runs for a fifth of the window only. */
static void application_in_a_part_of_the_window_is_no_burst(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (uint32_t host = 0; host < RACKS * HOSTS; host++)
		for (uint32_t i = 0; i < CONNS; i++) {
			const struct toy_conn where = { host, host / HOSTS, i > 3 ? i % 3 : 9, NONE,
							NONE };
			const uint32_t conn = toy_connect(&toy, &where);
			const uint32_t from = i > 3 ? 0 : 100, to = i > 3 ? TOY_INTERVALS : 160;

			for (uint32_t k = from; k < to; k++)
				toy_read(&toy, conn, k, k + 1, CLASS, rng_below(&rng, 150) == 0);
		}
	assert_int_equal(fleet_at_once(toy.f, &options, &toy.result), 0);
	assert_int_equal(toy.result.findings.len, 0);
}

/* Its events are counted once, for which there is room, though it is of two hosts. */
static void connection_of_two_hosts_counts_once(void **state)
{
	const uint32_t conn = toy_connect_hosts(&toy, 0, 1);

	(void)state;
	for (uint32_t k = 0; k < TOY_INTERVALS; k++)
		toy_read(&toy, conn, k, k + 1, CLASS, k % 50 == 25);
	assert_int_equal(fleet_at_once(toy.f, &options, &toy.result), 0);
	assert_int_equal(toy.result.findings.len, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, toy_begin, toy_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(burst_of_a_rack_is_told_with_its_time),
		CASE(burst_of_a_host_is_not_its_rack),
		CASE(single_connection_is_nothing),
		CASE(events_of_one_connection_are_nothing),
		CASE(burst_of_all_is_no_racks),
		CASE(chance_is_nothing),
		CASE(other_classes_are_not_scanned),
		CASE(lives_that_begin_are_no_burst),
		CASE(application_in_a_part_of_the_window_is_no_burst),
		CASE(connection_of_two_hosts_counts_once),
		CASE(counts_as_one_by_one),
		CASE(stretch_needs_connections_and_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
