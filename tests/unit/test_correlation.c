/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation of a load's latency: two recordings of a made-up host in, the report's bytes out. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "diagnose/correlation.h"
#include "event/writer.h"
#include "output/json.h"

#define START (1000 * NS_PER_S)
#define INTERVAL (250 * NS_PER_MS)

/* One that holds a CPU comes and goes at random. */
struct shape {
	uint32_t intervals;
	uint32_t requests;    /* in each */
	uint32_t idle;        /* so many have none, at first, and no packets */
	uint32_t packets;     /* at each stage, in each; 0: as many as requests */
	bool quiet;           /* it never comes */
	bool no_psi;
	bool no_pressure;     /* as an older version recorded */
	uint64_t no_pressure_at; /* end of the interval whose pressure is missing */
	uint32_t lose_every;  /* every n-th interval lacks its end; 0: none does */
	bool constant;        /* all requests take the same time */
};

static const struct event_writer_options options = { .raw = true, .stream = 1 };

static bool is_on(const struct shape *shape, struct rng *rng, bool before)
{
	return !shape->quiet && before ^ (rng_uniform(rng) < 0.3);
}

/* A spread around `ns`, by a fifth. */
static uint64_t about(struct rng *rng, uint64_t ns)
{
	return ns - ns / 10 + rng_below(rng, ns / 5);
}

/* One packet in twenty took `ns`, the others 10 us. */
static void put_stage(struct event_writer *w, uint64_t time, uint8_t stage, uint32_t n, uint64_t ns)
{
	struct {
		struct event_hist head;
		struct event_bucket buckets[2];
	} h = { .head = { .stage = stage, .protocol = PROTO_TCP, .origin = ORIGIN_LINK,
			  .dist = DIST_LATENCY, .schema = BUCKET_SCHEMA_DEFAULT, .n = 2,
			  .min_ns = 10000, .max_ns = ns } };

	h.buckets[0] = (struct event_bucket){ .index = (int32_t)bucket_index(10000),
					      .count = n - n / 20 };
	h.buckets[1] = (struct event_bucket){ .index = (int32_t)bucket_index(ns), .count = n / 20 };
	BUG_ON(event_writer_put(w, EVENT_CORE_NONE, EV_HIST, time, &h, sizeof(h)));
}

static void put_pressure(struct event_writer *w, uint64_t time, const struct shape *shape, bool on,
			 struct rng *rng)
{
	struct event_pressure e = {
		.busy_ns = about(rng, on ? 400 * NS_PER_MS : 150 * NS_PER_MS),
		.stall_ns = about(rng, on ? 200 * NS_PER_MS : 10 * NS_PER_MS),
		.packets = about(rng, 2000),
	};

	if (shape->no_psi) {
		e.stall_ns = 0;
		e.flags = PRESSURE_NO_STALL;
	}
	if (!shape->no_pressure && time != shape->no_pressure_at)
		BUG_ON(event_writer_put(w, EVENT_CORE_NONE, EV_PRESSURE, time, &e, sizeof(e)));
}

static void put_interval(struct event_writer *w, const struct shape *shape, uint32_t i, bool on,
			 struct rng *rng)
{
	const struct event_interval e = {
		.seq = i, .from_ns = START + i * INTERVAL, .to_ns = START + (i + 1) * INTERVAL,
		.ncpus = 2, .one_in = 1,
	};
	const uint32_t n = shape->packets ? shape->packets : shape->requests;

	if (i >= shape->idle) {
		put_stage(w, e.to_ns, STAGE_TRANSPORT, n, about(rng, 50000));
		put_stage(w, e.to_ns, STAGE_READ, n, about(rng, on ? 5 * NS_PER_MS : 500000));
	}
	put_pressure(w, e.to_ns, shape, on, rng);
	if (!shape->lose_every || i % shape->lose_every != shape->lose_every - 1)
		BUG_ON(event_writer_put(w, EVENT_CORE_NONE, EV_INTERVAL, e.to_ns, &e, sizeof(e)));
}

/* One request in ten took long; and before each one that counts, one that does not. */
static void put_requests(struct event_writer *w, const struct shape *shape, uint32_t i, bool on,
			 struct rng *rng)
{
	const uint64_t apart = INTERVAL / (shape->requests + 1);

	for (uint32_t k = 0; k < shape->requests; k++) {
		const uint64_t done = START + i * INTERVAL + (k + 1) * apart;
		const uint64_t usual = k % 10 ? 200000 : on ? 6 * NS_PER_MS : 600000;
		struct event_sample s = {
			.intended = done - (shape->constant ? 100000 : about(rng, usual)),
			.done = done, .flags = SAMPLE_FAILED,
		};

		s.sent = s.intended;
		BUG_ON(event_writer_span(w, 0, 0, EV_SAMPLE, s.intended, s.done, &s));
		s.flags = 0;
		BUG_ON(event_writer_span(w, 0, 0, EV_SAMPLE, s.intended, s.done, &s));
	}
}

/* The two recordings: of the server, of the load. */
static void make(const struct shape *shape, int fds[2])
{
	struct event_writer *server, *load;
	bool on = false;
	struct rng rng;

	rng_init(&rng, 5);
	for (int i = 0; i < 2; i++) {
		fds[i] = memfd_create("recording", MFD_CLOEXEC);
		BUG_ON(fds[i] < 0);
	}
	BUG_ON(event_writer_new(&server, fds[0], &options));
	BUG_ON(event_writer_new(&load, fds[1], &options));
	for (uint32_t i = 0; i < shape->intervals; i++) {
		on = is_on(shape, &rng, on);
		put_interval(server, shape, i, on, &rng);
		if (i >= shape->idle)
			put_requests(load, shape, i, on, &rng);
	}
	BUG_ON(event_writer_close(server));
	BUG_ON(event_writer_close(load));
}

static struct correlation *correlated(const struct shape *shape)
{
	struct event_reader *readers[2];
	struct correlation *c;
	int fds[2];

	make(shape, fds);
	for (int i = 0; i < 2; i++)
		assert_int_equal(event_reader_new(&readers[i], fds[i]), 0);
	assert_int_equal(correlation_new(&c, readers[0], readers[1]), 0);
	for (int i = 0; i < 2; i++) {
		event_reader_free(readers[i]);
		close(fds[i]);
	}
	return c;
}

static const struct correlate *find(const struct correlation *c, const char *name)
{
	vec_for_each(&c->series, s)
		if (!strcmp(s->name, name))
			return s;
	fail_msg("no series %s", name);
	return NULL;
}

/* ---- the numbers ---- */

static void latency_follows_the_cause(void **state)
{
	struct correlation *c = correlated(&(struct shape){ .intervals = 61, .requests = 400 });

	(void)state;
	assert_true(c->known);
	assert_int_equal(c->quantile, CORRELATION_P99);
	assert_int_equal(c->intervals, 60); /* in the last one the load ended */
	assert_int_equal(c->series.len, 5);
	assert_true(find(c, "tcp read since link")->significant);
	assert_true(find(c, "tcp read since link")->rho > 0.6);
	assert_true(find(c, "cpu pressure")->significant);
	assert_true(find(c, "cpu busy")->significant);
	assert_true(find(c, "packets")->known);
	assert_false(find(c, "packets")->significant);
	assert_true(find(c, "tcp transport since link")->known);
	assert_false(find(c, "tcp transport since link")->significant);
	correlation_free(c);
}

static void noise_correlates_with_nothing(void **state)
{
	struct correlation *c =
		correlated(&(struct shape){ .intervals = 61, .requests = 400, .quiet = true });

	(void)state;
	assert_true(c->known);
	vec_for_each(&c->series, s) {
		assert_true(s->known);
		assert_false(s->significant);
		assert_true(s->p > CORRELATION_ALPHA);
	}
	correlation_free(c);
}

static void fewer_requests_give_coarser_intervals(void **state)
{
	struct correlation *c = correlated(&(struct shape){ .intervals = 61, .requests = 199 });

	(void)state;
	assert_true(c->known);
	assert_int_equal(c->quantile, CORRELATION_P90);
	correlation_free(c);
	c = correlated(&(struct shape){ .intervals = 61, .requests = 200 });
	assert_int_equal(c->quantile, CORRELATION_P99);
	correlation_free(c);
	c = correlated(&(struct shape){ .intervals = 61, .requests = 19, .packets = 400 });
	assert_false(c->known);
	assert_int_equal(c->intervals, 0);
	assert_string_equal(c->why, "too few intervals of the recording are within the load and "
			    "have enough requests");
	correlation_free(c);
}

static void as_many_intervals_as_p_needs(void **state)
{
	struct correlation *c =
		correlated(&(struct shape){ .intervals = CORRELATION_MIN, .requests = 400 });

	(void)state;
	assert_false(c->known); /* without the last one */
	assert_int_equal(c->intervals, CORRELATION_MIN - 1);
	correlation_free(c);
	c = correlated(&(struct shape){ .intervals = CORRELATION_MIN + 1, .requests = 400 });
	assert_true(c->known);
	correlation_free(c);
}

static void unknown_is_not_zero(void **state)
{
	struct shape shape = { .intervals = 61, .requests = 400, .no_psi = true };
	struct correlation *c = correlated(&shape);

	(void)state;
	assert_false(find(c, "cpu pressure")->known);
	assert_string_equal(find(c, "cpu pressure")->why, "the value was not recorded");
	assert_true(find(c, "cpu busy")->known);
	correlation_free(c);
	shape.no_pressure_at = START + 10 * INTERVAL; /* it is not that of the one before */
	c = correlated(&shape);
	assert_string_equal(find(c, "cpu busy")->why, "the value was not recorded");
	correlation_free(c);
	shape.no_pressure = true;
	shape.packets = 99; /* half as many as requests is enough, one less is not */
	c = correlated(&shape);
	assert_false(find(c, "cpu busy")->known);
	assert_false(find(c, "packets")->known);
	assert_string_equal(find(c, "tcp read since link")->why,
			    "too few packets in some interval");
	correlation_free(c);
	shape.packets = 100;
	c = correlated(&shape);
	assert_true(find(c, "tcp read since link")->significant);
	correlation_free(c);
	shape.constant = true;
	c = correlated(&shape);
	assert_false(c->known);
	assert_string_equal(c->why, "the requests' quantile was the same in all intervals");
	correlation_free(c);
}

/* The recording begins before the load, and the server's stages with it. */
static void only_intervals_under_load_count(void **state)
{
	struct correlation *c =
		correlated(&(struct shape){ .intervals = 71, .requests = 400, .idle = 10 });

	(void)state;
	assert_true(c->known);
	assert_int_equal(c->intervals, 60);
	assert_true(find(c, "tcp read since link")->significant);
	assert_true(find(c, "cpu pressure")->significant);
	correlation_free(c);
}

/* The interval after a lost one has its deltas, too. */
static void lost_interval_spoils_the_next(void **state)
{
	struct correlation *c = correlated(
		&(struct shape){ .intervals = 60, .requests = 400, .lose_every = 6 });

	(void)state;
	assert_true(c->known);
	assert_int_equal(c->stretches.len, 50);
	assert_int_equal(c->intervals, 41); /* 6 - 2 of each six, and one more of the first */
	correlation_free(c);
}

/* ---- findings ---- */

static char *rendered(const struct shape *shape, size_t lines)
{
	struct correlation *c = correlated(shape);
	struct strbuf text = STRBUF_INIT(65536);
	struct report r;
	char *copy;

	report_init(&r, &(struct provenance){ .version = "0", .command = "explain", .schema = 1 });
	correlation_report(c, lines, &r);
	report_place_findings(&r);
	assert_int_equal(report_error(&r), 0);
	json_report(&r, JSON_DOCUMENT, &text);
	copy = strdup(strstr(strbuf_str(&text), "\"correlation\""));
	strbuf_release(&text);
	report_release(&r);
	correlation_free(c);
	return copy;
}

static void expect_json(const struct shape *shape, size_t lines, const char *expected)
{
	char *text = rendered(shape, lines);

	assert_string_equal(text, expected);
	free(text);
}

static void finding_is_in_json_and_text(void **state)
{
	(void)state;
	expect_json(&(struct shape){ .intervals = 61, .requests = 400, .no_psi = true }, 10,
		    "\"correlation\": {\n"
		    "    \"quantile\": \"p99\",\n"
		    "    \"intervals\": 60,\n"
		    "    \"why\": null,\n"
		    "    \"series\": [{\"name\": \"tcp transport since link\", "
		    "\"unit\": \"ns\", \"rho\": 0.260695, \"p_value\": 0.133333, "
		    "\"significant\": false, \"why\": null}, "
		    "{\"name\": \"tcp read since link\", \"unit\": \"ns\", "
		    "\"rho\": 0.693626, \"p_value\": 0.0166667, "
		    "\"significant\": true, \"why\": null}, "
		    "{\"name\": \"cpu busy\", \"unit\": \"fraction\", \"rho\": 0.805962, "
		    "\"p_value\": 0.0166667, \"significant\": true, \"why\": null}, "
		    "{\"name\": \"cpu pressure\", \"unit\": \"fraction\", \"rho\": null, "
		    "\"p_value\": null, \"significant\": null, "
		    "\"why\": \"the value was not recorded\"}, "
		    "{\"name\": \"packets\", \"unit\": \"1/s\", \"rho\": 0.116918, "
		    "\"p_value\": 0.75, \"significant\": false, \"why\": null}]\n"
		    "  },\n"
		    "  \"findings\": [\n"
		    "    \"The requests' p99 rises with cpu busy: "
		    "rho 0.81, p 0.017, 60 intervals.\",\n"
		    "    \"The requests' p99 rises with p99 of tcp read since link: "
		    "rho 0.69, p 0.017, 60 intervals.\"\n"
		    "  ]\n"
		    "}\n");
	expect_json(&(struct shape){ .intervals = 61, .requests = 400, .no_pressure = true }, 0,
		    "\"correlation\": {\n"
		    "    \"quantile\": \"p99\",\n"
		    "    \"intervals\": 60,\n"
		    "    \"why\": null,\n"
		    "    \"series\": [{\"name\": \"tcp transport since link\", "
		    "\"unit\": \"ns\", \"rho\": 0.260695, \"p_value\": 0.1, "
		    "\"significant\": false, \"why\": null}, "
		    "{\"name\": \"tcp read since link\", \"unit\": \"ns\", "
		    "\"rho\": 0.693626, \"p_value\": 0.0166667, "
		    "\"significant\": true, \"why\": null}, "
		    "{\"name\": \"cpu busy\", \"unit\": \"fraction\", \"rho\": null, "
		    "\"p_value\": null, \"significant\": null, "
		    "\"why\": \"the value was not recorded\"}, "
		    "{\"name\": \"cpu pressure\", \"unit\": \"fraction\", \"rho\": null, "
		    "\"p_value\": null, \"significant\": null, "
		    "\"why\": \"the value was not recorded\"}, "
		    "{\"name\": \"packets\", \"unit\": \"1/s\", \"rho\": null, "
		    "\"p_value\": null, \"significant\": null, "
		    "\"why\": \"the value was not recorded\"}]\n"
		    "  },\n"
		    "  \"findings\": []\n"
		    "}\n");
	expect_json(&(struct shape){ .intervals = 10, .requests = 400 }, 10,
		    "\"correlation\": {\n"
		    "    \"quantile\": null,\n"
		    "    \"intervals\": 9,\n"
		    "    \"why\": \"too few intervals of the recording are within the load "
		    "and have enough requests\",\n"
		    "    \"series\": []\n"
		    "  },\n"
		    "  \"findings\": []\n"
		    "}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_follows_the_cause),
		cmocka_unit_test(noise_correlates_with_nothing),
		cmocka_unit_test(fewer_requests_give_coarser_intervals),
		cmocka_unit_test(as_many_intervals_as_p_needs),
		cmocka_unit_test(unknown_is_not_zero),
		cmocka_unit_test(only_intervals_under_load_count),
		cmocka_unit_test(lost_interval_spoils_the_next),
		cmocka_unit_test(finding_is_in_json_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
