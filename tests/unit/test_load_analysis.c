/* SPDX-License-Identifier: Apache-2.0 */
/* From events to the report of `load`: what is said, and what is left unsaid. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/load_feed.h"
#include "base/strbuf.h"
#include "event/kinds.h"
#include "load/analysis_state.h"
#include "load/gates.h"
#include "load/lancet.h"
#include "load/methods.h"
#include "output/json.h"
#include "output/text.h"

#define NS_PER_S 1000000000ULL

static const struct model queue = {
	.service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = 0.5, .seed = 3,
	.duration_ns = 8 * NS_PER_S };

struct run {
	struct load_analysis *a;
	struct requests requests;
	struct strbuf json, text;
};

static void configure(struct run *run, const struct model *model, uint64_t ci_width_ns)
{
	*run = (struct run){ .a = feed_analysis(model, 1, 0.99, ci_width_ns),
			     .json = STRBUF_INIT(1 << 24), .text = STRBUF_INIT(1 << 20) };
	model_run(model, &run->requests);
}

static void analyze_by(struct run *run, const struct load_analysis_config *config)
{
	load_analysis_free(run->a);
	run->a = load_analysis_new(config);
	assert_non_null(run->a);
}

static void report_of(struct run *run)
{
	const struct provenance nobody = { .version = "1", .command = "load",
					   .schema = LOAD_REPORT_SCHEMA };
	const struct text_style wide = { .width = 200, .utf8 = true };
	struct report r;

	report_init(&r, &nobody);
	assert_int_equal(load_analysis_report(run->a, &r), 0);
	json_report(&r, JSON_LINE, &run->json);
	text_report(&r, &wide, &run->text);
	assert_int_equal(run->json.error, 0);
	report_release(&r);
}

static void finish_with(struct run *run, uint64_t duration_ns, const struct feed_faults *faults)
{
	struct feed_agent agent = { .requests = &run->requests, .faults = *faults };

	feed(&agent, 1, duration_ns, &run->a, 1);
	assert_int_equal(load_analysis_finish(run->a), 0);
	report_of(run);
}

static void finish(struct run *run, uint64_t duration_ns)
{
	const struct feed_faults none = { 0 };

	finish_with(run, duration_ns, &none);
}

static void run_release(struct run *run)
{
	load_analysis_free(run->a);
	requests_release(&run->requests);
	strbuf_release(&run->json);
	strbuf_release(&run->text);
}

static void expect(const struct strbuf *text, const char *part)
{
	if (!strstr(strbuf_str(text), part))
		fail_msg("'%s' is not in: %.3000s", part, strbuf_str(text));
}

static void expect_not(const struct strbuf *text, const char *part)
{
	if (strstr(strbuf_str(text), part))
		fail_msg("'%s' is in: %.3000s", part, strbuf_str(text));
}

static void a_sound_run(void **state)
{
	struct load_quantile p99, far;
	struct load_status status;
	struct run run;

	(void)state;
	configure(&run, &queue, 0);
	load_analysis_status(run.a, &status);
	assert_int_equal(status.state, LOAD_STATE_CONNECTING);
	finish(&run, queue.duration_ns);
	assert_true(load_analysis_sound(run.a));
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_true(p99.known && p99.bounded && p99.lo_ns <= p99.ns && p99.ns <= p99.hi_ns);
	assert_true(p99.confidence == run.a->look_confidence && p99.confidence > 0.96);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.9999, &far);
	assert_true(far.known && !far.bounded && !far.upper && far.ns > p99.ns);
	assert_int_equal(far.why, LOAD_WHY_FEW_REQUESTS);
	assert_true(far.needed > run.requests.n);
	load_analysis_status(run.a, &status);
	assert_int_equal(status.state, LOAD_STATE_DONE);
	assert_int_equal(status.quantile_ns, p99.ns);
	assert_int_equal(status.samples, run.requests.n);
	expect(&run.json, "\"verdict\": \"ok\", \"reasons\": []");
	expect(&run.json, "\"unsent\": 0, \"in_flight\": 0");
	expect(&run.json, "\"rate\": {\"target\": 5000, ");
	expect(&run.json, "\"latency\": {\"intended\": {\"count\": ");
	expect(&run.json, "{\"q\": 0.999, \"ns\": ");
	expect(&run.json, "\"histogram\": {\"of\": \"intended\", \"schema\": 8, \"buckets\": [");
	expect(&run.text, "from intended send");
	expect(&run.text, "offered and reached");
	expect(&run.text, "] at 95 %");
	expect(&run.text, "sound for these 7.");
	expect_not(&run.text, "✗");
	run_release(&run);
}

static void an_unsound_run_shows_what_it_saw(void **state)
{
	struct model model = queue;
	struct load_quantile p99;
	struct run run;

	(void)state;
	model.duration_ns = NS_PER_S / 4;
	configure(&run, &model, 0);
	finish(&run, model.duration_ns);
	assert_false(load_analysis_sound(run.a));
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_true(p99.known && !p99.bounded && p99.ns > 0);
	expect(&run.json, "\"verdict\": \"n/a\"");
	expect(&run.json, "\"code\": \"too-few-exceedances\"");
	expect(&run.json, "\"lo_ns\": null, \"hi_ns\": null");
	expect(&run.text, "observed, no interval: needs about ");
	expect(&run.text, "not sound for these ");
	run_release(&run);
}

/* The run is over at its first tick. */
static void a_run_of_one_tick(void **state)
{
	struct model model = queue;
	struct run run;

	(void)state;
	model.duration_ns = LOAD_TICK_NS;
	configure(&run, &model, 0);
	finish(&run, model.duration_ns);
	assert_int_equal(run.a->elapsed_ns, LOAD_TICK_NS);
	assert_true(run.a->result.gates[GATE_RATE].known && run.a->result.gates[GATE_RATE].pass);
	expect_not(&run.json, "\"offered\": 0,");
	expect_not(&run.json, "\"achieved\": 0}");
	expect(&run.text, "/s offered and reached");
	run_release(&run);
}

/* A request that failed before its first byte went out was not sent. */
static void unsent_requests_count(void **state)
{
	struct event_sample samples[2] = {
		{ .intended = 10, .sent = 10, .done = 20, .flow = 1 },
		{ .intended = 11, .sent = 15, .done = 15, .flow = 1,
		  .flags = SAMPLE_FAILED | SAMPLE_UNSENT },
	};
	struct event_block block = { .kind = EV_SAMPLE, .count = 2, .data = samples,
				     .record_size = sizeof(samples[0]),
				     .size = sizeof(samples) };
	struct run run;

	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		configure(&run, &queue, 0);
		assert_int_equal(load_analysis_block(run.a, &block), LOAD_MORE);
		run.a->agents[0].last = (struct event_load){
			.scheduled = 5, .completed = 1, .failed = 2, .in_flight = 1, .unsent = 1,
			.samples_lost = (uint64_t)lost };
		assert_int_equal(load_analysis_finish(run.a), 0);
		report_of(&run);
		/* A request whose sample was lost may have been sent or not. */
		expect(&run.json, lost ? "\"sent\": null, \"completed\": 1, \"failed\": 2" :
					 "\"sent\": 3, \"completed\": 1, \"failed\": 2");
		run_release(&run);
	}
}

/* Samples came, but no tick that tells how many requests came due. */
static void unreported_values_are_not_zero(void **state)
{
	struct event_sample sample = { .intended = 10, .sent = 10, .done = 20, .flow = 1 };
	struct event_block block = { .kind = EV_SAMPLE, .count = 1, .data = &sample,
				     .record_size = sizeof(sample), .size = sizeof(sample) };
	struct run run;

	(void)state;
	configure(&run, &queue, 0);
	assert_int_equal(load_analysis_block(run.a, &block), LOAD_MORE);
	assert_int_equal(load_analysis_finish(run.a), 0);
	assert_false(run.a->result.gates[GATE_RATE].pass);
	report_of(&run);
	expect(&run.json, "\"offered\": null, \"achieved\": null");
	expect(&run.json, "\"elapsed_ns\": null");
	expect(&run.json, "\"code\": \"rate-not-reached\"");
	expect(&run.text, "rate n/a");
	expect(&run.text, "(1 decision)");
	run_release(&run);
}

/* Stopping early: the interval is that of the look, of what was complete then. */
static void a_run_that_stops(void **state)
{
	struct load_quantile p99;
	struct run run;

	(void)state;
	configure(&run, &queue, 400000);
	finish(&run, queue.duration_ns);
	assert_true(load_analysis_sound(run.a));
	assert_true(run.a->looks < LOAD_QUANTILES);
	assert_true(run.a->look_confidence > 0.98);
	assert_true(run.a->result.pooled[LOAD_INTENDED].count < run.requests.n * 2 / 3);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_true(p99.bounded && p99.hi_ns - p99.lo_ns <= 400000);
	run_release(&run);
}

/* A server that froze before the end: the slowest requests of all have no sample. */
static void unanswered_requests_count_as_slow(void **state)
{
	struct feed_agent agent;
	struct load_quantile p50, p99;
	struct run run;

	(void)state;
	configure(&run, &queue, 0);
	agent = (struct feed_agent){ .requests = &run.requests };
	feed(&agent, 1, queue.duration_ns, &run.a, 1);
	run.a->agents[0].last.unsent = run.requests.n / 100;
	run.a->agents[0].last.in_flight = run.requests.n / 100;
	assert_int_equal(load_analysis_finish(run.a), 0);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.5, &p50);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_true(p50.bounded && p99.known && !p99.bounded);
	run_release(&run);
}

static void closed_loop_is_named(void **state)
{
	struct load_analysis_config config;
	struct run run;

	(void)state;
	configure(&run, &queue, 0);
	config = run.a->config;
	config.loop = LOOP_CLOSED;
	analyze_by(&run, &config);
	finish(&run, queue.duration_ns);
	expect(&run.json, "\"intended\": null, \"actual\": {");
	expect(&run.json, "\"target\": null");
	expect(&run.json, "\"loop\": \"closed\"");
	expect(&run.text, "closed loop");
	expect_not(&run.text, "from intended send");
	expect_not(&run.json, "\"name\": \"arrivals\"");
	run_release(&run);
}

static void the_papers_method(void **state)
{
	struct load_analysis_config config;
	struct load_quantile p99;
	struct model model = queue;
	struct run run;

	(void)state;
	model.load = 0.05; /* hardly any queue: samples soon look independent */
	model.duration_ns = 120 * NS_PER_S;
	configure(&run, &model, 0);
	config = run.a->config;
	config.method = METHOD_LANCET;
	analyze_by(&run, &config);
	finish(&run, model.duration_ns);
	expect(&run.json, "\"method\": {\"name\": \"lancet\"");
	expect(&run.text, "from actual send");
	assert_int_equal(((struct lancet *)run.a->method_state)->verdict, LANCET_DONE);
	load_analysis_quantile(run.a, LOAD_ACTUAL, 0.99, &p99);
	assert_true(p99.bounded && p99.lo_ns <= p99.ns && p99.ns <= p99.hi_ns);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_true(p99.known && !p99.bounded); /* the paper has no such latency */
	run_release(&run);
}

static void only_probes_count_where_there_are_some(void **state)
{
	struct event_sample samples[2] = {
		{ .intended = 5000, .sent = 5000, .done = 6000, .flow = 1 },
		{ .intended = 5000, .sent = 5000, .done = 7000, .flow = 1,
		  .flags = SAMPLE_PROBE },
	};
	struct event_block block = { .kind = EV_SAMPLE, .count = 2, .data = samples,
				     .record_size = sizeof(samples[0]),
				     .size = sizeof(samples) };
	struct load_analysis_config config = {
		.rate = 100, .agents = 2, .probes = 1, .percentile = 0.99, .confidence = 0.95,
		.max_time_ns = NS_PER_S };

	(void)state;
	for (int probes = 0; probes < 2; probes++) {
		struct load_analysis *a;

		config.probes = (uint32_t)probes;
		a = load_analysis_new(&config);
		assert_non_null(a);
		assert_int_equal(load_analysis_block(a, &block), LOAD_MORE);
		assert_int_equal(a->series.windows[0].latency[LOAD_INTENDED].count, 1);
		assert_int_equal(a->series.windows[0].latency[LOAD_INTENDED].max,
				 probes ? 2000 : 1000);
		load_analysis_free(a);
	}
}

/* A loading agent of `load` and a latency agent that is on time. */
static struct load_analysis *with_probes(const struct model *load, double cpu, uint64_t gap_ns)
{
	struct feed_agent agents[2] = {
		{ .faults.cpu = cpu },
		{ .faults = { .probe = true, .noise_every_ns = NS_PER_S / 2, .noise_ns = gap_ns } },
	};
	struct load_analysis *a = feed_analysis(load, 2, 0.99, 0);
	struct requests requests[2] = { 0 };

	a->config.probes = 1;
	model_run(load, &requests[0]);
	model_run(&queue, &requests[1]);
	for (int i = 0; i < 2; i++)
		agents[i].requests = &requests[i];
	feed(agents, 2, queue.duration_ns, &a, 1);
	assert_int_equal(load_analysis_finish(a), 0);
	for (int i = 0; i < 2; i++)
		requests_release(&requests[i]);
	return a;
}

static void loaders_are_judged_beside_probes(void **state)
{
	struct model late = queue;
	struct load_analysis *a;

	(void)state;
	late.client_stall.every_ns = NS_PER_S / 5;
	late.client_stall.ns = NS_PER_S / 200;
	a = with_probes(&queue, 0, 0);
	assert_true(a->result.gates[GATE_NOISE].known && a->result.gates[GATE_NOISE].pass);
	assert_true(a->result.gates[GATE_CLIENT].pass && a->result.gates[GATE_CPU].pass);
	assert_int_equal(a->result.lag[LAG_COUNTED].count, a->agents[1].samples);
	assert_int_equal(a->agents[0].samples, 0);
	load_analysis_free(a);
	a = with_probes(&late, 0.95, 0);
	assert_false(a->result.gates[GATE_CLIENT].pass);
	assert_false(a->result.gates[GATE_CPU].pass);
	load_analysis_free(a);
	/* 0.8 % of the probe's time: the loader's quiet thread doesn't make it less. */
	a = with_probes(&queue, 0, NS_PER_S / 250);
	assert_false(a->result.gates[GATE_NOISE].pass);
	load_analysis_free(a);
}

/*
 * 0.07 % of the requests are sent late: nothing for p99, and most of what lies beyond p99.9, whose
 * lower bound allows for it.
 */
static void late_sends_lower_the_bounds_of_the_far_tail(void **state)
{
	struct feed_agent agent;
	struct model model = queue;
	struct load_analysis *both[2];
	struct requests requests = { 0 };
	struct load_quantile p99, p999;
	uint64_t clean = 0;

	(void)state;
	model.duration_ns = 60 * NS_PER_S;
	model.client_stall.every_ns = 5 * NS_PER_S / 2;
	for (int late = 0; late < 2; late++) {
		model.client_stall.ns = late ? NS_PER_S / 500 : 0;
		model_run(&model, &requests);
		agent = (struct feed_agent){ .requests = &requests };
		both[0] = feed_analysis(&model, 1, 0.99, 0);
		both[1] = feed_analysis(&model, 1, 0.999, 0);
		feed(&agent, 1, model.duration_ns, both, 2);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(load_analysis_finish(both[i]), 0);
			load_analysis_quantile(both[i], LOAD_INTENDED, 0.99, &p99);
			load_analysis_quantile(both[i], LOAD_INTENDED, 0.999, &p999);
			assert_true(p99.bounded && p999.bounded);
			assert_int_equal(p999.touched > 0.0005, late);
			clean = late ? clean : p999.ns;
			assert_true(p999.lo_ns <= clean && clean <= p999.hi_ns);
			assert_true(p99.lo_ns > p99.ns / 2);
			assert_true(load_analysis_sound(both[i]));
			assert_int_equal(both[i]->result.gates[GATE_CLIENT].pass, !late || i == 0);
			load_analysis_free(both[i]);
		}
	}
	requests_release(&requests);
}

/* Seconds of sleep lie in a tick of a tenth by the monotonic clock. */
static void check_sleep(uint64_t asleep_ns, bool sound)
{
	const struct event_noise slept = {
		.what = NOISE_GAP, .begin = 1010 * NS_PER_S,
		.end = 1010 * NS_PER_S + LOAD_TICK_NS, .amount = asleep_ns };
	struct load_quantile p99;
	struct run run;

	configure(&run, &queue, 0);
	assert_int_equal(interference_sum_add(&run.a->interference, &slept), 0);
	assert_int_equal(interference_sum_add(&run.a->agents[0].interference, &slept), 0);
	finish(&run, queue.duration_ns);
	load_analysis_quantile(run.a, LOAD_INTENDED, 0.99, &p99);
	assert_int_equal(load_analysis_sound(run.a), sound);
	assert_int_equal(p99.bounded, sound);
	assert_int_equal(p99.why, sound ? LOAD_WHY_NONE : LOAD_WHY_STOPPED);
	if (sound)
		expect(&run.text, "disturbed: this host may have delayed ");
	else
		expect(&run.json, "\"code\": \"host-noisy\"");
	run_release(&run);
}

static void a_machine_that_slept_is_noisy(void **state)
{
	(void)state;
	check_sleep(NS_PER_S, true); /* 1 of 8 s, at the send and at the reply */
	check_sleep(2 * NS_PER_S, false); /* more than a fifth of the time */
}

static struct strbuf ccdf_of(uint64_t asleep_ns)
{
	const struct event_noise slept = {
		.what = NOISE_GAP, .begin = 1010 * NS_PER_S,
		.end = 1010 * NS_PER_S + LOAD_TICK_NS, .amount = asleep_ns };
	struct strbuf csv = STRBUF_INIT(1 << 20);
	struct run run;

	configure(&run, &queue, 0);
	assert_int_equal(interference_sum_add(&run.a->agents[0].interference, &slept), 0);
	finish(&run, queue.duration_ns);
	assert_int_equal(load_analysis_ccdf(run.a, &csv), 0);
	run_release(&run);
	return csv;
}

/* The same samples: what differs is the band, which a gap makes wider. */
static void a_disturbed_curve_has_a_wider_band(void **state)
{
	struct strbuf quiet = ccdf_of(1), slept = ccdf_of(NS_PER_S);

	(void)state;
	assert_true(quiet.len > 100);
	assert_string_not_equal(strbuf_str(&quiet), strbuf_str(&slept));
	strbuf_release(&quiet);
	strbuf_release(&slept);
}

/* Few requests, of which half are answered: no queue that only fluctuates. */
static void half_of_a_hundred_is_not_reached(void **state)
{
	struct run run;
	struct load_agent *agent;

	(void)state;
	configure(&run, &queue, 0);
	finish(&run, queue.duration_ns);
	agent = &run.a->agents[0];
	agent->before = (struct event_load){ 0 };
	agent->sending.scheduled = 100;
	agent->sending.completed = 52;
	agent->sending.failed = 0;
	assert_int_equal(gates_judge(run.a), 0);
	assert_false(run.a->result.gates[GATE_RATE].pass);
	agent->sending.completed = 90;
	assert_int_equal(gates_judge(run.a), 0);
	assert_true(run.a->result.gates[GATE_RATE].pass);
	run_release(&run);
}

static void nonsense_is_refused(void **state)
{
	struct event_sample sample = { .intended = 10, .sent = 9, .done = 20 };
	struct event_block block = { .kind = EV_SAMPLE, .count = 1, .data = &sample,
				     .record_size = sizeof(sample), .size = sizeof(sample) };
	struct load_analysis *a = feed_analysis(&queue, 1, 0.99, 0);

	(void)state;
	assert_int_equal(load_analysis_block(a, &block), -EBADMSG);
	sample.sent = 10;
	block.core = LOAD_CORE(1, 0); /* an agent that nobody expects */
	assert_int_equal(load_analysis_block(a, &block), -EBADMSG);
	/* Nothing at all is a result too. */
	assert_int_equal(load_analysis_finish(a), 0);
	assert_false(load_analysis_sound(a));
	load_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_run),
		cmocka_unit_test(an_unsound_run_shows_what_it_saw),
		cmocka_unit_test(a_run_of_one_tick),
		cmocka_unit_test(unsent_requests_count),
		cmocka_unit_test(unreported_values_are_not_zero),
		cmocka_unit_test(a_run_that_stops),
		cmocka_unit_test(unanswered_requests_count_as_slow),
		cmocka_unit_test(closed_loop_is_named),
		cmocka_unit_test(the_papers_method),
		cmocka_unit_test(only_probes_count_where_there_are_some),
		cmocka_unit_test(loaders_are_judged_beside_probes),
		cmocka_unit_test(late_sends_lower_the_bounds_of_the_far_tail),
		cmocka_unit_test(a_machine_that_slept_is_noisy),
		cmocka_unit_test(a_disturbed_curve_has_a_wider_band),
		cmocka_unit_test(half_of_a_hundred_is_not_reached),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
