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

		/* Of independent intervals, too, so many are bad. */
		bad = burst <= 1 ? rng_uniform(rng) < now : bad ^ (rng_uniform(rng) < 1 / length);
		out[k] = model_share(rng, law, bad);
	}
}

void model_read(struct model *m, uint32_t conn, uint32_t k, double share)
{
	struct fleet_reading reading = {
		.from_ns = MODEL_START_NS + k * MODEL_STEP_NS,
		.to_ns = MODEL_START_NS + (k + 1) * MODEL_STEP_NS,
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
	if (!number && kind == m->config.guilty && m->config.loading > 0)
		m->guilty = index;
	return index;
}

/* Returns whether it shares the resource with the cause. */
static bool model_connect(struct model *m, uint32_t rack, uint32_t host, uint32_t c)
{
	const struct model_config *config = &m->config;
	const uint32_t number = rack * config->hosts + host, app = c % config->apps;
	uint32_t shares[] = {
		model_resource(m, FLEET_HOST, number), model_resource(m, FLEET_RACK, rack),
		model_resource(m, FLEET_LINK, rack / 2), model_resource(m, FLEET_APP, app),
		model_resource(m, FLEET_CONTAINER, number * config->apps + app),
		model_resource(m, FLEET_KERNEL, host % 2),
	};
	char name[32];
	uint32_t index;

	snprintf(name, sizeof(name), "10.%u.%u.1:%u", rack, host, 1000 + c);
	BUG_ON(fleet_connection(m->fleet, &(struct fleet_conn){
		.host = shares[0], .shares = shares, .n = ARRAY_LEN(shares), .cookie = m->n,
		.name = name }, &index));
	BUG_ON(index != m->n || index >= MODEL_CONNECTIONS_MAX);
	m->n++;
	for (uint32_t i = 0; i < ARRAY_LEN(shares); i++)
		if (shares[i] == m->guilty)
			return true;
	return false;
}

static void model_run(struct model *m, struct rng *rng, uint32_t conn)
{
	const struct model_config *config = &m->config;
	double *x = m->series + (size_t)conn * config->intervals;
	uint32_t from = 0, to = config->intervals;

	model_fill(rng, config->law, config->duty, config->burst, config->load, x, to);
	if (config->lives) {
		from = (uint32_t)rng_below(rng, config->intervals / 2);
		to = from + config->intervals / 2;
	}
	for (uint32_t k = 0; k < config->intervals; k++) {
		if (m->member[conn])
			x[k] = config->members ? fmax(0.9 * m->cause[k], 0.1 * x[k]) :
						 fmax(x[k], m->cause[k]);
		if (k < from || k >= to || rng_uniform(rng) < config->unknown)
			x[k] = NAN;
		else
			model_read(m, conn, k, x[k]);
	}
}

static void model_connections(struct model *m, struct rng *rng)
{
	const struct model_config *config = &m->config;
	uint32_t members = 0;

	for (uint32_t rack = 0; rack < config->racks; rack++)
		for (uint32_t host = 0; host < config->hosts; host++)
			for (uint32_t c = 0; c < config->connections; c++) {
				const bool shares = model_connect(m, rack, host, c);
				const bool has = config->members ?
					members < config->members :
					rng_uniform(rng) < config->loading;

				m->member[m->n - 1] = shares && has;
				members += m->member[m->n - 1];
				model_run(m, rng, m->n - 1);
			}
}

void model_make(struct model *m, const struct model_config *config, uint64_t seed)
{
	const size_t connections = (size_t)config->racks * config->hosts * config->connections;
	const struct fleet_grid grid = { MODEL_START_NS, MODEL_STEP_NS, config->intervals };
	struct rng rng;

	*m = (struct model){ .config = *config, .guilty = FLEET_NONE };
	rng_init(&rng, seed);
	m->fleet = fleet_new(&grid);
	m->cause = calloc((connections + 1) * config->intervals, sizeof(*m->cause));
	BUG_ON(!m->fleet || !m->cause);
	m->series = m->cause + config->intervals;
	model_fill(&rng, config->law, config->duty, config->burst, 0, m->cause, config->intervals);
	model_connections(m, &rng);
}

void model_release(struct model *m)
{
	fleet_free(m->fleet);
	free(m->cause);
}
