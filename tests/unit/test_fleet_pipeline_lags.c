/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of pipelines that end early: no finding may change by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../sim/pipeline_model.h"
#include "fleet/pipeline_lags.h"

static void compare_pair(struct pipeline_work *work, uint32_t from, uint32_t to, double care,
			 unsigned int *same, unsigned int *ended)
{
	struct pipeline_pair pair;
	struct pipeline_test all, early;

	assert_int_equal(pipeline_pair_make(work, from, to, &pair), 0);
	assert_int_equal(pipeline_lags_test(&pair, 1, &all), 0);
	assert_int_equal(pipeline_lags_test(&pair, care, &early), 0);
	pipeline_pair_release(&pair);
	assert_int_equal(all.testable, early.testable);
	assert_int_equal(all.p <= care, early.p <= care);
	if (all.p <= care)
		assert_memory_equal(&all.p, &early.p, sizeof(all.p));
	*same += all.p <= care;
	*ended += all.p != early.p;
}

static void compare_care(const struct pipeline_model *m, double care, unsigned int *same,
			 unsigned int *ended)
{
	struct pipeline_work work;

	assert_int_equal(pipeline_work_init(&work, m->fleet), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.waiting, FLEET_SENDER_APP, false), 0);
	assert_int_equal(pipeline_side_fill(&work, &work.problem, m->config.class, true), 0);
	for (uint32_t i = 0; i < m->config.apps * m->config.apps; i++)
		compare_pair(&work, m->apps[i / m->config.apps], m->apps[i % m->config.apps], care,
			     same, ended);
	pipeline_work_release(&work);
}

/* Ending shifts early leaves every p up to `care` as it is, and raises none to below it. */
static void test_care_keeps_small_p(void **state)
{
	struct pipeline_config config = pipeline_default();
	unsigned int same = 0, ended = 0;

	(void)state;
	config.not_exclusive = true;
	for (unsigned int seed = 1; seed <= 10; seed++) {
		struct pipeline_model m;

		pipeline_model_make(&m, &config, seed);
		compare_care(&m, 0.02, &same, &ended);
		pipeline_model_release(&m);
	}
	assert_true(same > 0);
	assert_true(ended > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_care_keeps_small_p),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
