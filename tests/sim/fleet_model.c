/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

struct model_config model_default(void)
{
	return (struct model_config){
		.racks = 4, .hosts = 4, .connections = 6, .apps = 3, .intervals = 300,
		.law = MODEL_SHARES, .duty = 0.1, .burst = 3, .class = FLEET_SEND_BUFFER,
	};
}

struct model_independent model_independent(unsigned int i)
{
	static const char *const laws[] = { "shares", "noisy shares", "events" };
	static const double duties[] = { 0.01, 0.1, 0.8 }, bursts[] = { 1, 3, 30 };
	struct model_independent out = { i / 9, duties[i / 3 % 3], bursts[i % 3], "" };

	BUG_ON(i >= MODEL_INDEPENDENT);
	snprintf(out.name, sizeof(out.name), "independent %s, %g %% of the time, bursts of %g",
		 laws[out.law], 100 * out.duty, out.burst);
	return out;
}

static double model_share(struct rng *rng, enum model_law law, bool bad)
{
	const double x = rng_uniform(rng);

	return law == MODEL_EVENTS ? bad : law == MODEL_NOISY ? (bad ? 0.5 : 0) + 0.5 * x :
					   bad ? 0.3 + 0.7 * x : 0;
}

void model_fill(struct rng *rng, enum model_law law, double duty, double burst, double load,
		double *out, uint32_t n)
{
	bool bad = rng_uniform(rng) < duty;

	for (uint32_t k = 0; k < n; k++) {
		const double now = fmin(0.95, duty * (1 + load * sin(6.283185 * k / n)));
		const double length = bad ? burst : burst * (1 - now) / now;

		bad = burst <= 1 ? rng_uniform(rng) < now : bad ^ (rng_uniform(rng) < 1 / length);
		out[k] = model_share(rng, law, bad);
	}
}

uint32_t model_cause_of(const struct model *m, uint32_t resource)
{
	for (uint32_t i = 0; i < MODEL_CAUSES_MAX; i++)
		if (m->guilty[i] == resource)
			return i;
	return FLEET_NONE;
}

/* Gives an interval's reading to a connection. */
static void model_read(struct model *m, uint32_t conn, uint32_t k, double share, uint64_t late_ns)
{
	struct fleet_reading reading = {
		.from_ns = MODEL_START_NS + k * MODEL_STEP_NS + late_ns,
		.to_ns = MODEL_START_NS + (k + 1) * MODEL_STEP_NS + late_ns,
		.known = 1u << m->config.class,
	};

	reading.share[m->config.class] = share;
	reading.lost_ns[m->config.class] = (uint64_t)(share * MODEL_STEP_NS);
	BUG_ON(fleet_add(m->fleet, conn, &reading));
}

static uint32_t model_resource(struct model *m, enum fleet_kind kind, uint32_t number)
{
	char name[32];
	uint32_t index;

	snprintf(name, sizeof(name), "%s%u", fleet_kind_name(kind), number);
	BUG_ON(fleet_resource(m->fleet, kind, name, &index));
	if (kind == m->config.guilty && number < m->config.causes)
		m->guilty[number] = index;
	return index;
}

/* Returns the cause of the resources that the new connection shares. */
static uint32_t model_connect(struct model *m, uint32_t rack, uint32_t host, uint32_t c)
{
	const struct model_config *config = &m->config;
	const uint32_t number = rack * config->hosts + host, app = c % config->apps;
	uint32_t shares[] = {
		model_resource(m, FLEET_HOST, number), model_resource(m, FLEET_RACK, rack),
		model_resource(m, FLEET_LINK, rack / 2), model_resource(m, FLEET_APP, app),
		model_resource(m, FLEET_CONTAINER, number * config->apps + app),
		model_resource(m, FLEET_KERNEL, host % 2),
	};
	uint32_t index, cause = FLEET_NONE;
	char name[32];

	snprintf(name, sizeof(name), "10.%u.%u.1:%u", rack, host, 1000 + c);
	BUG_ON(fleet_connection(m->fleet, &(struct fleet_conn){
		.host = shares[0], .shares = shares, .n = ARRAY_LEN(shares), .cookie = m->n,
		.name = name }, &index));
	BUG_ON(index != m->n++);
	for (uint32_t i = 0; i < ARRAY_LEN(shares) && cause == FLEET_NONE; i++)
		cause = model_cause_of(m, shares[i]);
	return cause;
}

static double model_estimate(struct rng *rng, double share, uint32_t samples)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < samples; i++)
		hits += rng_uniform(rng) < share;
	return samples ? (double)hits / samples : share;
}

/* Returns how many samples estimate the connection's shares. */
static uint32_t model_samples(const struct model *m, uint32_t conn)
{
	return m->config.first_exact && conn < m->config.connections ? 0 : m->config.samples;
}

static void model_run(struct model *m, struct rng *rng, uint32_t conn, uint64_t late_ns)
{
	const struct model_config *config = &m->config;
	const double *cause = m->causes + (size_t)(m->cause[conn] % MODEL_CAUSES_MAX) *
					  config->intervals;
	double *x = m->series + (size_t)conn * config->intervals;
	uint32_t from = 0, to = config->intervals;

	model_fill(rng, config->law, config->duty, config->burst, config->load, x, to);
	if (config->lives) {
		from = (uint32_t)rng_below(rng, config->intervals / 2);
		to = from + config->intervals / 2;
	}
	for (uint32_t k = 0; k < config->intervals; k++) {
		const bool known = m->passes[k] && k >= from && k < to &&
				   rng_uniform(rng) >= config->unknown;

		if (m->cause[conn] != FLEET_NONE)
			x[k] = config->members ? fmax(0.9 * cause[k], 0.1 * x[k]) :
						 fmax(x[k], cause[k]);
		x[k] = known ? model_estimate(rng, x[k], model_samples(m, conn)) :
		       config->zeros ? 0 : NAN;
		if (!isnan(x[k]))
			model_read(m, conn, k, x[k], late_ns);
	}
}

/* Returns whether the connection has the cause of a resource that it shares. */
static bool model_has(const struct model_config *config, struct rng *rng, uint32_t *members)
{
	return config->members ? (*members)++ < config->members :
				 rng_uniform(rng) < config->loading;
}

static void model_host(struct model *m, struct rng *rng, uint32_t rack, uint32_t host,
		       uint32_t *members)
{
	for (uint32_t k = 0; k < m->config.intervals; k++)
		m->passes[k] = rng_uniform(rng) >= m->config.passless;
	for (uint32_t c = 0; c < m->config.connections; c++) {
		const uint32_t conn = m->n, cause = model_connect(m, rack, host, c);

		m->cause[conn] = cause != FLEET_NONE && model_has(&m->config, rng, members) ?
			cause : FLEET_NONE;
		model_run(m, rng, conn, rack || host ? 0 : m->config.late_ns);
	}
}

static void model_allocate(struct model *m)
{
	const struct model_config *config = &m->config;
	const size_t n = (size_t)config->racks * config->hosts * config->connections;
	const struct fleet_grid grid = { MODEL_START_NS, MODEL_STEP_NS, config->intervals };

	m->fleet = fleet_new(&grid);
	m->causes = calloc(MODEL_CAUSES_MAX * (size_t)config->intervals, sizeof(*m->causes));
	m->passes = calloc(config->intervals, sizeof(*m->passes));
	m->cause = calloc(n, sizeof(*m->cause));
	m->series = calloc(n * config->intervals, sizeof(*m->series));
	BUG_ON(!m->fleet || !m->causes || !m->passes || !m->cause || !m->series);
}

void model_make(struct model *m, const struct model_config *config, uint64_t seed)
{
	uint32_t members = 0;
	struct rng rng;

	*m = (struct model){ .config = *config };
	BUG_ON(config->causes > MODEL_CAUSES_MAX);
	rng_init(&rng, seed);
	model_allocate(m);
	for (uint32_t i = 0; i < MODEL_CAUSES_MAX; i++)
		m->guilty[i] = FLEET_NONE;
	for (uint32_t i = 0; i < config->causes; i++)
		model_fill(&rng, config->law, config->duty, config->burst, 0,
			   m->causes + (size_t)i * config->intervals, config->intervals);
	for (uint32_t rack = 0; rack < config->racks; rack++)
		for (uint32_t host = 0; host < config->hosts; host++)
			model_host(m, &rng, rack, host, &members);
}

void model_release(struct model *m)
{
	fleet_free(m->fleet);
	free(m->causes);
	free(m->passes);
	free(m->cause);
	free(m->series);
}
