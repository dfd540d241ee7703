/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_agents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/opt_words.h"
#include "base/rng.h"
#include "cmd/load_spawn.h"
#include "load/coordinator.h"
#include "load/agent_list.h"
#include "load/http_auth.h"

#define SETUP_MAX (64UL << 10)

/*
 * Share of the total rate that latency agents send: low, as these agents only measure, but enough
 * requests for a percentile.
 */
#define PROBE_SHARE 0.05
#define PROBE_RATE_MIN 100.0

static const struct opt_choice role_choices[] = {
	{ "symmetric", ROLE_SYMMETRIC, NULL },
	{ "throughput", ROLE_THROUGHPUT, NULL },
	{ "latency", ROLE_LATENCY, NULL },
	{ NULL, 0, NULL },
};

const struct opt load_agent_option_rows[] = {
	OPTIONS_LOAD(struct load_agent_options, load),
	OPT_CHOICE(struct load_agent_options, role, .name = "role", .choices = role_choices,
		   .def = "symmetric", .help = "Role of this agent: load and latency, only load, "
					       "or only latency"),
	OPT_END,
};

struct agents {
	struct load_hosts hosts;
	struct load_process processes[LOAD_AGENTS_MAX];
	struct strbuf setups[LOAD_AGENTS_MAX];
	struct coordinator *coordinator;
};

/* ---- shares ---- */

/* Draws a different seed for each agent. */
static void draw_seeds(uint64_t run_seed, uint64_t *seeds, uint32_t n)
{
	struct rng rng;

	rng_init(&rng, run_seed);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;

		seeds[i] = rng_u64(&rng) >> 11; /* 53 bits: JSON numbers preserve the seed */
		while (k < i && seeds[k] != seeds[i])
			k++;
		if (k < i || !seeds[i])
			i--;
	}
}

/* Returns agent i's share of a whole number; the first agents get the remainder. */
static uint32_t load_agents_share(uint32_t all, uint32_t n, uint32_t i)
{
	return all / n + (i < all % n);
}

static void load_agents_set_load(struct load_agent_options *a, const struct load_hosts *hosts,
				 const struct load_config *config, uint32_t i)
{
	const uint32_t n = hosts->n - hosts->probes;

	a->role = hosts->probes ? ROLE_THROUGHPUT : ROLE_SYMMETRIC;
	a->load.rate = config->loop == LOOP_OPEN ? config->rate / n : 0;
	a->load.connections = load_agents_share(config->connections, n, i);
	a->load.threads.count = config->threads;
	a->load.preload = config->preload && i == 0;
}

/*
 * Sets the load of a latency agent, which only measures. Its requests have Poisson arrivals, so
 * that they see time averages (PASTA).
 */
static void load_agents_set_probe(struct load_agent_options *a, const struct load_hosts *hosts,
				  const struct load_config *config)
{
	double rate = config->rate * PROBE_SHARE;

	rate = rate < PROBE_RATE_MIN ? PROBE_RATE_MIN : rate;
	rate = rate > config->rate ? config->rate : rate;
	a->role = ROLE_LATENCY;
	a->load.rate = rate / hosts->probes;
	a->load.arrival = "poisson";
	a->load.connections = 0;
	a->load.outstanding = 1;
	a->load.threads.count = 1;
	a->load.preload = false;
}

/*
 * Sets the options shared by all agents. Agents do not get --percentile and other options of the
 * analysis, because the coordinator judges the result.
 */
static void load_agents_fill_options(struct load_agent_options *a, const struct load_options *o,
				     const struct load_config *config)
{
	a->load = *o;
	a->load.urls.len = config->n_targets;
	memcpy(a->load.urls.items, config->targets,
	       config->n_targets * sizeof(config->targets[0]));
	a->load.max_time_ns = config->duration_ns;
	a->load.drain_ns = config->drain_ns;
	a->load.percentile = a->load.confidence = a->load.max_errors = 0;
	a->load.ci_width_ns = 0;
	a->load.excise = false;
	a->load.method = 0;
	a->load.abort_on = NULL;
}

/* Adds the variable that holds the secret of --auth: an agent has another environment. */
static int write_variables(const struct load_options *o, struct strbuf *out)
{
	const char *auth = o->to.request.auth, *name, *value;

	name = auth ? http_auth_variable(auth) : NULL;
	value = name ? getenv(name) : NULL;
	if (!value)
		return 0;
	if (strpbrk(value, "\r\n"))
		return -EINVAL;
	strbuf_printf(out, "env %s=%s\n", name, value);
	return out->error;
}

static int write_setups(struct agents *agents, const struct load_options *o,
			const struct load_config *config, struct strbuf *why)
{
	const struct load_hosts *hosts = &agents->hosts;
	uint64_t seeds[LOAD_AGENTS_MAX];
	int err = 0;

	draw_seeds(config->seed, seeds, hosts->n);
	for (uint32_t i = 0; !err && i < hosts->n; i++) {
		struct load_agent_options a = { 0 };

		load_agents_fill_options(&a, o, config);
		if (hosts->hosts[i].probes)
			load_agents_set_probe(&a, hosts, config);
		else
			load_agents_set_load(&a, hosts, config, i);
		a.load.seed = seeds[i];
		strbuf_init(&agents->setups[i], SETUP_MAX);
		err = opt_words(load_agent_option_rows, &a, "arg ", &agents->setups[i]);
		if (!err)
			err = write_variables(o, &agents->setups[i]);
	}
	if (err)
		strbuf_printf(why, "cannot send the options to agents: %s", strerror(-err));
	return err;
}

/* ---- the backend ---- */

static int agents_connect(void *ctx, int stop_fd, struct strbuf *why)
{
	return coordinator_connect(((struct agents *)ctx)->coordinator, stop_fd, why);
}

static int agents_start(void *ctx)
{
	return coordinator_start(((struct agents *)ctx)->coordinator);
}

static int agents_wait(void *ctx, int stop_fd, uint64_t timeout_ns)
{
	return coordinator_wait(((struct agents *)ctx)->coordinator, stop_fd, timeout_ns);
}

static void agents_stop(void *ctx)
{
	coordinator_stop(((struct agents *)ctx)->coordinator);
}

static void agents_cut(void *ctx)
{
	coordinator_cut(((struct agents *)ctx)->coordinator);
}

static void agents_free(void *ctx)
{
	struct agents *agents = ctx;

	coordinator_free(agents->coordinator);
	load_processes_end(agents->processes, agents->hosts.n);
	for (uint32_t i = 0; i < agents->hosts.n; i++)
		strbuf_release(&agents->setups[i]);
	free(agents);
}

static void load_agents_on_lost(void *ctx, uint32_t agent)
{
	load_process_kill(&((struct agents *)ctx)->processes[agent]);
}

/* Starts the agents' processes. coordinator_new() owns their descriptors even if it fails. */
static int load_agents_start_all(struct agents *agents, const struct load_options *o,
				 const struct load_config *config, struct strbuf *why)
{
	struct coordinator_agent list[LOAD_AGENTS_MAX];
	const char *command = o->hosts.command ? o->hosts.command : LOAD_HOSTS_COMMAND;
	const struct load_hosts *hosts = &agents->hosts;
	const struct coordinator_config coordinator = {
		.run = config, .agents = list, .n_agents = hosts->n, .lost = load_agents_on_lost,
		.ctx = agents,
	};
	uint32_t n = 0;
	int err = 0;

	for (; !err && n < hosts->n; n++) {
		const struct load_host *host = &hosts->hosts[n];
		struct load_process *p = &agents->processes[n];

		err = load_process_start(p, host, command, why);
		list[n] = (struct coordinator_agent){
			.name = host->text, .in = p->in, .out = p->out, .err = p->err,
			.same_clock = host->kind != HOST_SSH, .setup = &agents->setups[n],
			.role = host->probes ? ROLE_LATENCY : hosts->probes ? ROLE_THROUGHPUT
									    : ROLE_SYMMETRIC,
		};
	}
	if (!err)
		return coordinator_new(&agents->coordinator, &coordinator);
	for (uint32_t i = 0; i < n; i++) {
		if (agents->processes[i].pid) {
			close(list[i].in);
			close(list[i].out);
			close(list[i].err);
		}
	}
	return err;
}

int load_agents_new(struct load_backend *backend, const struct load_options *o,
		    const struct load_config *config, struct strbuf *why)
{
	struct agents *agents = calloc(1, sizeof(*agents));
	int err;

	if (!agents)
		return -ENOMEM;
	err = load_hosts_parse(&agents->hosts, &o->hosts, why);
	if (!err)
		err = write_setups(agents, o, config, why);
	if (!err)
		err = load_agents_start_all(agents, o, config, why);
	if (err) {
		agents_free(agents);
		return err;
	}
	*backend = (struct load_backend){
		.ctx = agents, .source = coordinator_source(agents->coordinator),
		.failure = "no agent is ready", .advice = "",
		.connect = agents_connect, .start = agents_start, .wait = agents_wait,
		.stop = agents_stop, .cut = agents_cut, .free = agents_free,
	};
	return 0;
}
