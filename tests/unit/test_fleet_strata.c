/* SPDX-License-Identifier: Apache-2.0 */
/* Comparable connections: each kind of resource is compared within its own strata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "fleet/strata.h"
#include "fleet_toy.h"

#define CLASS FLEET_TIMEOUT
#define CONNS 48u

static struct strata strata;
static bool left[CONNS];

/* Adds 4 hosts of 2 racks, each with 12 connections of 2 applications over 2 links. */
static int begin(void **state)
{
	(void)state;
	toy_init(&toy);
	for (uint32_t i = 0; i < CONNS; i++) {
		const struct toy_conn where = { i / 12, i / 24, i % 2, i / 2 % 2, FLEET_NONE };
		const uint32_t conn = toy_connect(&toy, &where);

		toy_read(&toy, conn, 0, TOY_INTERVALS, CLASS, (1 + i / 12 + 10 * (i % 2)) / 100.0);
		left[i] = true;
	}
	assert_int_equal(strata_init(&strata, toy.f), 0);
	strata_count(&strata, CLASS, left);
	return 0;
}

static int end(void **state)
{
	(void)state;
	strata_release(&strata);
	toy_release(&toy);
	return 0;
}

/* Returns the rates for connection 0, of host, rack, application and link 0. */
static struct strata_rates rates_of(enum fleet_kind kind)
{
	const uint32_t resource = toy_resource(&toy, kind, 0);
	struct strata_rates rates = { NAN, NAN, NAN };

	for (uint32_t i = 0; i < CONNS; i++)
		for (uint32_t k = 0; k < toy.f->all.items[i].n; k++)
			if (toy.f->shares.items[toy.f->all.items[i].shares + k] == resource)
				strata_own(&strata, CLASS, i);
	strata_rates(&strata, kind, 0, &rates);
	for (uint32_t i = 0; i < CONNS; i++)
		strata_disown(&strata, i);
	return rates;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static void each_kind_has_its_strata(void **state)
{
	(void)state;
	/* application 0 on the other rack: hosts 2 and 3 have 0.03 and 0.04 */
	assert_true(near(rates_of(FLEET_RACK).limited, 0.035));
	assert_true(near(rates_of(FLEET_RACK).lost, 0.035));
	/* application 0 on the other hosts: 0.02, 0.03, 0.04 */
	assert_true(near(rates_of(FLEET_HOST).limited, 0.03));
	/* the other application on host 0 */
	assert_true(near(rates_of(FLEET_APP).limited, 0.11));
	/* the same application on the same host, over the other link */
	assert_true(near(rates_of(FLEET_LINK).limited, 0.01));
}

/* Half of application 0 is in rack 0, with a mean of 0.015: 1 - sqrt(1/2) of it is mixed in. */
static void own_rate_is_mixed_in(void **state)
{
	(void)state;
	assert_true(near(rates_of(FLEET_RACK).aligned, 0.035 + (1 - sqrt(0.5)) * (0.015 - 0.035)));
}

static void explained_connections_do_not_count(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CONNS; i++)
		left[i] = i / 12 != 3;
	strata_count(&strata, CLASS, left);
	assert_true(near(rates_of(FLEET_RACK).limited, 0.03));
	/* two others are too few */
	for (uint32_t i = 0; i < CONNS; i++)
		left[i] = i < 28;
	strata_count(&strata, CLASS, left);
	assert_true(isnan(rates_of(FLEET_RACK).limited));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_kind_has_its_strata),
		CASE(own_rate_is_mixed_in),
		CASE(explained_connections_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
