/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet's data: resources, connections, and readings by interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/rng.h"
#include "fleet/state.h"

#define STEP (2 * NS_PER_S)
#define START (1000 * NS_PER_S)

static const struct fleet_grid grid = { START, STEP, 10 };

static struct fleet *one_connection(void)
{
	struct fleet *f = fleet_new(&grid);
	uint32_t host, conn;

	assert_non_null(f);
	assert_int_equal(fleet_resource(f, FLEET_HOST, "web1", &host), 0);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = host, .shares = &host, .n = 1, .name = "a > b" }, &conn), 0);
	assert_int_equal(conn, 0);
	return f;
}

/* Adds a reading of the send buffer, in tenths of an interval. */
static int add(struct fleet *f, uint64_t from, uint64_t to, double share)
{
	return fleet_add(f, 0, &(struct fleet_reading){
		.from_ns = START + from * STEP / 10, .to_ns = START + to * STEP / 10,
		.known = 1u << FLEET_SEND_BUFFER, .share = { [FLEET_SEND_BUFFER] = share },
		.lost_ns = { [FLEET_SEND_BUFFER] = 1000 } });
}

static uint8_t cell_of(const struct fleet *f, enum fleet_class class, uint32_t k)
{
	uint8_t out;

	fleet_cells(f, 0, class, k, 1, &out);
	return out;
}

static uint8_t cell(const struct fleet *f, uint32_t k)
{
	return cell_of(f, FLEET_SEND_BUFFER, k);
}

static void test_resources_by_name_and_kind(void **state)
{
	struct fleet *f = fleet_new(&grid);
	uint32_t host, again, rack, many;

	(void)state;
	assert_int_equal(fleet_resource(f, FLEET_HOST, "a", &host), 0);
	assert_int_equal(fleet_resource(f, FLEET_RACK, "a", &rack), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(fleet_resource(f, FLEET_APP, name, &many), 0);
		assert_int_equal(many, i + 2);
	}
	assert_int_equal(fleet_resource(f, FLEET_HOST, "a", &again), 0);
	assert_int_equal(again, host);
	assert_int_not_equal(host, rack);
	fleet_free(f);
}

static void test_connections_need_their_host_once(void **state)
{
	struct fleet *f = one_connection();
	uint32_t rack, conn, twice[2] = { 0, 0 }, other[2];

	(void)state;
	fleet_resource(f, FLEET_RACK, "r", &rack);
	other[0] = rack;
	other[1] = 77;
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = 0, .shares = &rack, .n = 1, .name = "" }, &conn), -EINVAL);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = rack, .shares = &rack, .n = 1, .name = "" }, &conn), -EINVAL);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = 0, .shares = twice, .n = 2, .name = "" }, &conn), -EINVAL);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = 0, .shares = other, .n = 2, .name = "" }, &conn), -EINVAL);
	assert_int_equal(f->all.len, 1);
	assert_int_equal(f->shares.len, 1);
	fleet_free(f);
}

/* An interval takes each reading by the time of their overlap, and is known from a half on. */
static void test_readings_by_overlap(void **state)
{
	struct fleet *f = one_connection();

	(void)state;
	assert_int_equal(add(f, 0, 10, 1), 0);
	assert_int_equal(add(f, 10, 15, 0.5), 0);   /* half of interval 1 */
	assert_int_equal(add(f, 20, 24, 1), 0);     /* less than half of interval 2 */
	assert_int_equal(add(f, 35, 50, 0.2), 0);
	assert_int_equal(add(f, 50, 55, 1), 0);
	assert_int_equal(add(f, 55, 60, 0), 0);
	assert_int_equal(cell(f, 0), 250);
	assert_int_equal(cell(f, 1), 125);
	assert_int_equal(cell(f, 2), FLEET_UNKNOWN);
	assert_int_equal(cell(f, 3), 50);
	assert_int_equal(cell(f, 4), 50);
	assert_int_equal(cell(f, 5), 125);          /* still open */
	assert_int_equal(cell(f, 6), FLEET_UNKNOWN);
	assert_int_equal(cell_of(f, FLEET_TIMEOUT, 0), FLEET_UNKNOWN);
	assert_int_equal(f->all.items[0].known_ns[FLEET_SEND_BUFFER], 44 * STEP / 10);
	assert_int_equal(f->all.items[0].limited_ns[FLEET_SEND_BUFFER], 245 * STEP / 100);
	assert_int_equal(f->all.items[0].lost_ns[FLEET_SEND_BUFFER], 6000);
	fleet_free(f);
}

/* Parts outside of the grid do not count. */
static void test_readings_are_cut(void **state)
{
	struct fleet *f = one_connection();
	const struct fleet_reading early = {
		.from_ns = START - STEP, .to_ns = START + STEP, .known = 1u << FLEET_TIMEOUT,
		.share = { [FLEET_TIMEOUT] = 1 }, .lost_ns = { [FLEET_TIMEOUT] = 1000 } };

	(void)state;
	assert_int_equal(fleet_add(f, 0, &early), 0);
	assert_int_equal(f->all.items[0].known_ns[FLEET_TIMEOUT], STEP);
	assert_int_equal(f->all.items[0].lost_ns[FLEET_TIMEOUT], 500);
	assert_int_equal(add(f, 95, 130, 1), 0);
	assert_int_equal(add(f, 130, 140, 1), 0);
	assert_int_equal(cell(f, 9), 250);
	assert_int_equal(f->all.items[0].known_ns[FLEET_SEND_BUFFER], STEP / 2);
	fleet_free(f);
}

static void test_impossible_readings(void **state)
{
	struct fleet *f = one_connection();

	(void)state;
	assert_int_equal(add(f, 10, 20, 1), 0);
	assert_int_equal(add(f, 19, 30, 1), -EINVAL);
	assert_int_equal(add(f, 30, 30, 1), -EINVAL);
	assert_int_equal(add(f, 30, 40, 1.1), -EINVAL);
	assert_int_equal(add(f, 30, 40, -0.1), -EINVAL);
	assert_int_equal(add(f, 30, 40, 0.0 / 0.0), -EINVAL);
	assert_int_equal(add(f, 20, 30, 1), 0);
	assert_int_equal(fleet_add(f, 1, &(struct fleet_reading){ .to_ns = 1 }), -EINVAL);
	assert_int_equal(fleet_add(f, 0, &(struct fleet_reading){
		.from_ns = START + 5 * STEP, .to_ns = START + 6 * STEP,
		.known = 1u << FLEET_CLASSES }), -EINVAL);
	fleet_free(f);
}

/* ---- stretches ---- */

#define LONG 500u

static struct fleet *long_connection(void)
{
	const struct fleet_grid long_grid = { START, STEP, LONG };
	struct fleet *f = fleet_new(&long_grid);
	uint32_t host, conn;

	assert_non_null(f);
	assert_int_equal(fleet_resource(f, FLEET_HOST, "web1", &host), 0);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = host, .shares = &host, .n = 1, .name = "a > b" }, &conn), 0);
	return f;
}

/* Draws a stretch of few different shares, in short and long runs, some of them unknown. */
static void draw_stretch(struct rng *rng, uint8_t *cells, uint32_t n)
{
	static const uint8_t shares[] = { 0, 0, 17, FLEET_STEPS, FLEET_UNKNOWN };

	for (uint32_t k = 0, left = 0; k < n; k++, left--) {
		if (!left)
			left = 1 + (uint32_t)rng_below(rng, rng_below(rng, 2) ? 40 : 3);
		cells[k] = k && left > 1 ? cells[k - 1] : shares[rng_below(rng, sizeof(shares))];
	}
}

/* Adds the stretch to cells: of an interval that both know, the larger share counts. */
static void model_add(uint8_t *model, const struct fleet_stretch *stretch)
{
	for (uint32_t k = 0; k < stretch->n; k++) {
		uint8_t *at = &model[stretch->first + k];

		if (stretch->cells[k] != FLEET_UNKNOWN &&
		    (*at == FLEET_UNKNOWN || *at < stretch->cells[k]))
			*at = stretch->cells[k];
	}
}

/* Returns the interval behind the last known one. */
static uint32_t model_end(const uint8_t *model)
{
	uint32_t end = LONG;

	while (end && model[end - 1] == FLEET_UNKNOWN)
		end--;
	return end;
}

/* Classes are added in turns, with gaps, and at the last interval of the stretch before. */
static void random_stretches(struct rng *rng)
{
	uint8_t model[FLEET_CLASSES][LONG], out[LONG], cells[LONG];
	struct fleet *f = long_connection();

	memset(model, FLEET_UNKNOWN, sizeof(model));
	for (int i = 0; i < 60; i++) {
		const enum fleet_class class = rng_below(rng, FLEET_CLASSES);
		const uint32_t end = model_end(model[class]);
		struct fleet_stretch stretch = { .first = end, .cells = cells };

		if (rng_below(rng, 2))
			stretch.first += (uint32_t)rng_below(rng, 20);
		else
			stretch.first -= end > 0;
		stretch.n = 1 + (uint32_t)rng_below(rng, 60);
		if (stretch.first + stretch.n > LONG)
			continue;
		draw_stretch(rng, cells, stretch.n);
		assert_int_equal(fleet_add_stretch(f, 0, class, &stretch), 0);
		model_add(model[class], &stretch);
	}
	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		const uint32_t first = (uint32_t)rng_below(rng, LONG);

		fleet_cells(f, 0, class, 0, LONG, out);
		assert_memory_equal(out, model[class], LONG);
		fleet_cells(f, 0, class, first, LONG - first, out);
		assert_memory_equal(out, model[class] + first, LONG - first);
	}
	fleet_free(f);
}

static void test_stretches_are_kept(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 200; i++)
		random_stretches(&rng);
}

static int add_cells(struct fleet *f, uint32_t first, const uint8_t *cells, uint32_t n)
{
	return fleet_add_stretch(f, 0, FLEET_TIMEOUT, &(struct fleet_stretch){
		.first = first, .n = n, .cells = cells, .known_ns = 1 });
}

static void test_impossible_stretches(void **state)
{
	static const uint8_t cells[] = { 0, 250, 250 }, wrong[] = { 0, 251 },
			     late[] = { FLEET_UNKNOWN, FLEET_UNKNOWN, 7 };
	struct fleet *f = long_connection();

	(void)state;
	assert_int_equal(add_cells(f, 10, cells, 0), -EINVAL);
	assert_int_equal(add_cells(f, LONG - 2, cells, 3), -EINVAL);
	assert_int_equal(add_cells(f, 10, wrong, 2), -EINVAL);
	assert_int_equal(add_cells(f, 10, cells, 3), 0);
	assert_int_equal(add_cells(f, 11, cells, 3), -EINVAL);
	assert_int_equal(add_cells(f, 10, late, 3), 0); /* its first known interval counts */
	assert_int_equal(cell_of(f, FLEET_TIMEOUT, 12), 250);
	assert_int_equal(f->all.items[0].known_ns[FLEET_TIMEOUT], 2);
	assert_int_equal(add(f, 0, 10, 1), 0);
	assert_int_equal(add_cells(f, 20, cells, 3), -EINVAL); /* readings and stretches */
	fleet_free(f);
}

/* A constant class takes 4 bytes, in whatever pieces it comes. */
static void test_constant_classes_are_small(void **state)
{
	struct fleet *f = long_connection();
	uint8_t cells[LONG] = { 0 };
	size_t bytes;

	(void)state;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		for (uint32_t k = 0; k < LONG; k += 100)
			assert_int_equal(fleet_add_stretch(f, 0, class, &(struct fleet_stretch){
				.first = k, .n = 100, .cells = cells, .known_ns = 1 }), 0);
	bytes = f->cells_bytes;
	assert_in_range(bytes, 4 * FLEET_CLASSES, 8 * FLEET_CLASSES);
	fleet_free(f);
}

static void test_impossible_grids(void **state)
{
	(void)state;
	assert_null(fleet_new(&(struct fleet_grid){ START, STEP, 0 }));
	assert_null(fleet_new(&(struct fleet_grid){ START, 0, 10 }));
	assert_null(fleet_new(&(struct fleet_grid){ START, STEP, FLEET_INTERVALS_MAX + 1 }));
	assert_null(fleet_new(&(struct fleet_grid){ UINT64_MAX - STEP, STEP, 10 }));
	assert_null(fleet_new(&(struct fleet_grid){ START, UINT64_MAX / 5, 10 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources_by_name_and_kind),
		cmocka_unit_test(test_connections_need_their_host_once),
		cmocka_unit_test(test_readings_by_overlap),
		cmocka_unit_test(test_readings_are_cut),
		cmocka_unit_test(test_impossible_readings),
		cmocka_unit_test(test_stretches_are_kept),
		cmocka_unit_test(test_impossible_stretches),
		cmocka_unit_test(test_constant_classes_are_small),
		cmocka_unit_test(test_impossible_grids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
