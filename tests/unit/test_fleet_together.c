/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence FLEET_TOGETHER: causes that must be reported, and fleets without one, each beside the
 * plain way that gets it wrong. tests/sim/fleet_together.c has the rates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "fleet/analyses.h"
#include "fleet/paper.h"
#include "fleet/state.h"
#include "../sim/fleet_plain.h"

struct rig {
	struct model model;
	struct fleet_result result;
};

/* Analyzes synchrony alone: other evidence explains some of it. */
static int together(const struct fleet *f, const struct fleet_options *options,
		    struct fleet_result *result)
{
	*result = (struct fleet_result){ 0 };
	vec_init(&result->findings, FLEET_RESOURCES_MAX);
	vec_init(&result->members, FLEET_CONNECTIONS_MAX);
	vec_init(&result->same, FLEET_RESOURCES_MAX);
	return fleet_together(f, options, result);
}

static void rig_make(struct rig *rig, const struct model_config *config, uint64_t seed)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };

	model_make(&rig->model, config, seed);
	assert_int_equal(together(rig->model.fleet, &options, &rig->result), 0);
}

static void rig_release(struct rig *rig)
{
	fleet_result_release(&rig->result);
	model_release(&rig->model);
}

static const struct fleet_finding *told(const struct rig *rig, uint32_t resource)
{
	vec_for_each(&rig->result.findings, finding)
		if (finding->evidence == FLEET_TOGETHER && finding->resource == resource)
			return finding;
	return NULL;
}

static size_t findings(const struct rig *rig)
{
	size_t n = 0;

	vec_for_each(&rig->result.findings, finding)
		n += finding->evidence == FLEET_TOGETHER;
	return n;
}

/* Returns the runs of `seeds` in which anything is reported. */
static unsigned int alarms(const struct model_config *config, unsigned int seeds)
{
	unsigned int n = 0;

	for (unsigned int seed = 1; seed <= seeds; seed++) {
		struct rig rig;

		rig_make(&rig, config, seed);
		n += findings(&rig) > 0;
		rig_release(&rig);
	}
	return n;
}

static struct model_config host_of(uint32_t connections)
{
	struct model_config config = model_default();

	config.racks = config.hosts = config.apps = 1;
	config.connections = connections;
	return config;
}

static struct model_config with_cause(enum fleet_kind kind)
{
	struct model_config config = model_default();

	config.guilty = kind;
	config.causes = 1;
	config.loading = kind == FLEET_HOST ? 1 : 0.7;
	return config;
}

static uint32_t resource(const struct rig *rig, enum fleet_kind kind, const char *name)
{
	uint32_t index;

	assert_int_equal(fleet_resource(rig->model.fleet, kind, name, &index), 0);
	return index;
}

/* ---- nothing to tell ---- */

/* Long stretches of time look alike by chance: variances as if intervals were independent. */
static void test_independent_with_memory(void **state)
{
	struct model_config config = host_of(10);
	unsigned int alarms_plain = 0;

	(void)state;
	config.burst = 30;
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct synchrony s;
		struct rig rig;

		rig_make(&rig, &config, seed);
		assert_int_equal(findings(&rig), 0);
		s = plain_synchrony(&rig.model, rig.model.fleet->all.items[0].host);
		alarms_plain += s.u / sqrt(2 * config.intervals * 90) > 2.33;
		rig_release(&rig);
	}
	assert_true(alarms_plain >= 4);
}

/* SNAP's vectors of all classes: connections with the same one class correlate. */
static void test_classes_are_not_concatenated(void **state)
{
	struct model_config config = host_of(20);
	struct rig rig;

	(void)state;
	config.law = MODEL_EVENTS;
	config.duty = 0.8;
	rig_make(&rig, &config, 1);
	assert_true(plain_correlation(&rig.model, 5) > FLEET_PAPER_ALPHA);
	assert_true(plain_correlation(&rig.model, 1) < 0.05);
	assert_int_equal(findings(&rig), 0);
	rig_release(&rig);
}

/* Passes of one host's poller are missing for all of its connections. */
static void test_shared_passes(void **state)
{
	struct model_config config = model_default();
	struct rig rig;

	(void)state;
	config.law = MODEL_NOISY;
	config.duty = 0.5;
	config.burst = 1;
	config.passless = 0.3;
	assert_int_equal(alarms(&config, 5), 0);
	config.zeros = true;
	rig_make(&rig, &config, 1);
	assert_true(findings(&rig) >= 10);
	rig_release(&rig);
}

static void test_load_common_to_all(void **state)
{
	struct model_config config = model_default();
	struct rig rig;

	(void)state;
	config.load = 0.9;
	config.duty = 0.3;
	config.burst = 1;
	config.connections = 12;
	rig_make(&rig, &config, 1);
	assert_true(plain_z(&rig.model, FLEET_RACK) > 5);
	rig_release(&rig);
	assert_int_equal(alarms(&config, 5), 0);
	/* One host, with nothing outside of it. */
	config.racks = config.hosts = 1;
	assert_int_equal(alarms(&config, 5), 0);
}

static void test_estimated_shares(void **state)
{
	struct model_config config = model_default();

	(void)state;
	config.law = MODEL_NOISY;
	config.duty = 0.5;
	config.samples = 5;
	assert_int_equal(alarms(&config, 5), 0);
}

/* The load that is removed is an estimate, too: a regression as if it were not leaves some. */
static void test_estimated_load(void **state)
{
	struct model_config config = model_default();
	struct rig rig;

	(void)state;
	config.law = MODEL_NOISY;
	config.load = 0.9;
	config.duty = 0.3;
	config.burst = 1;
	config.connections = 12;
	config.samples = 5;
	assert_int_equal(alarms(&config, 5), 0);
	rig_make(&rig, &config, 1);
	assert_true(plain_regressed_z(&rig.model, FLEET_RACK) > 4);
	rig_release(&rig);
}

static void test_too_few(void **state)
{
	struct model_config config = host_of(1);
	struct rig rig;

	(void)state;
	rig_make(&rig, &config, 1);
	assert_false(isfinite(plain_correlation(&rig.model, 1)));
	assert_int_equal(findings(&rig), 0);
	assert_int_equal(rig.result.tested, 0);
	assert_int_equal(rig.result.too_few, 1);
	rig_release(&rig);
	config.connections = 2;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.tested, 1);
	rig_release(&rig);
	config.connections = 10;
	config.intervals = 20;
	rig_make(&rig, &config, 1);
	assert_int_equal(rig.result.tested, 0);
	rig_release(&rig);
	config.intervals = 100;
	config.law = MODEL_EVENTS;
	config.duty = 1e-9;
	rig_make(&rig, &config, 1);
	assert_false(isfinite(plain_correlation(&rig.model, 1)));
	assert_int_equal(rig.result.tested + rig.result.too_few, 0);
	rig_release(&rig);
}

/* ---- causes ---- */

static void test_seven_of_thirty_five(void **state)
{
	struct model_config config = host_of(35);
	const struct fleet_finding *finding;
	struct rig rig;

	(void)state;
	config.guilty = FLEET_HOST;
	config.causes = 1;
	config.members = 7;
	rig_make(&rig, &config, 1);
	assert_true(plain_correlation(&rig.model, 1) < FLEET_PAPER_ALPHA / 4);
	finding = told(&rig, rig.model.guilty[0]);
	assert_non_null(finding);
	assert_int_equal(finding->n, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(rig.model.cause[rig.result.members.items[finding->first + i].conn],
				 0);
	assert_int_equal(finding->connections, 35);
	assert_int_equal(finding->hosts, 1);
	assert_true(finding->p < 0.01 && finding->z > 5);
	/* The rack, the link, the application and the others are the same connections. */
	assert_int_equal(findings(&rig), 1);
	assert_int_equal(finding->n_same, 5);
	rig_release(&rig);
}

/* All pairs of a rack with a bad host correlate; those of different hosts don't. */
static void test_a_bad_host_is_not_its_rack(void **state)
{
	const struct model_config config = with_cause(FLEET_HOST);
	unsigned int pairs = 0;
	struct rig rig;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		rig_make(&rig, &config, seed);
		assert_non_null(told(&rig, rig.model.guilty[0]));
		assert_null(told(&rig, resource(&rig, FLEET_RACK, "rack0")));
		pairs += plain_pairs_z(&rig.model, resource(&rig, FLEET_RACK, "rack0")) > 5;
		rig_release(&rig);
	}
	assert_true(pairs >= 4);
}

static void assert_located(enum fleet_kind kind)
{
	const struct model_config config = with_cause(kind);

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct rig rig;

		rig_make(&rig, &config, seed);
		assert_non_null(told(&rig, rig.model.guilty[0]));
		assert_int_equal(findings(&rig), 1);
		rig_release(&rig);
	}
}

static void test_a_bad_rack(void **state)
{
	struct model_config config = with_cause(FLEET_RACK);
	struct rig rig;

	(void)state;
	assert_located(FLEET_RACK);
	/* By itself, each of its hosts and the link look guilty, too. */
	rig_make(&rig, &config, 1);
	assert_true(plain_z(&rig.model, FLEET_HOST) > 5);
	assert_true(plain_z(&rig.model, FLEET_LINK) > 5);
	rig_release(&rig);
}

/* An application spans racks, and a rack spans applications. */
static void test_a_bad_application(void **state)
{
	struct model_config config = with_cause(FLEET_APP);
	struct rig rig;

	(void)state;
	assert_located(FLEET_APP);
	rig_make(&rig, &config, 1);
	assert_true(plain_z(&rig.model, FLEET_RACK) > 2.5);
	rig_release(&rig);
}

static void test_a_bad_link(void **state)
{
	(void)state;
	assert_located(FLEET_LINK);
}

/* ---- imperfect data ---- */

static void test_missing_intervals_and_short_lives(void **state)
{
	struct model_config config = with_cause(FLEET_RACK);
	struct rig rig;

	(void)state;
	config.connections = 12;
	config.unknown = 0.3;
	rig_make(&rig, &config, 1);
	assert_non_null(told(&rig, rig.model.guilty[0]));
	rig_release(&rig);
	config.unknown = 0;
	config.lives = true;
	rig_make(&rig, &config, 1);
	assert_non_null(told(&rig, rig.model.guilty[0]));
	rig_release(&rig);
	config.causes = 0;
	assert_int_equal(alarms(&config, 5), 0);
	config.law = MODEL_NOISY;
	config.duty = 0.5;
	rig_make(&rig, &config, 1);
	assert_int_equal(findings(&rig), 0);
	assert_true(plain_z(&rig.model, FLEET_RACK) < 3);
	rig_release(&rig);
	config.zeros = true;
	rig_make(&rig, &config, 1);
	assert_true(plain_z(&rig.model, FLEET_RACK) > 5);
	rig_release(&rig);
}

/* Where shares are estimated worse, connections correlate less: the others' host isn't guilty. */
static void test_a_bad_rack_of_estimated_shares(void **state)
{
	struct model_config config = with_cause(FLEET_RACK);

	(void)state;
	config.law = MODEL_NOISY;
	config.loading = 1;
	config.racks = 16;
	config.samples = 2;
	config.first_exact = true;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig rig;
		double excess;

		rig_make(&rig, &config, seed);
		excess = plain_synchrony(&rig.model, resource(&rig, FLEET_HOST, "host0")).rho -
			 plain_synchrony(&rig.model, rig.model.guilty[0]).rho;
		assert_true(excess > 0.2);
		assert_non_null(told(&rig, rig.model.guilty[0]));
		assert_int_equal(findings(&rig), 1);
		rig_release(&rig);
	}
}

/* Returns how many members are connections of the first host. */
static uint32_t members_of_host(const struct rig *rig, const struct fleet_finding *finding)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < finding->n; i++)
		n += rig->result.members.items[finding->first + i].conn <
		     rig->model.config.connections;
	return n;
}

/* Returns the paper's mean correlation of the guilty resource. */
static double paper_correlation(const struct rig *rig)
{
	struct fleet_paper all;
	double acc = 0;

	assert_int_equal(fleet_paper(rig->model.fleet, 0, &all), 0);
	vec_for_each(&all, resource)
		if (resource->resource == rig->model.guilty[0])
			acc = resource->acc;
	vec_release(&all);
	return acc;
}

/*
 * The clock of a rack's first host is off, with bursts of one interval. Asserts how many of its
 * connections and of the others are named; returns the paper's correlation.
 */
static double clock_off(uint64_t late_ns, uint32_t of_host, uint32_t others)
{
	struct model_config config = with_cause(FLEET_RACK);
	const struct fleet_finding *finding;
	struct rig rig;
	double acc;

	config.loading = 1;
	config.burst = 1;
	config.late_ns = late_ns;
	rig_make(&rig, &config, 1);
	acc = paper_correlation(&rig);
	finding = told(&rig, rig.model.guilty[0]);
	assert_non_null(finding);
	assert_int_equal(members_of_host(&rig, finding), of_host);
	assert_int_equal(finding->n, of_host + others);
	/* A reading that counts where it ends is in the next interval, where nothing is left. */
	assert_true(plain_late(&rig.model, 6, 18, 0) > 0.8);
	assert_true(fabs(plain_late(&rig.model, 6, 18, 1)) < 0.1);
	rig_release(&rig);
	return acc;
}

/* A clock that is 1 s off costs little; one that is 30 s off, its own host's part. */
static void test_clocks_that_are_off(void **state)
{
	(void)state;
	assert_true(clock_off(0, 6, 18) > FLEET_PAPER_ALPHA);
	assert_true(clock_off(NS_PER_S, 6, 18) > FLEET_PAPER_ALPHA);
	assert_true(clock_off(30 * NS_PER_S, 0, 18) < FLEET_PAPER_ALPHA);
}

/*
 * 1,000 hosts, 10 of them bad: all are reported, and next to no others. Each by itself, hundreds
 * are significant. The simulation has 100,000.
 */
static void test_many_resources(void **state)
{
	struct model_config config = with_cause(FLEET_HOST);
	uint32_t right = 0;
	struct rig rig;

	(void)state;
	config.racks = 100;
	config.hosts = 10;
	config.connections = 4;
	config.apps = 1;
	config.intervals = 200;
	config.causes = 10;
	rig_make(&rig, &config, 1);
	for (uint32_t i = 0; i < config.causes; i++)
		right += told(&rig, rig.model.guilty[i]) != NULL;
	assert_in_range(right, 8, 10);
	assert_true(findings(&rig) <= right + 1);
	assert_true(plain_significant(&rig.model, FLEET_HOST, 0.05) > 50);
	rig_release(&rig);
}

/* The same fleet gives the same result, with other seeds of the shifts nearly the same. */
static void test_deterministic(void **state)
{
	const struct model_config config = with_cause(FLEET_RACK);
	const struct fleet_options other = { .alpha = 0.05, .seed = 2 };
	struct fleet_result result;
	struct rig a, b;

	(void)state;
	rig_make(&a, &config, 1);
	rig_make(&b, &config, 1);
	assert_int_equal(a.result.findings.len, b.result.findings.len);
	assert_memory_equal(a.result.members.items, b.result.members.items,
			    a.result.members.len * sizeof(*a.result.members.items));
	assert_true(a.result.findings.items[0].p == b.result.findings.items[0].p);
	assert_int_equal(together(a.model.fleet, &other, &result), 0);
	assert_int_equal(a.result.findings.len, result.findings.len);
	assert_int_equal(a.result.findings.items[0].resource, result.findings.items[0].resource);
	fleet_result_release(&result);
	rig_release(&a);
	rig_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independent_with_memory),
		cmocka_unit_test(test_classes_are_not_concatenated),
		cmocka_unit_test(test_shared_passes),
		cmocka_unit_test(test_load_common_to_all),
		cmocka_unit_test(test_estimated_shares),
		cmocka_unit_test(test_estimated_load),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_seven_of_thirty_five),
		cmocka_unit_test(test_a_bad_host_is_not_its_rack),
		cmocka_unit_test(test_a_bad_rack),
		cmocka_unit_test(test_a_bad_application),
		cmocka_unit_test(test_a_bad_link),
		cmocka_unit_test(test_missing_intervals_and_short_lives),
		cmocka_unit_test(test_a_bad_rack_of_estimated_shares),
		cmocka_unit_test(test_clocks_that_are_off),
		cmocka_unit_test(test_many_resources),
		cmocka_unit_test(test_deterministic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
