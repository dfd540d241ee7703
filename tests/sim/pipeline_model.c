/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"

#define LOADING 0.8          /* part of the connections that have something in common */

struct pipeline_config pipeline_default(void)
{
	return (struct pipeline_config){
		.hosts = 8, .apps = 4, .connections = 3, .intervals = 300,
		.class = FLEET_DELAYED_ACK, .law = MODEL_SHARES, .duty = 0.1, .burst = 3,
		.loading = LOADING, .strength = 0.5,
	};
}

/* A run: the model and series of the host at hand. */
struct pipeline_run {
	struct pipeline_model *m;
	struct rng *rng;
	double *cause;           /* the pipeline's cause, by interval */
	double *common[2];       /* problem and waiting, of one application */
	bool *passes;
};

static void pipeline_fill(const struct pipeline_run *run, double load, double *out)
{
	const struct pipeline_config *c = &run->m->config;

	model_fill(run->rng, c->law, c->duty, c->burst, load, out, c->intervals);
	for (uint32_t k = 0; k < c->intervals && c->once; k++)
		out[k] = out == run->cause && k >= 100 && k < 110 ? 1 : 0;
}

/* Busy and idle in turn, for 2 to 6 intervals each. */
static void pipeline_fill_cycle(const struct pipeline_run *run, double *out)
{
	bool busy = rng_below(run->rng, 2);
	uint64_t left = 1 + rng_below(run->rng, 6);

	for (uint32_t k = 0; k < run->m->config.intervals; k++, left--) {
		if (!left) {
			busy = !busy;
			left = 2 + rng_below(run->rng, 5);
		}
		out[k] = busy;
	}
}

/* ---- connections ---- */

static uint32_t pipeline_resource(struct pipeline_model *m, enum fleet_kind kind, uint32_t which)
{
	char name[32];
	uint32_t index;

	snprintf(name, sizeof(name), "%s%u", fleet_kind_name(kind), which);
	BUG_ON(fleet_resource(m->fleet, kind, name, &index));
	return index;
}

/*
 * Adds a connection between this host and another one. Twins are two ends of one: those of
 * application 0 are recorded at the other end of those of application 1.
 */
static uint32_t pipeline_connect(struct pipeline_model *m, uint32_t host, uint32_t app, uint32_t i)
{
	const struct pipeline_config *c = &m->config;
	const bool remote = !app && (c->remote || c->twins);
	const uint32_t here = pipeline_resource(m, FLEET_HOST, host);
	const uint32_t there = pipeline_resource(m, FLEET_HOST, c->hosts + host);
	const uint32_t shares[] = { here, m->apps[app], there };
	const uint32_t port = 1000 + (c->twins && app == 1 ? 0 : app) * 100 + i;
	uint32_t index;
	char name[80];

	snprintf(name, sizeof(name), remote ? "10.1.0.%1$u:80 > 10.0.0.%1$u:%2$u" :
		 "10.0.0.%1$u:%2$u > 10.1.0.%1$u:80", host, port);
	BUG_ON(fleet_connection(m->fleet, &(struct fleet_conn){
		.host = remote ? there : here, .shares = shares, .n = remote || c->twins ? 3 : 2,
		.cookie = m->n, .name = name }, &index));
	BUG_ON(index != m->n++);
	return index;
}

static void pipeline_read(struct pipeline_run *run, uint32_t conn)
{
	const struct pipeline_config *c = &run->m->config;

	for (uint32_t k = 0; k < c->intervals; k++) {
		struct fleet_reading reading = {
			.from_ns = MODEL_START_NS + k * MODEL_STEP_NS,
			.to_ns = MODEL_START_NS + (k + 1) * MODEL_STEP_NS,
			.known = 1u << c->class | 1u << FLEET_SENDER_APP,
		};
		const size_t at = (size_t)conn * c->intervals + k;

		if (!run->passes[k]) {
			run->m->problem[at] = run->m->waiting[at] = c->zeros ? 0 : NAN;
			if (!c->zeros)
				continue;
		}
		reading.share[c->class] = run->m->problem[at];
		reading.share[FLEET_SENDER_APP] = run->m->waiting[at];
		BUG_ON(fleet_add(run->m->fleet, conn, &reading));
	}
}

/* Changes the series of a connection by what it has in common with others. */
static void pipeline_add_common(struct pipeline_run *run, double *problem, double *waiting)
{
	const struct pipeline_config *c = &run->m->config;
	const bool has[2] = { rng_uniform(run->rng) < LOADING, rng_uniform(run->rng) < LOADING };

	for (uint32_t k = 0; k < c->intervals && c->common; k++) {
		if (c->common == PIPELINE_COMMON_CYCLE) {
			problem[k] = 0.5 * problem[k] + 0.5 * run->cause[k];
			waiting[k] = 0.5 * waiting[k] + 0.5 * (1 - run->cause[k]);
			continue;
		}
		if (has[0])
			problem[k] = fmax(problem[k], run->common[0][k]);
		if (has[1])
			waiting[k] = fmax(waiting[k], run->common[1][k]);
	}
}

/* Returns the cause as it comes to those that wait in interval k. */
static double pipeline_arrives(const struct pipeline_run *run, uint32_t k)
{
	const struct pipeline_config *c = &run->m->config;
	const uint32_t n = c->intervals;

	return run->cause[(k + n + (c->before ? c->lag : n - c->lag)) % n];
}

static void pipeline_add_cause(struct pipeline_run *run, uint32_t app, uint32_t i, double *problem,
			       double *waiting)
{
	const struct pipeline_config *c = &run->m->config;
	const bool later = i >= c->connections / 2;
	const bool has = c->same ? !app && !later : !app;
	const bool waits = c->same ? !app && later : app == 1;

	if (!c->pipeline || rng_uniform(run->rng) >= c->loading)
		return;
	for (uint32_t k = 0; k < c->intervals; k++) {
		if (has)
			problem[k] = fmax(problem[k], run->cause[k]);
		if (waits && pipeline_arrives(run, k) > 0.3)
			waiting[k] = fmax(waiting[k], c->strength);
	}
}

static void pipeline_run_connection(struct pipeline_run *run, uint32_t host, uint32_t app,
				    uint32_t i)
{
	const struct pipeline_config *c = &run->m->config;
	const uint32_t conn = pipeline_connect(run->m, host, app, i);
	double *problem = run->m->problem + (size_t)conn * c->intervals;
	double *waiting = run->m->waiting + (size_t)conn * c->intervals;

	pipeline_fill(run, c->load, problem);
	pipeline_fill(run, c->load, waiting);
	pipeline_add_common(run, problem, waiting);
	pipeline_add_cause(run, app, i, problem, waiting);
	if (c->twins && app == 1)
		for (uint32_t k = 0; k < c->intervals; k++)
			waiting[k] = problem[k - (size_t)c->intervals * c->connections];
	else if (!c->not_exclusive)
		for (uint32_t k = 0; k < c->intervals; k++)
			waiting[k] = fmin(waiting[k], 1 - problem[k]);
	pipeline_read(run, conn);
}

static void pipeline_run_host(struct pipeline_run *run, uint32_t host)
{
	const struct pipeline_config *c = &run->m->config;

	for (uint32_t k = 0; k < c->intervals; k++)
		run->passes[k] = rng_uniform(run->rng) >= c->passless;
	if (c->common == PIPELINE_COMMON_CYCLE)
		pipeline_fill_cycle(run, run->cause);
	else if (!c->everywhere || !host)
		pipeline_fill(run, 0, run->cause);
	for (uint32_t app = 0; app < c->apps; app++) {
		double *common[2] = { run->common[0], run->common[1] };

		for (uint32_t i = 0; i < 2; i++) {
			run->common[i] = common[i] + (size_t)app * c->intervals;
			if (!host || c->common == PIPELINE_COMMON_HOST)
				pipeline_fill(run, 0, run->common[i]);
		}
		for (uint32_t i = 0; i < c->connections; i++)
			pipeline_run_connection(run, host, app, i);
		run->common[0] = common[0];
		run->common[1] = common[1];
	}
}

void pipeline_model_make(struct pipeline_model *m, const struct pipeline_config *config,
			 uint64_t seed)
{
	const size_t n = (size_t)config->hosts * config->apps * config->connections;
	const size_t k = config->intervals;
	const struct fleet_grid grid = { MODEL_START_NS, MODEL_STEP_NS, config->intervals };
	struct rng rng;
	struct pipeline_run run = { .m = m, .rng = &rng };

	*m = (struct pipeline_model){ .config = *config, .fleet = fleet_new(&grid) };
	m->apps = calloc(config->apps, sizeof(*m->apps));
	m->problem = calloc(2 * n * k, sizeof(*m->problem));
	run.cause = calloc((1 + 2 * config->apps) * k, sizeof(*run.cause));
	run.passes = calloc(k, sizeof(*run.passes));
	BUG_ON(!m->fleet || !m->apps || !m->problem || !run.cause || !run.passes);
	m->waiting = m->problem + n * k;
	run.common[0] = run.cause + k;
	run.common[1] = run.common[0] + config->apps * k;
	for (uint32_t app = 0; app < config->apps; app++)
		m->apps[app] = pipeline_resource(m, FLEET_APP, app);
	rng_init(&rng, seed);
	for (uint32_t host = 0; host < config->hosts; host++)
		pipeline_run_host(&run, host);
	free(run.cause);
	free(run.passes);
}

void pipeline_model_release(struct pipeline_model *m)
{
	fleet_free(m->fleet);
	free(m->apps);
	free(m->problem);
}
