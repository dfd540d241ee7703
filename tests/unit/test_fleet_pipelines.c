/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines: an application that waits for another one's problem must be reported, and nothing
 * else, each trap beside the plain way that falls into it. tests/sim/fleet_pipelines.c has the
 * rates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/pipeline_model.h"
#include "fleet/analyses.h"
#include "fleet/pipeline_lags.h"
#include "fleet/state.h"
#include "fleet/synchrony.h"

#define PAIRS_INTERVALS 300u /* the model has so many */

struct rig {
	struct pipeline_model model;
	struct fleet_result result;
};

static void rig_analyze(struct rig *rig)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };

	rig->result = (struct fleet_result){ 0 };
	vec_init(&rig->result.pipelines, FLEET_RESOURCES_MAX);
	assert_int_equal(fleet_pipelines(rig->model.fleet, &options, &rig->result), 0);
}

static void rig_make(struct rig *rig, const struct pipeline_config *config, uint64_t seed)
{
	pipeline_model_make(&rig->model, config, seed);
	rig_analyze(rig);
}

static void rig_release(struct rig *rig)
{
	fleet_result_release(&rig->result);
	pipeline_model_release(&rig->model);
}

/* Returns the pipeline of two applications; NULL: it is not the only one. */
static const struct fleet_pipeline *rig_only(const struct rig *rig, uint32_t from, uint32_t to)
{
	const struct fleet_pipeline *i = rig->result.pipelines.items;

	if (rig->result.pipelines.len != 1 || i->resource != rig->model.apps[from] ||
	    i->application != rig->model.apps[to])
		return NULL;
	return i;
}

static struct pipeline_config with_pipeline(void)
{
	struct pipeline_config config = pipeline_default();

	config.pipeline = true;
	return config;
}

/* Returns the runs of `seeds` in which anything is reported. */
static unsigned int alarms(const struct pipeline_config *config, unsigned int seeds)
{
	unsigned int n = 0;

	for (unsigned int seed = 1; seed <= seeds; seed++) {
		struct rig rig;

		rig_make(&rig, config, seed);
		n += rig.result.pipelines.len > 0;
		rig_release(&rig);
	}
	return n;
}

/* ---- the plain way ---- */

/* Means of an application's connections on a host, less their means; unknown: 0. */
static void plain_mean(const struct pipeline_model *m, const double *series, uint32_t host,
		       uint32_t app, double *out)
{
	const struct pipeline_config *c = &m->config;
	double mean = 0;

	for (uint32_t k = 0; k < c->intervals; k++) {
		out[k] = 0;
		for (uint32_t i = 0; i < c->connections; i++) {
			const size_t conn = (host * c->apps + app) * c->connections + i;
			const double x = series[conn * c->intervals + k];

			out[k] += isnan(x) ? 0 : x;
		}
		mean += out[k] / c->intervals;
	}
	for (uint32_t k = 0; k < c->intervals; k++)
		out[k] -= mean;
}

/* Products of two series at a lag, and the variance of their sum if intervals are independent. */
static double plain_product(const double *a, const double *b, uint32_t n, uint32_t lag,
			    double *variance)
{
	double product = 0, x = 0, y = 0;

	for (uint32_t k = 0; k + lag < n; k++)
		product += a[k] * b[k + lag];
	for (uint32_t k = 0; k < n; k++) {
		x += a[k] * a[k];
		y += b[k] * b[k];
	}
	*variance += x * y / n;
	return product;
}

/*
 * The correlation of both applications' sums on the same hosts at a lag, in deviations as if hosts
 * and intervals were independent; all loads stay.
 */
static double plain_z(const struct pipeline_model *m, uint32_t from, uint32_t to, uint32_t lag)
{
	const uint32_t n = m->config.intervals;
	double *a = malloc(2 * n * sizeof(*a)), product = 0, variance = 0;

	assert_non_null(a);
	for (uint32_t host = 0; host < m->config.hosts; host++) {
		plain_mean(m, m->problem, host, from, a);
		plain_mean(m, m->waiting, host, to, a + n);
		product += plain_product(a, a + n, n, lag, &variance);
	}
	free(a);
	return product / sqrt(variance);
}

/* Returns the runs of `seeds` in which some pair has a plain z above 4 at the lag. */
static unsigned int plain_alarms(const struct pipeline_config *config, unsigned int seeds,
				 uint32_t lag)
{
	unsigned int n = 0;

	for (unsigned int seed = 1; seed <= seeds; seed++) {
		struct pipeline_model m;
		double most = 0;

		pipeline_model_make(&m, config, seed);
		for (uint32_t i = 0; i < config->apps * config->apps; i++)
			most = fmax(most, plain_z(&m, i / config->apps, i % config->apps, lag));
		n += most > 4;
		pipeline_model_release(&m);
	}
	return n;
}

/* ---- pipelines ---- */

static void test_pipeline(void **state)
{
	const struct pipeline_config config = with_pipeline();
	const struct fleet_pipeline *i;
	struct rig rig;

	(void)state;
	rig_make(&rig, &config, 1);
	i = rig_only(&rig, 0, 1);
	assert_non_null(i);
	assert_int_equal(i->class, FLEET_DELAYED_ACK);
	assert_int_equal(i->hosts, 8);
	assert_in_range(i->hosts_with, 6, 8);
	assert_int_equal(i->connections, 24);
	assert_int_equal(i->waiting, 24);
	assert_false(i->later);
	assert_true(i->share > 0.2 && i->share < 0.5);
	assert_true(i->share_otherwise > 0.03 && i->share_otherwise < 0.1);
	assert_true(i->waiting_ns > 60000000000 && i->waiting_ns < 1000000000000);
	assert_true(i->p <= 0.05 && i->rho > 0.1);
	assert_int_equal(rig.result.pipelines_tested, 16);
	rig_release(&rig);
}

static void test_order(void **state)
{
	struct pipeline_config config = with_pipeline();

	(void)state;
	for (config.lag = 1; config.lag <= 2; config.lag++) {
		const struct fleet_pipeline *i;
		struct rig rig;

		rig_make(&rig, &config, 1);
		i = rig_only(&rig, 0, 1);
		assert_non_null(i);
		assert_true(i->later);
		assert_int_equal(i->lag, config.lag);
		rig_release(&rig);
	}
}

/* Bursts of 3 intervals overlap at all lags up to 2: without an order, this would be a pipeline. */
static void test_waiting_comes_first(void **state)
{
	struct pipeline_config config = with_pipeline();

	(void)state;
	config.before = true;
	config.lag = 1;
	assert_int_equal(plain_alarms(&config, 5, 0), 5);
	assert_int_equal(alarms(&config, 5), 0);
}

static void test_other_end_on_the_host(void **state)
{
	struct pipeline_config config = with_pipeline();
	struct rig rig;

	(void)state;
	config.remote = true;
	rig_make(&rig, &config, 1);
	assert_non_null(rig_only(&rig, 0, 1));
	rig_release(&rig);
}

static void test_within_an_application(void **state)
{
	struct pipeline_config config = with_pipeline();
	struct rig rig;

	(void)state;
	config.same = true;
	config.connections = 6;
	rig_make(&rig, &config, 1);
	assert_non_null(rig_only(&rig, 0, 0));
	rig_release(&rig);
}

/* Adds a connection with the same share of both classes: in half of the time, at random. */
static void by_hand_add(struct fleet *f, uint32_t host, uint32_t app, uint32_t known)
{
	const uint32_t shares[] = { host, app };
	struct rng rng;
	uint32_t conn;

	rng_init(&rng, 1);
	assert_int_equal(fleet_connection(f, &(struct fleet_conn){
		.host = host, .shares = shares, .n = 2, .name = "connection" }, &conn), 0);
	for (uint32_t k = 0; k < 300; k++) {
		const double share = rng_below(&rng, 2) ? 0.8 : 0.1;
		const struct fleet_reading reading = {
			.from_ns = MODEL_START_NS + k * MODEL_STEP_NS,
			.to_ns = MODEL_START_NS + (k + 1) * MODEL_STEP_NS, .known = known,
			.share = { [FLEET_TIMEOUT] = share, [FLEET_SENDER_APP] = share },
		};

		assert_int_equal(fleet_add(f, conn, &reading), 0);
	}
}

/*
 * Returns the pipelines of one application with timeouts and one that waits, and their tests: both
 * are on so many hosts, of which some are common.
 */
static size_t by_hand(uint32_t n_hosts, uint32_t common, uint32_t *tested)
{
	const struct fleet_grid grid = { MODEL_START_NS, MODEL_STEP_NS, 300 };
	struct rig rig = { .model.fleet = fleet_new(&grid) };
	struct fleet *f = rig.model.fleet;
	uint32_t hosts[10], apps[2];
	size_t n;

	assert_non_null(f);
	for (uint32_t i = 0; i < 2 * n_hosts; i++) {
		const char name[] = { (char)('a' + i), '\0' };

		assert_int_equal(fleet_resource(f, FLEET_HOST, name, &hosts[i]), 0);
	}
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(fleet_resource(f, FLEET_APP, i ? "a" : "b", &apps[i]), 0);
	for (uint32_t i = 0; i < 3 * n_hosts; i++) {
		by_hand_add(f, hosts[i / 3], apps[0], 1u << FLEET_TIMEOUT);
		by_hand_add(f, hosts[n_hosts - common + i / 3], apps[1], 1u << FLEET_SENDER_APP);
	}
	rig_analyze(&rig);
	n = rig.result.pipelines.len;
	*tested = rig.result.pipelines_tested;
	rig_release(&rig);
	return n;
}

/* Applications on different hosts do not wait for each other, whatever their times. */
static void test_only_on_common_hosts(void **state)
{
	uint32_t tested;

	(void)state;
	assert_int_equal(by_hand(1, 1, &tested), 1);
	assert_int_equal(tested, 1);
	assert_int_equal(by_hand(1, 0, &tested), 0);
	assert_int_equal(tested, 0);
}

/* Applications that meet on less than half of their hosts are no pair. */
static void test_few_common_hosts(void **state)
{
	uint32_t tested;

	(void)state;
	by_hand(5, 3, &tested);
	assert_int_equal(tested, 1);
	by_hand(5, 2, &tested);
	assert_int_equal(tested, 0);
}

/* ---- nothing to report ---- */

/* An application that waits at the same times on all hosts is worth one host. */
static void test_common_to_all_hosts(void **state)
{
	struct pipeline_config config = pipeline_default();

	(void)state;
	config.common = PIPELINE_COMMON_ALL;
	config.burst = 10;
	assert_int_equal(alarms(&config, 15), 0);
	assert_true(plain_alarms(&config, 15, 0) >= 10);
}

static void test_day_and_night(void **state)
{
	struct pipeline_config config = pipeline_default();

	(void)state;
	config.load = 0.9;
	config.duty = 0.3;
	assert_int_equal(alarms(&config, 15), 0);
	assert_int_equal(plain_alarms(&config, 15, 0), 15);
}

/* With the load that all have, shifts differ so much that no pipeline stands out. */
static void test_pipeline_by_day_and_night(void **state)
{
	struct pipeline_config config = with_pipeline();

	(void)state;
	config.load = 0.9;
	config.duty = 0.3;
	config.strength = 0.2;
	assert_true(alarms(&config, 10) >= 8);
}

/* Half a period after a busy time of all, all wait. */
static void test_load_that_comes_and_goes(void **state)
{
	struct pipeline_config config = pipeline_default();

	(void)state;
	config.common = PIPELINE_COMMON_CYCLE;
	assert_int_equal(alarms(&config, 10), 0);
	assert_int_equal(plain_alarms(&config, 10, 3), 10);
}

/* Passes of one host's poller are missing for all of its connections, on both sides. */
static void test_shared_passes(void **state)
{
	struct pipeline_config config = pipeline_default();

	(void)state;
	config.law = MODEL_NOISY;
	config.duty = 0.5;
	config.burst = 1;
	config.passless = 0.3;
	assert_int_equal(alarms(&config, 5), 0);
	config.zeros = true;
	assert_int_equal(alarms(&config, 5), 5);
}

/* While an end waits for an acknowledgement, its other end has nothing to send. */
static void test_both_ends(void **state)
{
	struct pipeline_config config = pipeline_default();
	struct rig rig;

	(void)state;
	config.twins = true;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.pipelines.len, 0);
	fleet_result_release(&rig.result);
	vec_for_each(&rig.model.fleet->all, s)
		s->name[0] = '?'; /* an unknown address */
	rig_analyze(&rig);
	assert_non_null(rig_only(&rig, 0, 1));
	rig_release(&rig);
}

/* A connection with itself is no pair: then an application of one connection a host has none. */
static void test_single_connection_is_no_pair(void **state)
{
	struct pipeline_config config = pipeline_default();
	struct rig rig;

	(void)state;
	config.connections = 1;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.pipelines_tested, 12);
	assert_int_equal(rig.result.pipelines_too_few, 4);
	rig_release(&rig);
}

/* One burst each: their chance to coincide is 1 in 30, and no shift can tell more. */
static void test_one_burst(void **state)
{
	struct pipeline_config config = with_pipeline();
	struct rig rig;

	(void)state;
	config.once = true;
	config.strength = 1;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.pipelines_tested, 1);
	assert_int_equal(rig.result.pipelines.len, 0);
	assert_true(plain_z(&rig.model, 0, 1, 0) > 4);
	rig_release(&rig);
}

/* Connections that wait all the time say nothing, and too few intervals do neither. */
static void test_untestable(void **state)
{
	struct pipeline_config config = with_pipeline();
	struct rig rig;

	(void)state;
	config.intervals = PIPELINE_INTERVALS_MIN - 1;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.pipelines_tested, 0);
	assert_int_equal(rig.result.pipelines_too_few, 16);
	rig_release(&rig);
	config = pipeline_default();
	config.law = MODEL_EVENTS;
	config.duty = 1 - 1e-12;
	config.burst = 1e12;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.pipelines_tested + rig.result.pipelines_too_few, 0);
	rig_release(&rig);
}

/* ---- numbers ---- */

/* Returns the tests of independent pairs, all kinds of them, with p of at most 0.05. */
static unsigned int count_small_p(const struct pipeline_model *m, double *plain)
{
	struct pipeline_work work;
	unsigned int n = 0;

	assert_int_equal(pipeline_work_init(&work, m->fleet), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.waiting, FLEET_SENDER_APP, false), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.problem, m->config.class, true), 0);
	for (uint32_t i = 0; i < m->config.apps * m->config.apps; i++) {
		const uint32_t from = i / m->config.apps, to = i % m->config.apps;
		struct pipeline_pair pair;
		struct pipeline_test test;
		double most = 0;

		assert_int_equal(pipeline_pair_make(&work, m->apps[from], m->apps[to], &pair), 0);
		assert_int_equal(pipeline_lags_test(&pair, 1, &test), 0);
		pipeline_pair_release(&pair);
		n += test.p <= 0.05;
		for (uint32_t lag = 0; lag <= PIPELINE_LAGS; lag++)
			most = fmax(most, plain_z(m, from, to, lag));
		*plain += most > 1.645;
	}
	pipeline_work_release(&work);
	return n;
}

/* The greatest of four lags exceeds the limit of one of them three times as often. */
static void test_lags_are_many(void **state)
{
	struct pipeline_config config = pipeline_default();
	unsigned int small = 0;
	double plain = 0;

	(void)state;
	config.not_exclusive = true;
	config.burst = 1;
	for (unsigned int seed = 1; seed <= 20; seed++) {
		struct pipeline_model m;

		pipeline_model_make(&m, &config, seed);
		small += count_small_p(&m, &plain);
		pipeline_model_release(&m);
	}
	assert_true(plain > 0.12 * 320);
	assert_true(small <= 0.05 * 320);
	assert_true(small > 0);
}

/* Sets z and weight of a connection, of which all are defined. */
static void series_of(const struct class_sums *sums, uint32_t conn, uint32_t n, double *z,
		      double *weight)
{
	memset(z, 0, n * sizeof(*z));
	memset(weight, 0, n * sizeof(*weight));
	for (uint32_t at = 0; at < sums->conns.len; at++)
		if (sums->conns.items[at].conn == conn)
			children_add_steps(sums, at, z, weight);
	children_add_up(z, weight, n);
}

/*
 * The sums of both sides, less a connection with itself, are the sum over all pairs of different
 * connections: with series of which nothing was removed.
 */
static void test_sums_are_pairs(void **state)
{
	struct pipeline_config config = pipeline_default();
	struct pipeline_model m;
	struct pipeline_work work;
	struct pipeline_pair pair;
	double sums = 0, pairs = 0;

	(void)state;
	config.hosts = config.apps = 1;
	config.connections = 5;
	assert_int_equal(config.intervals, PAIRS_INTERVALS);
	pipeline_model_make(&m, &config, 3);
	assert_int_equal(pipeline_work_init(&work, m.fleet), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.waiting, FLEET_SENDER_APP, false), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.problem, config.class, true), 0);
	assert_int_equal(pipeline_pair_make(&work, m.apps[0], m.apps[0], &pair), 0);
	for (uint32_t k = 0; k < config.intervals; k++)
		sums += pair.problem.z[k] * pair.waiting.z[k] -
			pair.own[PIPELINE_LAGS * config.intervals + k];
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t j = 0; j < 5; j++) {
			double x[2][PAIRS_INTERVALS], y[2][PAIRS_INTERVALS];

			if (i == j)
				continue;
			series_of(&work.problem.sums, i, config.intervals, x[0], x[1]);
			series_of(&work.waiting.sums, j, config.intervals, y[0], y[1]);
			for (uint32_t k = 0; k < config.intervals; k++)
				pairs += (x[0][k] - x[1][k] * pair.problem.level[k]) *
					 (y[0][k] - y[1][k] * pair.waiting.level[k]);
		}
	assert_true(fabs(sums - pairs) < 1e-9 * fabs(pairs));
	pipeline_pair_release(&pair);
	pipeline_work_release(&work);
	pipeline_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_waiting_comes_first),
		cmocka_unit_test(test_other_end_on_the_host),
		cmocka_unit_test(test_within_an_application),
		cmocka_unit_test(test_only_on_common_hosts),
		cmocka_unit_test(test_few_common_hosts),
		cmocka_unit_test(test_common_to_all_hosts),
		cmocka_unit_test(test_day_and_night),
		cmocka_unit_test(test_pipeline_by_day_and_night),
		cmocka_unit_test(test_load_that_comes_and_goes),
		cmocka_unit_test(test_shared_passes),
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_single_connection_is_no_pair),
		cmocka_unit_test(test_one_burst),
		cmocka_unit_test(test_untestable),
		cmocka_unit_test(test_lags_are_many),
		cmocka_unit_test(test_sums_are_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
