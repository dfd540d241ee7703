/* SPDX-License-Identifier: Apache-2.0 */
#include "load_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define AR1_PHI 0.9
#define AR1_SIGMA 0.5
#define PARETO_SHAPE 1.5
#define LONG_LEVELS 7    /* AR(1) processes that make one with long-range dependence */
#define LONG_SHORTEST 10 /* requests for which the shortest of them lasts; each next 6 times that */
#define LONG_RATIO 6
#define LONG_STATE 10000
#define HURST 0.8
#define SLIP_LEAST_NS 20000
#define SLIP_RANGE_NS 75000

struct state {
	const struct model *model;
	struct rng rng;
	struct rng slow_rng;        /* for levels that last for LONG_STATE requests or longer */
	double levels[LONG_LEVELS]; /* levels of the AR(1) processes */
	double run_factor;
	struct spans stalls, client_stalls, slow;
};

double model_rate(const struct model *model)
{
	return model->load / model->mean_ns * 1e9;
}

static double exponential(struct rng *rng)
{
	return -log(1 - rng_uniform(rng));
}

static double normal(struct rng *rng)
{
	return sqrt(2 * exponential(rng)) * cos(2 * M_PI * rng_uniform(rng));
}

static double lognormal(double cv, double z)
{
	const double variance = log(1 + cv * cv);

	return exp(sqrt(variance) * z - variance / 2);
}

/* Mean 1. */
static double gap(struct state *s)
{
	switch (s->model->spacing) {
	case SPACING_POISSON:
		break;
	case SPACING_LOGNORMAL:
		return lognormal(0.8, normal(&s->rng));
	case SPACING_GAMMA:
		return (exponential(&s->rng) + exponential(&s->rng)) / 2;
	case SPACING_BUNCHED:
		return rng_below(&s->rng, 10) ? exponential(&s->rng) / 0.9 : 1e-6;
	}
	return exponential(&s->rng);
}

/* A sum of AR(1) processes whose variances fall by their lengths as those of H = 0.8 do. */
static double long_level(struct state *s)
{
	double sum = 0, all = 0;

	for (int i = 0; i < LONG_LEVELS; i++) {
		const double length = LONG_SHORTEST * pow(LONG_RATIO, i), phi = exp(-1 / length);
		const double variance = pow(length, 2 * HURST - 2);

		s->levels[i] = phi * s->levels[i] + sqrt(1 - phi * phi) *
			normal(length < LONG_STATE ? &s->rng : &s->slow_rng);
		sum += sqrt(variance) * s->levels[i];
		all += variance;
	}
	return sum / sqrt(all);
}

/* Mean 1. */
static double service(struct state *s)
{
	switch (s->model->service) {
	case SERVICE_EXPONENTIAL:
		break;
	case SERVICE_FIXED:
		return 1;
	case SERVICE_BIMODAL:
		return (rng_below(&s->rng, 10) ? 1 : 10) / 1.9;
	case SERVICE_AR1:
		s->levels[0] = AR1_PHI * s->levels[0] +
			sqrt(1 - AR1_PHI * AR1_PHI) * normal(&s->rng);
		return exp(AR1_SIGMA * s->levels[0] - AR1_SIGMA * AR1_SIGMA / 2);
	case SERVICE_LONG:
		return exp(AR1_SIGMA * long_level(s) - AR1_SIGMA * AR1_SIGMA / 2);
	case SERVICE_PARETO:
		return pow(1 - rng_uniform(&s->rng), -1 / PARETO_SHAPE) *
			(PARETO_SHAPE - 1) / PARETO_SHAPE;
	}
	return exponential(&s->rng);
}

/* ---- stretches of time ---- */

static double stretch_length(const struct stretches *of, struct rng *rng)
{
	if (of->law == LAW_PARETO)
		return (double)of->ns * pow(1 - rng_uniform(rng), -1 / PARETO_SHAPE) *
			(PARETO_SHAPE - 1) / PARETO_SHAPE;
	return (double)of->ns * exponential(rng);
}

static void *must(void *memory)
{
	if (!memory) {
		perror("model");
		exit(1);
	}
	return memory;
}

/* Makes the stretches of a run, which don't overlap. */
static struct spans spans_make(const struct stretches *of, uint64_t duration_ns, struct rng *rng)
{
	struct spans spans = { 0 };
	double at = 0;
	size_t cap = 0;

	/* Requests that are late at the end of a run may meet stretches beyond it. */
	while (of->ns && at < 1.5 * (double)duration_ns) {
		const bool periodic = of->law == LAW_PERIODIC;
		const double gap = (double)(of->every_ns - of->ns) *
				   (periodic ? 1 : exponential(rng));
		const double length = periodic ? (double)of->ns : stretch_length(of, rng);

		if (spans.n == cap) {
			cap = cap ? 2 * cap : 1 << 10;
			spans.items = must(realloc(spans.items, cap * sizeof(*spans.items)));
		}
		spans.items[spans.n++] = (struct span){ (uint64_t)(at + gap),
							(uint64_t)(at + gap + length) };
		at += gap + length;
	}
	return spans;
}

/* The first stretch that ends after `ns`; NULL: none. */
static const struct span *spans_next(const struct spans *spans, uint64_t ns)
{
	size_t lo = 0, hi = spans->n;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (spans->items[mid].end <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < spans->n ? &spans->items[lo] : NULL;
}

static bool is_within(const struct spans *spans, uint64_t ns)
{
	const struct span *next = spans_next(spans, ns);

	return next && next->begin <= ns;
}

/* The end of the stretch that the time lies in, or the time. */
static uint64_t after(const struct spans *spans, uint64_t ns)
{
	return is_within(spans, ns) ? spans_next(spans, ns)->end : ns;
}

/* When work that begins then is done: stretches don't count. */
static uint64_t work(const struct spans *stalls, uint64_t from, uint64_t ns)
{
	const struct span *next;

	from = after(stalls, from);
	while ((next = spans_next(stalls, from)) && ns > next->begin - from) {
		ns -= next->begin - from;
		from = next->end;
	}
	return from + ns;
}

/* How much slower the server is at that time. */
static double slowness(const struct state *s, uint64_t ns)
{
	const struct model *m = s->model;
	const double at = (double)ns / (double)m->duration_ns;
	double factor = s->run_factor * (1 + m->drift * at);

	if (m->shift != 0 && at >= m->shift_at)
		factor *= 1 + m->shift;
	if (m->warmup != 0)
		factor *= 1 + m->warmup * exp(-(double)ns / m->warmup_ns);
	if (is_within(&s->slow, ns))
		factor *= m->slow_factor;
	return factor;
}

/* ---- requests ---- */

static struct request_times *append(struct requests *r)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1 << 16;
		r->items = must(realloc(r->items, r->cap * sizeof(*r->items)));
	}
	return &r->items[r->n++];
}

/* When the client sends a request that is due then. */
static uint64_t send_time(struct state *s, uint64_t intended)
{
	uint64_t ns = intended;

	if (s->model->slips > 0 && rng_uniform(&s->rng) < s->model->slips)
		ns += SLIP_LEAST_NS + (uint64_t)(SLIP_RANGE_NS * rng_uniform(&s->rng));
	return after(&s->client_stalls, ns);
}

static void state_init(struct state *s, const struct model *model)
{
	struct rng rng;

	*s = (struct state){ .model = model };
	rng_init(&s->rng, model->seed);
	rng_init(&s->slow_rng, (model->stretches_seed ?: model->seed) ^ 0x510);
	for (int i = 0; i < LONG_LEVELS; i++) {
		s->levels[i] = normal(&s->rng);
		if (LONG_SHORTEST * pow(LONG_RATIO, i) >= LONG_STATE)
			s->levels[i] = normal(&s->slow_rng);
	}
	s->run_factor = exp(model->between * normal(&s->rng));
	/* Another generator's, so that the same requests meet stretches or none. */
	rng_init(&rng, ~(model->stretches_seed ?: model->seed));
	s->stalls = spans_make(&model->stall, model->duration_ns, &rng);
	s->client_stalls = spans_make(&model->client_stall, model->duration_ns, &rng);
	s->slow = spans_make(&model->slow, model->duration_ns, &rng);
}

void model_run(const struct model *model, struct requests *out)
{
	const double factor = model->rate_factor != 0 ? model->rate_factor : 1;
	const double mean_gap = 1e9 / model_rate(model) / factor;
	uint64_t free_at = 0, free_connection, sent = 0;
	struct state s;
	double at = 0;

	state_init(&s, model);
	out->n = 0;
	while ((at += gap(&s) * mean_gap) < (double)model->duration_ns) {
		struct request_times *r = append(out);
		double took = service(&s) * model->mean_ns;

		r->intended = (uint64_t)at;
		r->sent = send_time(&s, r->intended);
		free_connection = model->connections && out->n > model->connections ?
			r[-(ptrdiff_t)model->connections].done : 0;
		if (free_connection > r->sent)
			r->sent = free_connection;
		/* One thread sends all. */
		if (sent > r->sent)
			r->sent = sent;
		sent = r->sent;
		if (r->sent > free_at)
			free_at = r->sent;
		r->failed = model->failing > 0 && rng_uniform(&s.rng) < model->failing;
		free_at = work(&s.stalls, free_at, 1 + (uint64_t)(took * slowness(&s, free_at)));
		r->done = after(&s.client_stalls, free_at);
	}
	free(s.stalls.items);
	free(s.slow.items);
	free(out->client_stalls.items);
	out->client_stalls = s.client_stalls;
}

void requests_release(struct requests *requests)
{
	free(requests->items);
	free(requests->client_stalls.items);
	*requests = (struct requests){ 0 };
}
