/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of standardized series against all pairs, one by one: the same correlation to 1e-9, the same
 * bits in any order, with intervals that are missing and connections that are constant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../sim/fleet_model.h"
#include "fleet/synchrony.h"

#define INTERVALS 200u

struct rig {
	struct model model;
	struct fleet_groups groups;
	struct class_sums sums;
};

static void rig_make(struct rig *rig, const struct model_config *config, uint64_t seed)
{
	model_make(&rig->model, config, seed);
	assert_int_equal(fleet_groups_make(rig->model.fleet, &rig->groups), 0);
	assert_int_equal(class_sums_init(&rig->sums, &rig->groups), 0);
	assert_int_equal(class_sums_fill(&rig->sums, config->class), 0);
}

static void rig_release(struct rig *rig)
{
	class_sums_release(&rig->sums);
	fleet_groups_release(&rig->groups);
	model_release(&rig->model);
}

static struct model_config config_of(uint32_t connections)
{
	struct model_config config = model_default();

	config.racks = 1;
	config.hosts = 3;
	config.connections = connections;
	config.intervals = INTERVALS;
	config.guilty = FLEET_RACK;
	config.causes = 1;
	config.loading = 0.5;
	return config;
}

static uint32_t resource(const struct rig *rig, enum fleet_kind kind, const char *name)
{
	uint32_t index;

	assert_int_equal(fleet_resource(rig->model.fleet, kind, name, &index), 0);
	return index;
}

/* ---- pairs, by definition ---- */

struct naive {
	double z[INTERVALS], weight[INTERVALS];
	bool defined;
};

static void naive_standardize(const struct model *m, uint32_t conn, struct naive *out)
{
	const double *x = m->series + (size_t)conn * INTERVALS;
	double n = 0, sum = 0, squares = 0, offset = 0, energy = 0;

	memset(out, 0, sizeof(*out));
	for (uint32_t k = 0; k < INTERVALS; k++) {
		const double share = floor(x[k] * 250 + 0.5);

		if (isnan(x[k]))
			continue;
		n++;
		sum += share;
		squares += share * share;
	}
	out->defined = n && squares / n - sum / n * sum / n > 1e-9;
	for (int pass = 0; pass < 2 && out->defined; pass++)
		for (uint32_t k = 0; k < INTERVALS; k++) {
			const double deviation = sqrt(squares / n - sum / n * sum / n);
			const double z = (floor(x[k] * 250 + 0.5) - sum / n) / deviation;

			if (isnan(x[k]))
				continue;
			out->z[k] = fmax(-5, fmin(5, z)) - (pass ? offset / n : 0);
			offset += pass ? 0 : out->z[k];
		}
	for (uint32_t k = 0; k < INTERVALS; k++)
		energy += out->z[k] * out->z[k];
	for (uint32_t k = 0; k < INTERVALS; k++) {
		out->z[k] = round(out->z[k] * 65536) / 65536;
		out->weight[k] = isnan(x[k]) ? 0 : round(sqrt(energy / n) * 65536) / 65536;
	}
}

/* Returns the mean correlation of pairs of different children. */
static double naive_rho(const struct model *m, bool connections)
{
	static struct naive all[64];
	const struct fleet *f = m->fleet;
	double u = 0, n = 0;

	for (uint32_t c = 0; c < m->n; c++)
		naive_standardize(m, c, &all[c]);
	for (uint32_t c = 0; c < m->n; c++)
		for (uint32_t d = 0; d < m->n; d++)
			for (uint32_t k = 0; k < INTERVALS; k++) {
				if (c == d || !all[c].defined || !all[d].defined ||
				    (!connections && f->all.items[c].host == f->all.items[d].host))
					continue;
				u += all[c].z[k] * all[d].z[k];
				n += all[c].weight[k] * all[d].weight[k];
			}
	return u / n;
}

static double linear_rho(struct rig *rig, uint32_t of)
{
	const struct fleet_subset subset = { of, FLEET_NONE, NULL, 0 };
	struct children children;
	struct synchrony s;

	assert_int_equal(children_make(&rig->sums, &subset, &children), 0);
	synchrony_measure(&children, &s);
	children_release(&children);
	return s.rho;
}

static void test_linear_form_is_pairwise(void **state)
{
	struct model_config config = config_of(10);

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rig rig;

		config.law = seed % 3;
		config.unknown = seed % 2 ? 0.3 : 0;
		config.lives = seed % 5 == 0;
		config.duty = seed % 4 ? 0.1 : 0.005; /* some are constant, some limited */
		config.hosts = seed % 7 ? 3 : 1;
		rig_make(&rig, &config, seed);
		assert_float_equal(linear_rho(&rig, resource(&rig, FLEET_RACK, "rack0")),
				   naive_rho(&rig.model, config.hosts == 1), 1e-9);
		rig_release(&rig);
	}
}

/* Unknown intervals as zeros of the share are something else. */
static void test_zeros_are_not_unknown(void **state)
{
	struct model_config config = config_of(10);
	struct rig rig, zeros;

	(void)state;
	config.lives = true;
	rig_make(&rig, &config, 3);
	config.zeros = true;
	rig_make(&zeros, &config, 3);
	assert_true(fabs(linear_rho(&rig, resource(&rig, FLEET_RACK, "rack0")) -
			 linear_rho(&zeros, resource(&zeros, FLEET_RACK, "rack0"))) > 1e-3);
	rig_release(&zeros);
	rig_release(&rig);
}

static void assert_same_bits(const struct fleet_sums *a, const struct fleet_sums *b)
{
	assert_int_equal(a->connections, b->connections);
	assert_memory_equal(a->z, b->z, 2 * INTERVALS * sizeof(*a->z));
}

/* Adds a group's connections to sums that are finished. */
static void merge_group(struct fleet_sums *sums, const struct rig *rig, uint32_t group)
{
	struct fleet_sums own;
	uint32_t n;
	const struct class_conn *conns = class_sums_group(&rig->sums, group, &n);

	assert_int_equal(fleet_sums_init(&own, INTERVALS), 0);
	for (uint32_t i = 0; i < n; i++)
		fleet_sums_add(&own, rig->sums.steps.items + conns[i].first, conns[i].n);
	fleet_sums_finish(&own);
	fleet_sums_merge(sums, &own);
	fleet_sums_release(&own);
}

/* Adds the standardized series of the connections `from` to `to` - 1, times `by`, in doubles. */
static void add_plain(const struct model *m, uint32_t from, uint32_t to, double by, double *sum)
{
	for (uint32_t i = from; i < to; i++) {
		const double *x = m->series + (size_t)i * INTERVALS;
		double n = 0, mean = 0, squares = 0;

		for (uint32_t k = 0; k < INTERVALS; k++) {
			n += !isnan(x[k]);
			mean += isnan(x[k]) ? 0 : x[k];
			squares += isnan(x[k]) ? 0 : x[k] * x[k];
		}
		mean /= n;
		for (uint32_t k = 0; k < INTERVALS; k++)
			if (!isnan(x[k]))
				sum[k] += by * (x[k] - mean) / sqrt(squares / n - mean * mean);
	}
}

/* Returns the number of intervals in which sums have other bits. */
static uint32_t differ(const double *a, const double *b)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < INTERVALS; k++)
		n += memcmp(&a[k], &b[k], sizeof(*a)) != 0;
	return n;
}

/* Doubles are rounded, by the order in which they are added. */
static uint32_t differ_by_order(const struct model *m)
{
	double forward[INTERVALS] = { 0 }, backward[INTERVALS] = { 0 };

	for (uint32_t i = 0; i < m->n; i++) {
		add_plain(m, i, i + 1, 1, forward);
		add_plain(m, m->n - 1 - i, m->n - i, 1, backward);
	}
	return differ(forward, backward);
}

static void test_any_order_of_merging(void **state)
{
	struct model_config config = config_of(12);
	struct fleet_sums forward, backward;
	struct rig rig;
	uint32_t n;

	(void)state;
	config.unknown = 0.2;
	rig_make(&rig, &config, 1);
	n = (uint32_t)rig.groups.all.len;
	assert_int_equal(fleet_sums_init(&forward, INTERVALS), 0);
	assert_int_equal(fleet_sums_init(&backward, INTERVALS), 0);
	for (uint32_t i = 0; i < n; i++) {
		merge_group(&forward, &rig, i);
		merge_group(&backward, &rig, n - 1 - i);
	}
	assert_same_bits(&forward, &backward);
	assert_same_bits(&forward, &rig.sums.total);
	assert_true(differ_by_order(&rig.model) > INTERVALS / 2);
	fleet_sums_release(&forward);
	fleet_sums_release(&backward);
	rig_release(&rig);
}

/* Subtracts the first host, of n connections, from doubles. */
static uint32_t differ_without(const struct model *m, uint32_t n)
{
	double without[INTERVALS] = { 0 }, subtracted[INTERVALS] = { 0 };

	add_plain(m, n, m->n, 1, without);
	add_plain(m, 0, m->n, 1, subtracted);
	add_plain(m, 0, n, -1, subtracted);
	return differ(without, subtracted);
}

/* A host that lies or dies is subtracted. */
static void test_subtracting_a_host(void **state)
{
	struct model_config config = config_of(12);
	struct fleet_sums without;
	struct rig rig;

	(void)state;
	rig_make(&rig, &config, 1);
	assert_int_equal(fleet_sums_init(&without, INTERVALS), 0);
	for (uint32_t i = 0; i < rig.groups.all.len; i++)
		if (rig.groups.all.items[i].host != resource(&rig, FLEET_HOST, "host0"))
			merge_group(&without, &rig, i);
	assert_true(without.connections < rig.sums.total.connections);
	assert_true(class_sums_outside(&rig.sums, resource(&rig, FLEET_HOST, "host0"), 1));
	assert_same_bits(&without, &rig.sums.outside);
	assert_true(differ_without(&rig.model, config.connections) > INTERVALS / 2);
	fleet_sums_release(&without);
	rig_release(&rig);
}

/* Two bursts at the same time: of plain correlation they are all. */
static void test_a_burst_has_no_leverage(void **state)
{
	double x[INTERVALS] = { 0 }, y[INTERVALS] = { 0 }, xy = 0, xx = 0, yy = 0;
	const struct fleet_grid grid = { .step_ns = 2, .intervals = INTERVALS };
	struct fleet_stretch stretch = { .n = INTERVALS, .known_ns = 2, .limited_ns = 1 };
	uint8_t cells[INTERVALS] = { [7] = FLEET_STEPS };
	struct fleet *f = fleet_new(&grid);
	struct fleet_groups groups;
	struct class_sums sums;
	uint32_t host, conn;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t k = 0; k < INTERVALS; k++) {
		x[k] = (k == 7) - 1. / INTERVALS + 0.001 * rng_uniform(&rng);
		y[k] = (k == 7) - 1. / INTERVALS + 0.001 * rng_uniform(&rng);
		xy += x[k] * y[k];
		xx += x[k] * x[k];
		yy += y[k] * y[k];
	}
	assert_true(xy / sqrt(xx * yy) > 0.99);
	assert_int_equal(fleet_resource(f, FLEET_HOST, "a", &host), 0);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = host, .shares = &host, .n = 1, .name = "a > b" }, &conn), 0);
	stretch.cells = cells;
	assert_int_equal(fleet_add_stretch(f, conn, 0, &stretch), 0);
	assert_int_equal(fleet_groups_make(f, &groups), 0);
	assert_int_equal(class_sums_init(&sums, &groups), 0);
	assert_int_equal(class_sums_fill(&sums, 0), 0);
	assert_int_equal(sums.total.connections, 1);
	assert_in_range(sums.total.z[7], 5 * STANDARD_ONE, 5.1 * STANDARD_ONE);
	assert_in_range(sums.total.weight[7], 1, STANDARD_ONE / 2); /* plain: 14 and 1 */
	class_sums_release(&sums);
	fleet_groups_release(&groups);
	fleet_free(f);
}

#define BURSTING 10u

/* Adds connections of a host with little noise; three of them have a burst at the same time. */
static struct fleet *bursting(uint8_t cells[BURSTING][INTERVALS])
{
	const struct fleet_grid grid = { .step_ns = 2, .intervals = INTERVALS };
	struct fleet *f = fleet_new(&grid);
	uint32_t host, conn;
	struct rng rng;

	rng_init(&rng, 1);
	assert_int_equal(fleet_resource(f, FLEET_HOST, "a", &host), 0);
	for (uint32_t i = 0; i < BURSTING; i++) {
		const struct fleet_stretch stretch = {
			.n = INTERVALS, .cells = cells[i], .known_ns = 2, .limited_ns = 1 };

		for (uint32_t k = 0; k < INTERVALS; k++)
			cells[i][k] = (uint8_t)rng_below(&rng, 2);
		if (i < 3)
			cells[i][7] = FLEET_STEPS;
		assert_int_equal(fleet_connection(f, &(struct fleet_conn){ .host = host,
			.shares = &host, .n = 1, .cookie = i, .name = "a > b" }, &conn), 0);
		assert_int_equal(fleet_add_stretch(f, conn, 0, &stretch), 0);
	}
	return f;
}

/* Returns the z of all pairs without a limit. */
static double unlimited_z(uint8_t cells[BURSTING][INTERVALS])
{
	double sum[INTERVALS] = { 0 }, u = -1. * BURSTING * INTERVALS;

	for (uint32_t i = 0; i < BURSTING; i++) {
		double mean = 0, squares = 0;

		for (uint32_t k = 0; k < INTERVALS; k++) {
			mean += (double)cells[i][k] / INTERVALS;
			squares += (double)cells[i][k] * cells[i][k] / INTERVALS;
		}
		for (uint32_t k = 0; k < INTERVALS; k++)
			sum[k] += (cells[i][k] - mean) / sqrt(squares - mean * mean);
	}
	for (uint32_t k = 0; k < INTERVALS; k++)
		u += sum[k] * sum[k];
	return u / sqrt(2. * INTERVALS * BURSTING * (BURSTING - 1));
}

/* One interval of three connections is all that ten have in common. */
static void test_bursts_of_few_are_nothing(void **state)
{
	uint8_t cells[BURSTING][INTERVALS];
	struct fleet *f = bursting(cells);
	const struct fleet_subset subset = { 0, FLEET_NONE, NULL, 0 };
	struct fleet_groups groups;
	struct class_sums sums;
	struct children children;
	struct synchrony s;

	(void)state;
	assert_int_equal(fleet_groups_make(f, &groups), 0);
	assert_int_equal(class_sums_init(&sums, &groups), 0);
	assert_int_equal(class_sums_fill(&sums, 0), 0);
	assert_int_equal(children_make(&sums, &subset, &children), 0);
	synchrony_measure(&children, &s);
	assert_true(s.testable && s.z < 2);
	assert_true(unlimited_z(cells) > 5);
	children_release(&children);
	class_sums_release(&sums);
	fleet_groups_release(&groups);
	fleet_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_form_is_pairwise),
		cmocka_unit_test(test_zeros_are_not_unknown),
		cmocka_unit_test(test_any_order_of_merging),
		cmocka_unit_test(test_subtracting_a_host),
		cmocka_unit_test(test_a_burst_has_no_leverage),
		cmocka_unit_test(test_bursts_of_few_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
