/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a run, through facts and back, to the bit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "event/memsource.h"
#include "load/methods.h"
#include "load/setup_report.h"

static const struct load_config config = {
	.loop = LOOP_OPEN, .stamps = STAMPS_KERNEL, .role = ROLE_LATENCY, .rate = 1e5 / 3,
	.arrival = "lognormal:2", .workload = "etc,keys=10", .connections = 77, .outstanding = 3,
	.threads = 2, .requests_per_connection = 1000, .duration_ns = 12345678901,
	.timeout_ns = 3, .drain_ns = 4, .seed = UINT64_MAX, .pin = true, .preload = true,
	.ca_file = "ca.pem", .abort_on = "errors>5%",
	.bind = "10.0.0.1,10.0.0.2", .spread = true,
	.commands = { .items = { "3:GET {key}", "PING" }, .len = 2 },
};

static const struct load_analysis_config analysis = {
	.rate = 2e5 / 3, .method = METHOD_LANCET, .agents = 2, .probes = 1, .percentile = 0.999,
	.ci_width_ns = 10000, .confidence = 0.9, .max_time_ns = 12345678901, .max_errors = 1e-3,
	.abort_on = { .most[ABORT_ON_ERRORS] = 0.05, .given = 1 << ABORT_ON_ERRORS },
};

/* The facts that `from` puts, into `to`, but for the one that is to be left out. */
static int pass_facts(const struct load_setup *from, struct load_setup *to, const char *without)
{
	struct event_memsource *queue;
	struct event_block block;
	struct event event;
	int err = 0;

	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(load_setup_put(from, event_memsource_sink(queue), 1), 0);
	while (event_source_next(event_memsource_source(queue), &block) > 0) {
		for (size_t at = 0; !err && event_block_next(&block, &at, &event);) {
			const char *key, *value;

			event_fact_get(&event, &key, &value);
			if (!without || strcmp(key, without))
				err = load_setup_add_fact(to, key, value);
		}
	}
	event_memsource_free(queue);
	return err ? err : load_setup_complete(to);
}

static void make(struct load_setup *setup)
{
	struct strbuf why = STRBUF_INIT(1024);

	assert_int_equal(load_setup_init(setup, &config, &analysis, &why), 0);
	strbuf_release(&why);
}

static void test_round_trip(void **state)
{
	struct load_setup from, to = { 0 };
	struct load_config a, b;

	(void)state;
	make(&from);
	assert_int_equal(pass_facts(&from, &to, NULL), 0);
	assert_string_equal(to.config.arrival, "lognormal:2");
	assert_string_equal(to.config.workload, "etc,keys=10");
	a = from.config;
	b = to.config;
	assert_string_equal(to.config.ca_file, "ca.pem");
	assert_string_equal(to.config.abort_on, "errors>5%");
	assert_string_equal(to.config.bind, "10.0.0.1,10.0.0.2");
	a.abort_on = b.abort_on = a.bind = b.bind = NULL;
	assert_int_equal(to.config.commands.len, 2);
	assert_string_equal(to.config.commands.items[0], "3:GET {key}");
	assert_string_equal(to.config.commands.items[1], "PING");
	a.commands = b.commands = (struct opt_list){ 0 };
	a.arrival = b.arrival = a.workload = b.workload = a.ca_file = b.ca_file = NULL;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(to.analysis.stamps, STAMPS_KERNEL); /* told once, for both */
	assert_int_equal(to.analysis.arrival.kind, ARRIVAL_LOGNORMAL);
	assert_true(to.analysis.arrival.a == 2);
	assert_memory_equal(&from.analysis, &to.analysis, sizeof(from.analysis));
	load_setup_release(&to);
}

static void test_missing(void **state)
{
	static const char *const keys[] = { "load.rate", "load.arrival", "load.max_errors" };
	struct load_setup from, to;

	(void)state;
	make(&from);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		to = (struct load_setup){ 0 };
		assert_int_equal(pass_facts(&from, &to, keys[i]), -EBADMSG);
		load_setup_release(&to);
	}
	to = (struct load_setup){ 0 };
	assert_int_equal(pass_facts(&from, &to, "load.ca"), 0); /* a fact of an earlier version */
	assert_null(to.config.ca_file);
	load_setup_release(&to);
}

static const struct object *setup_of(struct report *r)
{
	for (const struct object_field *f = r->body.first; f; f = f->next)
		if (f->name && !strcmp(f->name, "setup"))
			return f->value.object;
	return NULL;
}

/*
 * The result shows the value of each option that generates load (cmd/load_options.c); options for
 * judging are in "method", the rate in "rate".
 */
static void test_result_repeats_all_settings(void **state)
{
	static const char *const names[] = {
		"targets", "arrival", "workload", "loop", "timestamps", "connections",
		"outstanding", "threads", "requests_per_connection", "max_time_ns", "timeout_ns",
		"drain_ns", "seed", "pin", "spin", "preload", "insecure", "ca", "ci_width_ns",
		"commands", "max_errors", "agents", "latency_agents",
	};
	struct load_setup setup;
	struct report r;

	(void)state;
	make(&setup);
	report_init(&r, &(struct provenance){ .version = "0", .command = "load", .host = "h" });
	load_setup_report(&setup, &r);
	assert_int_equal(report_error(&r), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct object_field *f = setup_of(&r)->first;

		while (f && strcmp(f->name, names[i]) != 0)
			f = f->next;
		if (!f)
			fail_msg("setup has no %s", names[i]);
		if (!strcmp(names[i], "ca"))
			assert_string_equal(f->value.string, "ca.pem");
		if (!strcmp(names[i], "preload"))
			assert_true(f->value.boolean);
	}
	report_release(&r);
}

static void test_impossible(void **state)
{
	static const char *const cases[][2] = {
		{ "load.rate", "fast" },	{ "load.rate", "nan" },	     { "load.rate", "1x" },
		{ "load.rate", "-1" },		{ "load.loop", "ajar" },     { "load.pin", "2" },
		{ "load.threads", "5000000000" }, { "load.seed", "" },	     { "load.role", "" },
	};
	/* Values that can be read, but not be meant. */
	static const char *const meant[][2] = {
		{ "load.percentile", "1" }, { "load.confidence", "0" }, { "load.agents", "65" },
		{ "load.probes", "3" },	    { "load.all_rate", "0" },	{ "load.arrival", "soon" },
		{ "load.max_time_ns", "0" },
	};
	struct load_setup from, to = { 0 };

	(void)state;
	make(&from);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(load_setup_add_fact(&to, cases[i][0], cases[i][1]), -EBADMSG);
	assert_int_equal(load_setup_add_fact(&to, "kernel.release", "6"), 0);
	for (size_t i = 0; i < ARRAY_LEN(meant); i++) {
		to = (struct load_setup){ 0 };
		assert_int_equal(pass_facts(&from, &to, NULL), 0);
		assert_int_equal(load_setup_add_fact(&to, meant[i][0], meant[i][1]), 0);
		assert_int_equal(load_setup_complete(&to), -EBADMSG);
		load_setup_release(&to);
	}
}

static void test_targets(void **state)
{
	struct load_setup setup = { 0 };

	(void)state;
	assert_int_equal(load_setup_add_fact(&setup, LOAD_FACT_TARGET, "null:"), 0);
	assert_int_equal(load_setup_add_fact(&setup, LOAD_FACT_TARGET, "echo://a"), 0);
	assert_int_equal(load_setup_add_fact(&setup, LOAD_FACT_TARGET, "null:"), 0);
	assert_int_equal(setup.n_targets, 2);
	assert_string_equal(setup.targets[1], "echo://a");
	load_setup_release(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_missing),
		cmocka_unit_test(test_impossible), cmocka_unit_test(test_targets),
		cmocka_unit_test(test_result_repeats_all_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
