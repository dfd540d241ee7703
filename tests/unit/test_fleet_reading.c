/* SPDX-License-Identifier: Apache-2.0 */
/* Records of connections as readings of a fleet: known classes, intervals, clocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "cmd/fleet_reading.h"
#include "fleet/state.h"

#define STEP (2 * NS_PER_S)
#define START (1700000000 * NS_PER_S)
#define KNOWN_ALL 0xfffu

static struct event_conn record(uint64_t length)
{
	return (struct event_conn){ .from = START, .to = START + length, .known = KNOWN_ALL,
				    .sender_app_ns = length };
}

static bool knows(const struct fleet_reading *r, enum fleet_class class)
{
	return r->known >> class & 1;
}

/* ---- known classes ---- */

static void test_sampled_shares_need_samples(void **state)
{
	struct event_conn e = record(STEP);
	struct fleet_reading r;

	(void)state;
	e.send_buffer_ns = STEP / 4;
	e.delayed_ack_ns = STEP / 8;
	e.sender_app_ns = STEP - STEP / 4 - STEP / 8;
	e.samples = 5;
	fleet_reading_fill(&e, &r);
	assert_true(knows(&r, FLEET_SEND_BUFFER) && knows(&r, FLEET_DELAYED_ACK));
	assert_true(fabs(r.share[FLEET_SEND_BUFFER] - 0.25) < 1e-9);
	assert_true(fabs(r.share[FLEET_DELAYED_ACK] - 0.125) < 1e-9);
	/* the analysis of conns gives no share to fewer samples: all of the time is unknown */
	e.samples = 4;
	e.send_buffer_ns = e.delayed_ack_ns = e.sender_app_ns = 0;
	e.unknown_ns = STEP;
	fleet_reading_fill(&e, &r);
	assert_false(knows(&r, FLEET_SEND_BUFFER) || knows(&r, FLEET_DELAYED_ACK) ||
		     knows(&r, FLEET_SENDER_APP));
	assert_true(knows(&r, FLEET_RECEIVER_WINDOW) && knows(&r, FLEET_TIMEOUT));
}

static void test_idle_time_needs_no_samples(void **state)
{
	struct event_conn e = record(STEP);
	struct fleet_reading r;

	(void)state;
	fleet_reading_fill(&e, &r);
	assert_true(knows(&r, FLEET_SEND_BUFFER) && r.share[FLEET_SEND_BUFFER] == 0);
	assert_true(r.share[FLEET_SENDER_APP] == 1);
}

static void test_counted_classes(void **state)
{
	struct event_conn e = record(STEP);
	struct fleet_reading r;

	(void)state;
	e.fast_retransmit = 3;
	e.kernel_rwnd_ns = STEP / 2;
	fleet_reading_fill(&e, &r);
	assert_true(r.share[FLEET_FAST_RETRANSMIT] == 1 && r.share[FLEET_TIMEOUT] == 0);
	assert_true(fabs(r.share[FLEET_RECEIVER_WINDOW] - 0.5) < 1e-9);
	e.known &= ~(uint32_t)(CONN_KNOWS_RTO | CONN_KNOWS_LOSSES | CONN_KNOWS_CHRONO);
	fleet_reading_fill(&e, &r);
	assert_false(knows(&r, FLEET_FAST_RETRANSMIT) || knows(&r, FLEET_TIMEOUT) ||
		     knows(&r, FLEET_RECEIVER_WINDOW));
}

static void test_lost_time(void **state)
{
	struct event_conn e = record(STEP);
	struct fleet_reading r;

	(void)state;
	e.rto = 1;
	e.bytes_retransmitted = e.mss = 1000;
	e.rto_us = 200000;
	e.stalls = 1;
	e.busy_ns = STEP;
	e.stall_ns = e.longest_stall_ns = STEP / 4;
	fleet_reading_fill(&e, &r);
	assert_int_equal(r.lost_ns[FLEET_TIMEOUT], STEP / 4);
	assert_int_equal(r.lost_ns[FLEET_FAST_RETRANSMIT], 0);
}

/* A single segment's probe comes as late as a timeout; after others, soon. */
static void test_late_probes_are_timeouts(void **state)
{
	struct event_conn e = record(STEP);
	struct fleet_reading r;

	(void)state;
	e.tlp = 1;
	e.bytes_retransmitted = e.mss = 1000;
	e.rto_us = 200000;
	e.stalls = 1;
	e.busy_ns = STEP;
	e.stall_ns = e.longest_stall_ns = STEP / 10;
	fleet_reading_fill(&e, &r);
	assert_true(r.share[FLEET_TIMEOUT] == 1);
	assert_int_equal(r.lost_ns[FLEET_TIMEOUT], STEP / 10);
	e.busy_ns = e.stall_ns = e.longest_stall_ns = STEP / 100;
	fleet_reading_fill(&e, &r);
	assert_true(r.share[FLEET_TIMEOUT] == 0);
	assert_int_equal(r.lost_ns[FLEET_TIMEOUT], 0);
}

/* ---- which interval ---- */

static const struct fleet_grid grid = { .start_ns = START, .step_ns = STEP, .intervals = 200 };

static void test_losses_are_where_they_were(void **state)
{
	struct fleet_reading whole = { .from_ns = START + STEP / 2, .to_ns = START + 30 * STEP };
	struct fleet_reading parts[FLEET_READING_PARTS];

	(void)state;
	whole.known = 1u << FLEET_TIMEOUT | 1u << FLEET_SEND_BUFFER;
	whole.share[FLEET_TIMEOUT] = 1;
	whole.share[FLEET_SEND_BUFFER] = 0.1;
	whole.lost_ns[FLEET_TIMEOUT] = 77;
	assert_int_equal(fleet_reading_divide(&whole, START + 5 * STEP + 1, START + 6 * STEP + 1,
					      &grid, parts), 3);
	assert_int_equal(parts[0].from_ns, whole.from_ns);
	assert_int_equal(parts[1].from_ns, START + 5 * STEP);
	assert_int_equal(parts[2].from_ns, START + 7 * STEP);
	assert_int_equal(parts[2].to_ns, whole.to_ns);
	assert_true(parts[0].share[FLEET_TIMEOUT] == 0 && parts[1].share[FLEET_TIMEOUT] == 1 &&
		    parts[2].share[FLEET_TIMEOUT] == 0);
	assert_int_equal(parts[0].lost_ns[FLEET_TIMEOUT] + parts[2].lost_ns[FLEET_TIMEOUT], 0);
	assert_int_equal(parts[1].lost_ns[FLEET_TIMEOUT], 77);
	assert_true(parts[0].share[FLEET_SEND_BUFFER] == whole.share[FLEET_SEND_BUFFER]);
	/* times outside of the record, and a record within an interval, divide nothing */
	assert_int_equal(fleet_reading_divide(&whole, START, whole.to_ns + 1, &grid, parts), 1);
	whole.to_ns = START + STEP;
	assert_int_equal(fleet_reading_divide(&whole, whole.from_ns + 5, whole.from_ns + 9, &grid,
					      parts), 1);
	assert_int_equal(parts[0].from_ns, whole.from_ns);
	assert_int_equal(parts[0].to_ns, whole.to_ns);
}

/* ---- together ---- */

#define CONNS 12u

struct rig {
	struct fleet *f;
	uint32_t conns[CONNS];
};

static void rig_init(struct rig *rig)
{
	rig->f = fleet_new(&grid);
	assert_non_null(rig->f);
	for (uint32_t i = 0; i < CONNS; i++) {
		const char name[] = { 'h', (char)('a' + i), '\0' };
		uint32_t host;

		assert_int_equal(fleet_resource(rig->f, FLEET_HOST, name, &host), 0);
		assert_int_equal(fleet_connection(rig->f, &(struct fleet_conn){
			.host = host, .shares = &host, .n = 1, .name = name }, &rig->conns[i]), 0);
	}
}

static uint8_t cell(const struct fleet *f, uint32_t conn, enum fleet_class class, uint32_t k)
{
	uint8_t out;

	fleet_cells(f, conn, class, k, 1, &out);
	return out;
}

/* Returns the correlation of two connections over the intervals that both know; NaN: none. */
static double correlation(const struct fleet *f, enum fleet_class class, uint32_t a, uint32_t b)
{
	double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (uint32_t k = 0; k < grid.intervals; k++) {
		const double u = cell(f, a, class, k);
		const double v = cell(f, b, class, k);

		if (u == FLEET_UNKNOWN || v == FLEET_UNKNOWN)
			continue;
		n++;
		x += u;
		y += v;
		xx += u * u;
		yy += v * v;
		xy += u * v;
	}
	return (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y));
}

static double mean_correlation(const struct rig *rig, enum fleet_class class)
{
	double sum = 0, n = 0;

	for (uint32_t a = 0; a < CONNS; a++)
		for (uint32_t b = 0; b < a; b++, n++)
			sum += correlation(rig->f, class, rig->conns[a], rig->conns[b]);
	return sum / n;
}

static void add(struct rig *rig, uint32_t i, const struct event_conn *e, int64_t ahead_ns,
		bool zeros)
{
	struct fleet_reading r;

	fleet_reading_fill(e, &r);
	r.from_ns = e->from + (uint64_t)ahead_ns;
	r.to_ns = e->to + (uint64_t)ahead_ns;
	if (zeros)
		r.known = (1u << FLEET_CLASSES) - 1;
	assert_int_equal(fleet_add(rig->f, rig->conns[i], &r), 0);
}

/*
 * Independent connections whose buffer is full in half of the intervals. Passes over all of them
 * sample their states; in a quarter of the intervals the budget allows none.
 */
static double of_shared_passes(bool zeros)
{
	struct rng rng;
	struct rig rig;
	double mean;

	rng_init(&rng, 1);
	rig_init(&rig);
	for (uint32_t k = 0; k < grid.intervals; k++) {
		const bool sampled = rng_u64(&rng) % 4;

		for (uint32_t i = 0; i < CONNS; i++) {
			const bool full = rng_u64(&rng) % 2;
			struct event_conn e = record(STEP);

			e.from += k * STEP;
			e.to += k * STEP;
			e.samples = sampled ? 20 : 0;
			e.unknown_ns = sampled ? 0 : STEP;
			e.send_buffer_ns = sampled && full ? STEP : 0;
			e.sender_app_ns = sampled && !full ? STEP : 0;
			add(&rig, i, &e, 0, zeros);
		}
	}
	mean = mean_correlation(&rig, FLEET_SEND_BUFFER);
	fleet_free(rig.f);
	return mean;
}

static void test_shared_passes_are_no_common_cause(void **state)
{
	(void)state;
	assert_true(fabs(of_shared_passes(false)) < 0.03);
	assert_true(of_shared_passes(true) > 0.1); /* as it would be with 0 for unknown */
}

/* The same bursts of losses on all hosts, of which one has a clock that is ahead. */
static void test_clocks_apart(void **state)
{
	static const struct {
		int64_t ahead_ns;
		double lo, hi;
	} cases[] = {
		{ 0, 0.99, 1.01 },
		{ (int64_t)NS_PER_S, 0.3, 0.9 },            /* half of --step */
		{ 30 * (int64_t)NS_PER_S, -0.2, 0.2 },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct rng rng;
		struct rig rig;
		double rho;

		rng_init(&rng, 2);
		rig_init(&rig);
		for (uint32_t k = 0; k < grid.intervals - 20; k++) {
			struct event_conn e = record(STEP);

			e.from += k * STEP;
			e.to += k * STEP;
			e.fast_retransmit = rng_u64(&rng) % 8 == 0;
			add(&rig, 0, &e, 0, false);
			add(&rig, 1, &e, cases[c].ahead_ns, false);
			add(&rig, 2, &e, 0, false);
		}
		rho = correlation(rig.f, FLEET_FAST_RETRANSMIT, rig.conns[0], rig.conns[1]);
		assert_true(rho > cases[c].lo && rho < cases[c].hi);
		rho = correlation(rig.f, FLEET_FAST_RETRANSMIT, rig.conns[0], rig.conns[2]);
		assert_true(rho > 0.99);
		fleet_free(rig.f);
	}
}

/* A record from the middle of one interval to the middle of another counts in each by its part. */
static void test_straddling_records(void **state)
{
	struct event_conn e = record(STEP);
	struct rig rig;

	(void)state;
	rig_init(&rig);
	e.from += STEP / 4;
	e.to = START + STEP;
	e.kernel_rwnd_ns = e.to - e.from;
	add(&rig, 0, &e, 0, false);
	e.from = e.to;
	e.to += STEP + STEP / 4;
	e.kernel_rwnd_ns = 0;
	add(&rig, 0, &e, 0, false);
	assert_int_equal(cell(rig.f, 0, FLEET_RECEIVER_WINDOW, 0),
			 FLEET_STEPS);
	assert_int_equal(cell(rig.f, 0, FLEET_RECEIVER_WINDOW, 1), 0);
	/* a quarter of the third interval is too little to know it */
	assert_int_equal(cell(rig.f, 0, FLEET_RECEIVER_WINDOW, 2),
			 FLEET_UNKNOWN);
	fleet_free(rig.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled_shares_need_samples),
		cmocka_unit_test(test_idle_time_needs_no_samples),
		cmocka_unit_test(test_counted_classes),
		cmocka_unit_test(test_lost_time),
		cmocka_unit_test(test_late_probes_are_timeouts),
		cmocka_unit_test(test_losses_are_where_they_were),
		cmocka_unit_test(test_shared_passes_are_no_common_cause),
		cmocka_unit_test(test_clocks_apart),
		cmocka_unit_test(test_straddling_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
