/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's mean correlation, against all pairs one by one; its weaknesses are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "fleet/paper.h"
#include "fleet_toy.h"

#define NONE FLEET_NONE
#define SIZE (5 * TOY_INTERVALS)

/* Adds a connection of a host with a problem in a part of all intervals. */
static uint32_t add(struct rng *rng, uint32_t host, enum fleet_class class, double part)
{
	const uint32_t conn = toy_connect(&toy, &(struct toy_conn){ host, NONE, NONE, NONE, NONE });

	for (uint32_t k = 0; k < TOY_INTERVALS; k++)
		toy_read(&toy, conn, k, k + 1, class, rng_uniform(rng) < part);
	return conn;
}

static double cell(uint32_t conn, size_t i)
{
	uint8_t value;

	fleet_cells(toy.f, conn, (enum fleet_class)(i / TOY_INTERVALS), i % TOY_INTERVALS, 1,
		    &value);
	return value == FLEET_UNKNOWN ? 0 : value;
}

static double pearson(uint32_t a, uint32_t b)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < SIZE; i++) {
		x += cell(a, i) / SIZE;
		y += cell(b, i) / SIZE;
	}
	for (size_t i = 0; i < SIZE; i++) {
		xx += (cell(a, i) - x) * (cell(a, i) - x);
		yy += (cell(b, i) - y) * (cell(b, i) - y);
		xy += (cell(a, i) - x) * (cell(b, i) - y);
	}
	return xy / sqrt(xx * yy);
}

static void is_the_mean_of_all_pairs(void **state)
{
	struct fleet_paper told;
	struct rng rng;
	double sum = 0;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < 6; i++)
		add(&rng, 1, i % 2 ? FLEET_TIMEOUT : FLEET_DELAYED_ACK, 0.3);
	for (uint32_t a = 0; a < 6; a++)
		for (uint32_t b = 0; b < a; b++)
			sum += pearson(a, b) / 15;
	assert_int_equal(fleet_paper(toy.f, -1, &told), 0);
	assert_int_equal(told.len, 1);
	assert_true(fabs(told.items[0].acc - sum) < 1e-9);
	vec_release(&told);
}

/* Independent connections with a problem in most intervals: the class's place correlates. */
static void independent_problems_are_reported(void **state)
{
	struct fleet_paper told;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < 20; i++)
		add(&rng, 1, FLEET_DELAYED_ACK, 0.8);
	assert_int_equal(fleet_paper(toy.f, FLEET_PAPER_ALPHA, &told), 0);
	assert_int_equal(told.len, 1);
	assert_true(fabs(told.items[0].acc - 0.76) < 0.03);
	vec_release(&told);
}

/* A connection without problems, one that is unknown, and one alone have no correlation. */
static void constant_connections_are_left_out(void **state)
{
	struct fleet_paper told;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < 3; i++)
		add(&rng, 1, FLEET_DELAYED_ACK, 0.8);
	add(&rng, 1, FLEET_DELAYED_ACK, 0);
	toy_connect(&toy, &(struct toy_conn){ 1, NONE, NONE, NONE, NONE });
	add(&rng, 2, FLEET_DELAYED_ACK, 0.8);
	add(&rng, 2, FLEET_SENDER_APP, 0.8); /* the sixth class is no part of a vector */
	assert_int_equal(fleet_paper(toy.f, -1, &told), 0);
	assert_int_equal(told.len, 1);
	assert_int_equal(told.items[0].connections, 5);
	assert_int_equal(told.items[0].defined, 3);
	vec_release(&told);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, toy_begin, toy_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(is_the_mean_of_all_pairs),
		CASE(independent_problems_are_reported),
		CASE(constant_connections_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
