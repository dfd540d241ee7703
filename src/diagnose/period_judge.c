/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/period_judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/sort.h"
#include "stats/circular.h"
#include "stats/multiple.h"

/*
 * A cause comes before the middle of the peaks, by this share of a period at most, and never after
 * it, but for the error of both phases.
 */
#define BEFORE_MOST 0.25
#define AFTER_MOST 0.02
#define TENTH 0.1

static int period_order_bursts(const void *a, const void *b)
{
	const struct burst *x = a, *y = b;

	return sort_order(x->command, y->command) ?: sort_order(x->at, y->at) ?:
	       sort_order(x->task, y->task);
}

static double period_phase(const struct latency_period *period, uint64_t at)
{
	return (double)(at - period->from) / period->ns;
}

/* Returns whether a burst continues the previous one of its command: a job of several processes. */
static bool period_is_same_burst(const struct latency_period *period, const struct burst *last,
				 const struct burst *burst)
{
	return last->command == burst->command &&
	       (double)(burst->at - last->at) < PERIOD_APART * period->ns;
}

/* ---- one command ---- */

/* Sum of unit vectors, by the phases of bursts. */
struct phase_vector {
	double re, im;
	uint32_t n;
};

static void phase_vector_add(struct phase_vector *sum, double phase)
{
	sum->re += cos(2 * M_PI * phase);
	sum->im += sin(2 * M_PI * phase);
	sum->n++;
}

/*
 * The unit of the test is a period, with the mean of its bursts: bursts of the same period depend
 * on each other. Periods are cut half a period from where a cause would begin, so that the bursts
 * of one period stay together.
 */
static int64_t period_number(const struct latency_period *period, uint64_t at)
{
	const double begin = period->peak + 0.5 - (BEFORE_MOST - AFTER_MOST) / 2;

	return (int64_t)floor(period_phase(period, at) - begin);
}

/* Sums the means of the bursts in each period. Bursts are in order of time. */
static struct phase_vector period_sum(const struct latency_period *period,
				      const struct burst_list *bursts,
				      const struct period_command *c)
{
	struct phase_vector all = { 0 }, one = { 0 };

	for (size_t i = c->first; i < c->end; i++) {
		const uint64_t at = bursts->items[i].at;

		phase_vector_add(&one, period_phase(period, at));
		if (i + 1 < c->end && period_number(period, bursts->items[i + 1].at) ==
				      period_number(period, at))
			continue;
		all.re += one.re / one.n;
		all.im += one.im / one.n;
		all.n++;
		one = (struct phase_vector){ 0 };
	}
	return all;
}

static void period_measure(const struct latency_period *period, const struct burst_list *bursts,
			   struct period_command *c)
{
	const struct phase_vector sum = period_sum(period, bursts, c);
	const double mean = atan2(sum.im, sum.re) / (2 * M_PI);

	c->periods = sum.n;
	c->length = fmin(1, hypot(sum.re, sum.im) / sum.n);
	c->before = circular_turns(mean, period->peak);
	c->bursts = (uint32_t)(c->end - c->first);
	for (size_t i = c->first; i < c->end; i++) {
		const struct burst *burst = &bursts->items[i];
		const double phase = period_phase(period, burst->at);

		c->ns += burst->ns;
		c->same += fabs(circular_turns(mean, phase)) <= TENTH / 2;
	}
}

/* A command with too few bursts is not tested: the choice does not look at their phases. */
static bool period_is_tested(const struct latency_period *period, const struct period_command *c)
{
	return c->periods >= PERIOD_BURSTS_MIN &&
	       c->periods >= PERIOD_SHARE_MIN * floor(latency_period_count(period));
}

static bool period_is_told(const struct period_command *c)
{
	return c->p <= PERIOD_ALPHA && c->length >= PERIOD_LENGTH_MIN &&
	       c->before >= -AFTER_MOST && c->before <= BEFORE_MOST;
}

/* ---- all commands ---- */

/*
 * Copies a burst that begins a new one of its command to place *n, else adds its time to the last.
 * A burst that goes on, by ever more processes, ends after PERIOD_APART, too.
 */
static void period_keep(const struct latency_period *period, struct burst *all, size_t *n,
			const struct burst *burst)
{
	if (*n && period_is_same_burst(period, &all[*n - 1], burst))
		all[*n - 1].ns += burst->ns;
	else
		all[(*n)++] = *burst;
}

/* Finds the commands to test in sorted bursts, and measures them. */
static int period_find_tested(const struct latency_period *period, struct burst_list *bursts,
			      struct period_commands_list *tested, uint64_t *beyond)
{
	int err = 0;

	for (size_t i = 0; !err && i < bursts->len;) {
		struct period_command c = { .command = bursts->items[i].command, .first = i };

		while (i < bursts->len && bursts->items[i].command == c.command)
			i++;
		c.end = i;
		period_measure(period, bursts, &c);
		err = period_is_tested(period, &c) ? vec_push(tested, c) : 0;
		if (err == -E2BIG) {
			*beyond += c.end - c.first;
			err = 0;
		}
	}
	return err;
}

/* Sets the p-values. */
static int period_test(struct period_commands_list *tested)
{
	double *p = calloc(2 * tested->len + 1, sizeof(*p)), *adjusted = p + tested->len;
	int err;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < tested->len; i++)
		p[i] = rayleigh_sf(tested->items[i].length, tested->items[i].periods);
	err = holm_adjust(p, tested->len, adjusted);
	for (size_t i = 0; i < tested->len; i++)
		tested->items[i].p = adjusted[i];
	free(p);
	return err;
}

static int period_order_by_time(const void *a, const void *b)
{
	const struct period_command *x = a, *y = b;

	return sort_order(y->ns, x->ns) ?: sort_order(x->command, y->command);
}

int period_judge(const struct latency_period *period, struct burst_list *bursts,
		 struct period_commands_list *out, uint64_t *beyond)
{
	struct period_commands_list tested;
	size_t n = 0;
	int err;

	*beyond = 0;
	vec_init(&tested, PERIOD_TESTED_MAX);
	if (bursts->len)
		qsort(bursts->items, bursts->len, sizeof(*bursts->items), period_order_bursts);
	for (size_t i = 0; i < bursts->len; i++)
		period_keep(period, bursts->items, &n, &bursts->items[i]);
	bursts->len = n;
	err = period_find_tested(period, bursts, &tested, beyond);
	if (!err)
		err = period_test(&tested);
	vec_for_each(&tested, c)
		if (!err && period_is_told(c))
			err = vec_push(out, *c);
	if (out->len)
		qsort(out->items, out->len, sizeof(*out->items), period_order_by_time);
	vec_release(&tested);
	return err;
}
