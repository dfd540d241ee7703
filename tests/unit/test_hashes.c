/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that are chosen so that they met in one slot of hashes without a key, and what else makes a
 * recording's connections look at each other: the work is counted in steps and stays within a
 * constant times the records. What is reported doesn't depend on the key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "conns/state.h"
#include "conns_rig.h"
#include "diagnose/contexts.h"
#include "diagnose/tasks.h"
#include "event/dict.h"
#include "load/balance.h"
#include "output/json.h"

#define COOKIES 20000u
#define ENDS 8000u
#define NAMES 1000u
#define TOO_MANY 5000u

static void test_reference(void **state)
{
	unsigned char bytes[16];

	(void)state;
	for (int i = 0; i < 16; i++)
		bytes[i] = (unsigned char)i;
	hash_key[0] = 0x0706050403020100;
	hash_key[1] = 0x0f0e0d0c0b0a0908;
	/* value from the reference program */
	assert_int_equal(hash_bytes("", 0), 0xabac0158050fc4dc);
	assert_int_not_equal(hash_bytes(bytes, 8), hash_bytes(bytes, 7));
	assert_int_equal(hash_u64(0x0706050403020100), hash_bytes(bytes, 8));
}

/* By Newton: each step doubles the bits that are right. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

static void test_cookies(void **state)
{
	const uint64_t inverse = inverse_of(0x9e3779b97f4a7c15);
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	for (uint64_t i = 1; i <= COOKIES; i++) {
		const struct event_conn e = rig_conn(&rig, i * inverse, 0);

		rig_put_fitted(&rig, e);
	}
	assert_int_equal(rig.c->n, COOKIES);
	assert_in_range(rig.c->steps, 1, 4 * COOKIES);
	rig_release(&rig);
}

/* Control: two ends are still joined when many others have their addresses. */
static void test_control_same_addresses_still_join(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 1000, "10.0.0.2", 80, 1);
	rig_flow(&rig, 2, "10.0.0.2", 80, "10.0.0.1", 1000, 1);
	for (uint32_t i = 1; i <= ENDS; i++) {
		rig_put_end(&rig, 2ull * i, 1, i << 18, i << 10, 0);
		rig_put_end(&rig, 2ull * i + 1, 2, i << 10, i << 18, 0);
	}
	rig_interval(&rig);
	assert_in_range(rig.c->steps, 1, 2ull * ENDS * 6 * 256);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, 2 * (ENDS - CONNS_SAME_TUPLE));
	rig_release(&rig);

	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 1000, "10.0.0.2", 80, 1);
	rig_flow(&rig, 2, "10.0.0.2", 80, "10.0.0.1", 1000, 1);
	for (uint32_t i = 1; i <= 20; i++) {
		rig_put_end(&rig, 2ull * i, 1, i << 25, i << 20, 0);
		rig_put_end(&rig, 2ull * i + 1, 2, i << 20, i << 25, 0);
	}
	rig_interval(&rig);
	for (uint32_t i = 0; i < rig.c->all.len; i++)
		assert_int_equal(rig.c->all.items[rig.c->all.items[i].peer - 1].cookie,
				 rig.c->all.items[i].cookie ^ 1);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, 0);
	rig_release(&rig);
}

static void test_same_cookie(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= COOKIES; i++) {
		const struct event_conn e = rig_conn(&rig, 7, i);

		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.0.2", 80, i);
		rig_put_fitted(&rig, e);
	}
	assert_int_equal(rig.c->n, CONNS_SAME_COOKIE);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, COOKIES - CONNS_SAME_COOKIE);
	assert_in_range(rig.c->steps, 1, 4ull * COOKIES * 256);
	rig_release(&rig);
}

/* More connections than are stored, none of which has closed, and then some more. */
static void test_more_connections_than_kept(void **state)
{
	struct conns_rig rig;
	struct event_conn e;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= CONNS_MAX + TOO_MANY; i++) {
		e = rig_conn(&rig, i, 0);
		rig_put_fitted(&rig, e);
	}
	assert_int_equal(rig.c->n, CONNS_MAX);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, TOO_MANY);
	assert_in_range(rig.c->steps, 1, 8 * CONNS_MAX);
	for (uint32_t i = 1; i <= 10; i++) {
		e = rig_conn(&rig, i, 0);
		e.flags |= CONN_CLOSED;
		rig_put_fitted(&rig, e);
	}
	rig_interval(&rig);
	for (uint32_t i = 1; i <= 10; i++) { /* control: in their places there are others */
		e = rig_conn(&rig, CONNS_MAX + TOO_MANY + i, 0);
		rig_put_fitted(&rig, e);
	}
	assert_int_equal(rig.c->n, CONNS_MAX);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, TOO_MANY);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].forgotten, 10);
	rig_release(&rig);
}

/* FNV-1a, by which names were found. */
static uint64_t fnv(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325 ^ DICT_STRING;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash ^ hash >> 32;
}

static void test_names(void **state)
{
	struct event_dict *dict = event_dict_new();
	uint32_t n = 0;

	(void)state;
	assert_non_null(dict);
	for (uint32_t i = 0; n < NAMES; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%x", i);
		if (fnv(text) % 4096)
			continue;
		assert_int_equal(event_dict_intern(dict, DICT_STRING, text, NULL, 0), ++n);
		assert_int_equal(event_dict_intern(dict, DICT_STRING, text, NULL, 0), n);
	}
	assert_in_range(event_dict_steps(dict), 0, 8 * NAMES);
	event_dict_free(dict);
}

/* ---- open addressing: a search takes as many steps as the longest run of places in use ---- */

#define ALIKE 3000u
/* limit for a table that is half full, with good odds: some 60 are usual */
#define LONGEST_RUN 150u

static uint32_t longest_run(const uint32_t *places, uint32_t n, uint32_t stride)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t i = 0; i < 2 * n; i++) {
		run = places[i % n * stride] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void test_tids(void **state)
{
	struct event_dict *dict = event_dict_new();
	struct tasks tasks;

	(void)state;
	assert_non_null(dict);
	for (uint32_t i = 1; i <= ALIKE; i++) {
		char text[48];

		snprintf(text, sizeof(text), "app (%u/%u)", i << 17, i << 17);
		assert_int_equal(event_dict_intern(dict, DICT_TASK, text, NULL, 0), i);
	}
	assert_int_equal(tasks_init(&tasks, dict), 0);
	assert_int_equal(tasks.threads, ALIKE);
	assert_int_equal(tasks_by_tid(&tasks, 7 << 17), 7); /* control */
	assert_in_range(longest_run(tasks.by_tid, tasks.room, 1), 1, LONGEST_RUN);
	tasks_release(&tasks);
	event_dict_free(dict);
}

static void test_contexts(void **state)
{
	const uint64_t inverse = inverse_of(0x9e3779b97f4a7c15);
	struct contexts contexts;

	(void)state;
	assert_int_equal(contexts_init(&contexts), 0);
	for (uint64_t i = 1; i <= ALIKE; i++) {
		const struct slice slice = {
			.segment_type = SEGMENT_TASK,
			.core_task = (uint32_t)(i * inverse >> 32),
			.core = (uint32_t)(i * inverse) ^ (uint32_t)SEGMENT_TASK << 24,
			.end = 1,
		};

		assert_int_equal(contexts_add(&contexts, &slice, true, false), 0);
	}
	assert_int_equal(contexts.all.len, ALIKE);
	assert_in_range(longest_run(contexts.places, 2 * CONTEXTS_MAX, 1), 1, LONGEST_RUN);
	contexts_release(&contexts);
}

static void test_flows(void **state)
{
	const uint32_t inverse = (uint32_t)inverse_of(2654435769);
	struct balance balance;

	(void)state;
	assert_int_equal(balance_init(&balance), 0);
	for (uint32_t i = 1; i <= ALIKE; i++)
		balance_add(&balance, i * inverse);
	assert_int_equal(balance.n, ALIKE);
	assert_in_range(longest_run(&balance.flows->flow, 2 * BALANCE_FLOWS,
				    sizeof(*balance.flows) / sizeof(uint32_t)), 1, LONGEST_RUN);
	balance_release(&balance);
}

static void test_names_not_kept(void **state)
{
	const struct event_loss loss = { .why = LOSS_DICT_FULL, .kind = EV_NAME, .records = 7 };
	struct strbuf out = STRBUF_INIT(1 << 24);
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_record(&rig, EV_LOSS, &loss, sizeof(loss));
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	json_report(&r, JSON_DOCUMENT, &out);
	assert_non_null(strstr(strbuf_str(&out), "7 names were dropped: "));
	assert_null(strstr(strbuf_str(&out), "events-lost"));
	strbuf_release(&out);
	report_release(&r);
	rig_release(&rig);
}

static char *report_with_key(uint64_t key)
{
	struct strbuf out = STRBUF_INIT(1 << 24);
	struct conns_rig rig;
	struct report r;

	hash_key[0] = key;
	hash_key[1] = ~key;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 300; i++) {
		rig_flow(&rig, 2 * i, "10.0.0.1", (uint16_t)(i % 50), "10.0.0.2", 80, 1);
		rig_flow(&rig, 2 * i + 1, "10.0.0.2", 80, "10.0.0.1", (uint16_t)(i % 50), 1);
		rig_put_end(&rig, 2ull * i, 2 * i, i << 24, i << 18, i % 3 ? 0 : CONN_CLOSED);
		rig_put_end(&rig, 2ull * i + 1, 2 * i + 1, i << 18, i << 24, 0);
		if (i % 100 == 0)
			rig_interval(&rig);
	}
	rig_report(&rig, CONNS_TOTAL, &r);
	json_report(&r, JSON_DOCUMENT, &out);
	report_release(&r);
	rig_release(&rig);
	assert_int_equal(out.error, 0);
	return strbuf_detach(&out);
}

static void test_any_key(void **state)
{
	char *first = report_with_key(1);

	(void)state;
	for (uint64_t key = 2; key < 6; key++) {
		char *other = report_with_key(key);

		assert_string_equal(first, other);
		free(other);
	}
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_control_same_addresses_still_join),
		cmocka_unit_test(test_same_cookie),
		cmocka_unit_test(test_more_connections_than_kept),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_tids),
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_names_not_kept),
		cmocka_unit_test(test_any_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
