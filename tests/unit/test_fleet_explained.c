/* SPDX-License-Identifier: Apache-2.0 */
/* Which findings of a fleet explain others, of the same connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/parse.h"
#include "fleet/explained.h"

#define CONNS 8u

static const struct fleet_grid grid = { 1000 * NS_PER_S, 2 * NS_PER_S, 10 };

struct toy {
	struct fleet *f;
	struct fleet_result result;
};

static void make(struct toy *t)
{
	uint32_t host, conn;

	*t = (struct toy){ .f = fleet_new(&grid) };
	assert_non_null(t->f);
	assert_int_equal(fleet_resource(t->f, FLEET_HOST, "web1", &host), 0);
	for (uint32_t i = 0; i < CONNS; i++)
		assert_int_equal(fleet_connection(t->f, &(struct fleet_conn){
			.host = host, .shares = &host, .n = 1, .name = "a > b" }, &conn), 0);
	vec_init(&t->result.findings, 16);
	vec_init(&t->result.members, 64);
	vec_init(&t->result.same, 16);
}

/* Adds a finding of timeouts with these connections behind it: those of a mask. */
static struct fleet_finding *finding(struct toy *t, enum fleet_evidence evidence, uint32_t resource,
				     uint32_t mask)
{
	const uint32_t first = (uint32_t)t->result.members.len;

	for (uint32_t i = 0; i < CONNS; i++)
		if (mask >> i & 1)
			assert_int_equal(vec_push(&t->result.members,
						  (struct fleet_member){ .conn = i }), 0);
	assert_int_equal(vec_push(&t->result.findings, (struct fleet_finding){
		.evidence = evidence, .class = FLEET_TIMEOUT, .resource = resource,
		.rho = evidence == FLEET_TOGETHER ? 0.5 : NAN, .within = FLEET_NONE,
		.first = first, .n = (uint32_t)t->result.members.len - first }), 0);
	return vec_last(&t->result.findings);
}

static void finish(struct toy *t, size_t left)
{
	assert_int_equal(fleet_explained(t->f, &t->result), 0);
	assert_int_equal(t->result.findings.len, left);
}

static void release(struct toy *t)
{
	fleet_result_release(&t->result);
	fleet_free(t->f);
}

static void more_explains_synchrony(void **state)
{
	struct toy t;

	(void)state;
	make(&t);
	finding(&t, FLEET_TOGETHER, 1, 0x0f);
	finding(&t, FLEET_MORE, 2, 0x3c); /* half of those */
	finding(&t, FLEET_AT_ONCE, 3, 0x30);
	finish(&t, 1);
	assert_int_equal(t.result.findings.items[0].resource, 2);
	assert_true(isnan(t.result.findings.items[0].rho));
	release(&t);
}

static void correlation_of_the_same_resource_stays(void **state)
{
	struct toy t;

	(void)state;
	make(&t);
	finding(&t, FLEET_MORE, 2, 0x0f);
	finding(&t, FLEET_TOGETHER, 2, 0x0f);
	finish(&t, 1);
	assert_true(t.result.findings.items[0].rho > 0.4);
	release(&t);
}

static void others_stay(void **state)
{
	struct toy t;

	(void)state;
	make(&t);
	finding(&t, FLEET_TOGETHER, 1, 0x0f);
	finding(&t, FLEET_MORE, 2, 0x38);      /* a quarter */
	finding(&t, FLEET_MORE, 3, 0x38);      /* none of MORE explains another */
	finding(&t, FLEET_AT_ONCE, 4, 0);      /* nobody is behind it */
	finding(&t, FLEET_TOGETHER, 1, 0x38)->class = FLEET_DELAYED_ACK;
	finish(&t, 5);
	release(&t);
}

static void an_inner_finding_moves(void **state)
{
	struct toy t;

	(void)state;
	make(&t);
	finding(&t, FLEET_TOGETHER, 1, 0x0f);
	finding(&t, FLEET_TOGETHER, 5, 0xc0)->within = 0;
	finding(&t, FLEET_MORE, 2, 0x0f);
	finish(&t, 2);
	assert_int_equal(t.result.findings.items[0].resource, 5);
	assert_int_equal(t.result.findings.items[0].within, 1);
	assert_int_equal(t.result.findings.items[1].within, FLEET_NONE);
	release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_explains_synchrony),
		cmocka_unit_test(correlation_of_the_same_resource_stays),
		cmocka_unit_test(others_stay),
		cmocka_unit_test(an_inner_finding_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
