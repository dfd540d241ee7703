/* SPDX-License-Identifier: Apache-2.0 */
#include "load_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define AR1_PHI 0.9
#define AR1_SIGMA 0.5
#define PARETO_SHAPE 1.5

struct state {
	const struct model *model;
	struct rng rng;
	double level;     /* level of the AR(1) process */
	double run_factor;
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
		s->level = AR1_PHI * s->level +
			sqrt(1 - AR1_PHI * AR1_PHI) * normal(&s->rng);
		return exp(AR1_SIGMA * s->level - AR1_SIGMA * AR1_SIGMA / 2);
	case SERVICE_PARETO:
		return pow(1 - rng_uniform(&s->rng), -1 / PARETO_SHAPE) *
			(PARETO_SHAPE - 1) / PARETO_SHAPE;
	}
	return exponential(&s->rng);
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
	return factor;
}

/* The end of a stall, if the time lies in one. Stalls come at the end of their period. */
static uint64_t after_stall(uint64_t ns, uint64_t every, uint64_t stall)
{
	if (!stall || ns % every < every - stall)
		return ns;
	return ns - ns % every + every;
}

/* When work that begins then is done: stalls don't count. */
static uint64_t work(const struct model *m, uint64_t from, uint64_t ns)
{
	uint64_t left;

	from = after_stall(from, m->stall_every_ns, m->stall_ns);
	while (m->stall_ns) {
		left = m->stall_every_ns - m->stall_ns - from % m->stall_every_ns;
		if (ns <= left)
			break;
		ns -= left;
		from += left + m->stall_ns;
	}
	return from + ns;
}

static struct request_times *append(struct requests *r)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1 << 16;
		r->items = realloc(r->items, r->cap * sizeof(*r->items));
		if (!r->items) {
			perror("requests");
			exit(1);
		}
	}
	return &r->items[r->n++];
}

void model_run(const struct model *model, struct requests *out)
{
	const double factor = model->rate_factor != 0 ? model->rate_factor : 1;
	const double mean_gap = 1e9 / model_rate(model) / factor;
	struct state s = { .model = model };
	uint64_t free_at = 0, free_connection;
	double at = 0;

	rng_init(&s.rng, model->seed);
	s.level = normal(&s.rng);
	s.run_factor = exp(model->between * normal(&s.rng));
	out->n = 0;
	while ((at += gap(&s) * mean_gap) < (double)model->duration_ns) {
		struct request_times *r = append(out);
		double took = service(&s) * model->mean_ns;

		r->intended = (uint64_t)at;
		r->sent = after_stall(r->intended, model->client_stall_every_ns,
				      model->client_stall_ns);
		free_connection = model->connections && out->n > model->connections ?
			r[-(ptrdiff_t)model->connections].done : 0;
		if (free_connection > r->sent)
			r->sent = free_connection;
		if (r->sent > free_at)
			free_at = r->sent;
		r->failed = model->failing > 0 && rng_uniform(&s.rng) < model->failing;
		free_at = work(model, free_at, 1 + (uint64_t)(took * slowness(&s, free_at)));
		r->done = free_at;
	}
}

void requests_release(struct requests *requests)
{
	free(requests->items);
	*requests = (struct requests){ 0 };
}
