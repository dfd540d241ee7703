/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The follower and the conversions against clocks that are slewed, stepped, put to sleep and told a
 * new TAI offset at random moments, also in the middle of a reading. The virtual clock knows the
 * truth; every published error bound must hold it. HOSTLAT_SEED=N repeats a run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "clock/convert.h"
#include "clock/cross.h"
#include "clock/follow.h"
#include "virtual.h"

#define SEEDS 200
#define UPDATES 500
#define POINTS 200
#define NS_PER_S 1000000000LL

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("seed %" PRIu64 ", line %d: %s\n", seed, __LINE__, #condition);     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static uint64_t seed;

/* From 1 to an hour, all magnitudes alike, either sign. */
static int64_t some_step(struct rng *rng)
{
	int64_t step = 1 + (int64_t)(rng_u64(rng) >> (22 + rng_below(rng, 42)));

	return rng_below(rng, 2) ? step : -step;
}

static int64_t some_slew(struct rng *rng)
{
	return (int64_t)rng_below(rng, 1000001) - 500000;
}

static void init_clock(struct clock_virtual *virtual, struct rng *rng)
{
	clock_virtual_init(virtual, (int64_t)rng_below(rng, 1000 * NS_PER_S),
			   1700000000 * NS_PER_S);
	virtual->read_cost_ns = 20 + (int64_t)rng_below(rng, 1000);
	clock_virtual_slew(virtual, some_slew(rng));
}

/* Changes the clock between two updates, or during the second one. */
static void disturb(struct clock_virtual *virtual, struct rng *rng)
{
	switch (rng_below(rng, 12)) {
	case 0:
		clock_virtual_set(virtual, some_step(rng));
		break;
	case 1:
		clock_virtual_suspend(virtual, (int64_t)rng_below(rng, 100 * NS_PER_S));
		break;
	case 2:
		virtual->tai_offset_s = (int32_t)rng_below(rng, 38);
		break;
	case 3:
	case 4:
		clock_virtual_slew(virtual, some_slew(rng));
		break;
	default:
		break;
	}
	clock_virtual_advance(virtual, (int64_t)rng_below(rng, 2 * NS_PER_S));
	if (!rng_below(rng, 6))
		clock_virtual_set_at(virtual, virtual->mono_ns + (int64_t)rng_below(rng, 100000),
				     some_step(rng));
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_update(const struct clock_virtual *virtual,
			 const struct clock_follow_params *params,
			 const struct clock_follow_params *before, uint64_t sets)
{
	bool was_set = virtual->sets != sets;
	bool new_tai = params->tai_offset_s != before->tai_offset_s;

	CHECK(distance(params->offset_ns, virtual->real_offset_ns) <= (int64_t)params->error_ns);
	CHECK(params->error_ns <= (uint64_t)virtual->read_cost_ns + 2);
	CHECK(params->tai_offset_s == virtual->tai_offset_s);
	CHECK(params->stepped == (was_set || new_tai));
	CHECK(was_set || params->error_ns <= before->error_ns);
	CHECK(params->step_ns == (was_set ? params->offset_ns - before->offset_ns : 0));
}

static void simulate_follower(void)
{
	struct clock_virtual virtual;
	struct clock_follow_params params, before;
	struct clock_follow *follow;
	struct rng rng;
	uint64_t sets;

	rng_init(&rng, seed);
	init_clock(&virtual, &rng);
	CHECK(clock_follow_open(&follow, &virtual.clock) == 0);
	clock_follow_last(follow, &before);
	for (int i = 0; i < UPDATES; i++) {
		sets = virtual.sets;
		disturb(&virtual, &rng);
		CHECK(clock_follow_update(follow, &params) == 0);
		check_update(&virtual, &params, &before, sets);
		before = params;
	}
	clock_follow_free(follow);
}

/* Every reading of the virtual clock that a conversion is later asked for. */
struct truth {
	int64_t mono_ns, raw_ns, real_ns;
};

static struct truth now(const struct clock_virtual *virtual)
{
	return (struct truth){ virtual->mono_ns, virtual->raw_ns,
			       virtual->mono_ns + virtual->real_offset_ns };
}

static void add_point(struct clock_table *table, struct clock_virtual *virtual,
		      enum clock_domain domain, bool discontinuity)
{
	struct clock_cross cross;
	struct clock_point point = { .discontinuity = discontinuity };

	CHECK(clock_cross_sample(&virtual->clock, domain, 4, &cross) == 0);
	point.mono_ns = cross.mono_ns;
	point.other = cross.mono_ns + clock_cross_offset_ns(&cross);
	point.error_ns = clock_cross_error_ns(&cross);
	CHECK(clock_table_add(table, domain, &point) == 0);
}

static void check_conversion(const struct clock_table *table, enum clock_domain from,
			     enum clock_domain to, int64_t t, int64_t value, unsigned int *done)
{
	struct clock_time time;
	int err = clock_convert(table, from, to, t, &time);

	CHECK(err == 0 || err == -ERANGE);
	if (err)
		return;
	CHECK(distance(time.value, value) <= (int64_t)time.error_ns);
	CHECK(time.error_ns < 10 * NS_PER_S / 1000);
	(*done)++;
}

/* Points a second or so apart, with a slew that changes between them. */
static void simulate_conversions(void)
{
	struct truth truths[3 * POINTS];
	struct clock_virtual virtual;
	struct clock_table table;
	unsigned int n = 0, raw_done = 0, real_done = 0, both_done = 0;
	struct rng rng;

	rng_init(&rng, seed);
	init_clock(&virtual, &rng);
	clock_table_init(&table);
	clock_table_limits(&table, DOMAIN_RAW, 1000000, 5 * NS_PER_S);
	clock_table_limits(&table, DOMAIN_REALTIME, 0, 5 * NS_PER_S);
	for (int i = 0; i < POINTS; i++) {
		bool set = i && !rng_below(&rng, 20);

		for (int j = 0; j < 3; j++) {
			truths[n++] = now(&virtual);
			clock_virtual_advance(&virtual, (int64_t)rng_below(&rng, NS_PER_S));
			clock_virtual_slew(&virtual, some_slew(&rng));
			if (set && j == 1)
				clock_virtual_set(&virtual, some_step(&rng));
		}
		add_point(&table, &virtual, DOMAIN_RAW, false);
		add_point(&table, &virtual, DOMAIN_REALTIME, set);
	}
	for (unsigned int i = 0; i < n; i++) {
		const struct truth *t = &truths[i];

		check_conversion(&table, DOMAIN_MONO, DOMAIN_RAW, t->mono_ns, t->raw_ns, &raw_done);
		check_conversion(&table, DOMAIN_RAW, DOMAIN_MONO, t->raw_ns, t->mono_ns, &raw_done);
		check_conversion(&table, DOMAIN_MONO, DOMAIN_REALTIME, t->mono_ns, t->real_ns,
				 &real_done);
		check_conversion(&table, DOMAIN_RAW, DOMAIN_REALTIME, t->raw_ns, t->real_ns,
				 &both_done);
	}
	CHECK(raw_done == 2 * n);
	CHECK(real_done > n / 2 && both_done > n / 2);
	clock_table_release(&table);
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint64_t n = given ? 1 : SEEDS;

	for (seed = first; seed < first + n; seed++) {
		simulate_follower();
		simulate_conversions();
	}
	printf("seed %" PRIu64 " to %" PRIu64 ": every bound held\n", first, first + n - 1);
	return 0;
}
