/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/latency_period.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diagnose/load_side.h"

/* Frequencies tried on either side of the given one, and how many of them are one per run. */
#define FREQUENCIES 16
/*
 * Least power, as a multiple of its mean over random phases of the periods. There it exceeds x
 * with a chance of exp(-x), for about three independent frequencies: 5 %.
 */
#define POWER_LEAST 4.1

/* Sums of one period, over its requests: of the unit vectors of their phases. */
struct phase_sum {
	double cosine, sine;         /* sum of the vectors */
	double log_cosine, log_sine; /* sum of the vectors times the logarithm of the latency */
};

struct phase_sums {
	const struct latency_period *period;
	struct phase_sum *all;       /* by period */
	size_t n;
	double logs;                 /* sum of the logarithms of the latency */
	uint64_t requests;
};

double latency_period_count(const struct latency_period *period)
{
	return (double)(period->to - period->from) / period->ns;
}

/* ---- the requests ---- */

static void latency_period_add(struct phase_sums *sums, const struct event_sample *sample)
{
	const double at = (double)(sample->intended - sums->period->from) / sums->period->ns;
	const double value = log((double)(sample->done - sample->intended) + 1);
	const double cosine = cos(2 * M_PI * at), sine = sin(2 * M_PI * at);
	struct phase_sum *sum = &sums->all[(size_t)at];

	sum->cosine += cosine;
	sum->sine += sine;
	sum->log_cosine += value * cosine;
	sum->log_sine += value * sine;
	sums->logs += value;
	sums->requests++;
}

static void latency_period_add_block(struct phase_sums *sums, const struct event_block *block)
{
	const struct latency_period *period = sums->period;
	struct event_sample sample;

	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &sample, sizeof(sample));
		if (request_counts(&sample) && sample.intended >= period->from &&
		    sample.intended < period->to)
			latency_period_add(sums, &sample);
	}
}

static int latency_period_read(struct phase_sums *sums, struct event_reader *load)
{
	struct event_source *source = event_reader_source(load);
	int err = event_source_rewind(source);
	struct event_block block;

	while (!err && (err = event_source_next(source, &block)) > 0) {
		err = 0;
		if (block.kind == EV_SAMPLE)
			latency_period_add_block(sums, &block);
	}
	return err;
}

/* ---- the frequency ---- */

/* Subtracts the mean latency; leaves the deviations in log_cosine and log_sine. */
static void latency_period_center(struct phase_sums *sums)
{
	const double mean = sums->logs / (double)sums->requests;

	for (size_t i = 0; i < sums->n; i++) {
		struct phase_sum *sum = &sums->all[i];

		sum->log_cosine -= mean * sum->cosine;
		sum->log_sine -= mean * sum->sine;
	}
}

/* Sums all periods at a frequency that has `turns` more turns over the run than the given one. */
static double latency_period_power(const struct phase_sums *sums, double turns, double *peak)
{
	const double count = latency_period_count(sums->period);
	double re = 0, im = 0;

	for (size_t i = 0; i < sums->n; i++) {
		const double angle = 2 * M_PI * turns * ((double)i + 0.5) / count;
		const struct phase_sum *sum = &sums->all[i];

		re += sum->log_cosine * cos(angle) - sum->log_sine * sin(angle);
		im += sum->log_cosine * sin(angle) + sum->log_sine * cos(angle);
	}
	*peak = atan2(im, re) / (2 * M_PI);
	*peak -= floor(*peak);
	return re * re + im * im;
}

/* Returns the power that random phases of the periods have at the mean. */
static double latency_period_noise(const struct phase_sums *sums)
{
	double power = 0;

	for (size_t i = 0; i < sums->n; i++)
		power += sums->all[i].log_cosine * sums->all[i].log_cosine +
			 sums->all[i].log_sine * sums->all[i].log_sine;
	return power;
}

static void latency_period_search(const struct phase_sums *sums, struct latency_period *out)
{
	double most = 0, turns = 0, peak;

	for (int i = -FREQUENCIES; i <= FREQUENCIES; i++) {
		const double power = latency_period_power(sums, (double)i / FREQUENCIES, &peak);

		if (power <= most)
			continue;
		most = power;
		turns = (double)i / FREQUENCIES;
		out->peak = peak;
	}
	if (most < POWER_LEAST * latency_period_noise(sums) || !(most > 0))
		out->why = "the requests' latency has no peak at one phase of that period";
	else
		out->ns /= 1 + turns / latency_period_count(out);
}

int latency_period_refine(struct latency_period *period, struct event_reader *load)
{
	struct phase_sums sums = { .period = period };
	const double count = latency_period_count(period);
	int err;

	period->why = NULL;
	if (count < LATENCY_PERIODS_MIN)
		period->why = "the run has too few periods: run longer (--for)";
	else if (count >= LATENCY_PERIODS_MAX)
		period->why = "the run has too many periods";
	if (period->why)
		return 0;
	sums.n = (size_t)count + 1;
	sums.all = calloc(sums.n, sizeof(*sums.all));
	err = sums.all ? latency_period_read(&sums, load) : -ENOMEM;
	if (!err && sums.requests) {
		latency_period_center(&sums);
		latency_period_search(&sums, period);
	} else {
		period->why = "no request was answered";
	}
	free(sums.all);
	return err;
}
