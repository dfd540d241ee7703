/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "stats/special.h"

#define START_NS 1800000000000000000ULL
#define RATE_MOST 0.95
#define APP_SERVICES 3u
#define KERNELS 2u
#define INSTANCES 3u
#define WORLD_REMOTE_SHARES 3u

/* Time for which data waits: for each retransmission, and as a part of limited time. */
#define TIMEOUT_NS 300000000ULL
#define RETRANSMIT_NS 20000000ULL
#define WAITING_PART 0.5

struct world_options world_usual(uint64_t seed)
{
	return (struct world_options){
		.seed = seed, .racks = 10, .hosts = 8, .conns = 12, .apps = 8, .host_apps = 3,
		.services = 8, .links = 4, .intervals = 300, .step_ns = 2000000000,
		.classes = 1u << FLEET_DELAYED_ACK | 1u << FLEET_TIMEOUT, .rate = 0.02,
		.app_deviation = 0.4, .host_deviation = 0.2, .conn_deviation = 0.8, .burst = 3,
		.load = 0.3, .own_mix = 0.3,
	};
}

/* Returns a factor with mean 1 whose logarithm has the deviation. */
static double world_factor(struct world *w, double deviation)
{
	const double u = rng_uniform(&w->rng) + 0x1p-54;

	return exp(deviation * normal_quantile(u) - deviation * deviation / 2);
}

/* ---- resources ---- */

static void world_name(struct world *w, enum fleet_kind kind, uint32_t n)
{
	char name[64];

	BUG_ON(n > WORLD_OF_A_KIND_MAX);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s%u", fleet_kind_name(kind), i);
		BUG_ON(fleet_resource(w->f, kind, name, &w->resources[kind][i]));
	}
}

static void world_name_all(struct world *w)
{
	const struct world_options *o = &w->options;

	world_name(w, FLEET_HOST, o->racks * o->hosts);
	world_name(w, FLEET_CONTAINER, o->racks * o->hosts * o->host_apps);
	world_name(w, FLEET_APP, o->apps);
	world_name(w, FLEET_SERVICE, o->services);
	world_name(w, FLEET_RACK, o->racks);
	world_name(w, FLEET_LINK, o->racks * o->links);
	world_name(w, FLEET_SWITCH, o->links);
	world_name(w, FLEET_KERNEL, KERNELS);
	world_name(w, FLEET_INSTANCE, INSTANCES);
	for (uint32_t i = 0; i < o->apps; i++)
		w->app_rate[i] = world_factor(w, o->app_deviation);
	for (uint32_t i = 0; i < o->racks * o->hosts; i++)
		w->host_rate[i] = world_factor(w, o->host_deviation);
}

/* ---- a connection ---- */

struct world_conn {
	uint32_t index, host;
	uint32_t which[FLEET_KINDS];
	uint32_t remote;             /* another host; only with `remotes` */
	double rate[FLEET_CLASSES];
	uint32_t burst_at[FLEET_CLASSES]; /* FLEET_NONE: no burst */
	uint32_t from, to;           /* intervals of its life */
	uint64_t clock_ns;
	const char *name;
};

/* A rack has an application that is more frequent there; hosts have some of the others. */
static uint32_t world_draw_app(struct world *w, uint32_t host, uint32_t *container)
{
	const struct world_options *o = &w->options;
	const uint32_t rack = host / o->hosts;
	uint32_t slot = (uint32_t)rng_below(&w->rng, o->host_apps);

	if (rng_uniform(&w->rng) < o->own_mix)
		slot = 0;
	*container = host * o->host_apps + slot;
	return (slot ? host * 7 + slot * 3 + rack : rack) % o->apps;
}

/* Returns whether the connection shares a resource because of the host to which it leads. */
static bool world_leads_to(const struct world *w, const struct world_conn *c,
			   const struct world_problem *p)
{
	const struct world_options *o = &w->options;
	const uint32_t rack = c->remote / o->hosts;

	if (!o->remotes)
		return false;
	if (p->kind == FLEET_HOST)
		return c->remote == p->which;
	if (rack == c->host / o->hosts)
		return false;
	return (p->kind == FLEET_RACK && rack == p->which) ||
	       (p->kind == FLEET_LINK && rack * o->links + c->which[FLEET_SWITCH] == p->which);
}

static bool world_shares(const struct world *w, const struct world_conn *c,
			 const struct world_problem *p)
{
	return c->which[p->kind] == p->which || world_leads_to(w, c, p);
}

static void world_draw_problems(struct world *w, struct world_conn *c, const double *loadings)
{
	const struct world_options *o = &w->options;

	for (size_t i = 0; i < w->n; i++) {
		const struct world_problem *p = &w->problems[i];

		if (!world_shares(w, c, p))
			continue;
		if (o->quiet > 0 && !(c->rate[p->class] > 0))
			c->rate[p->class] = o->rate;
		if (!(p->reach > 0))
			c->rate[p->class] *= p->factor * loadings[i];
		else if (rng_uniform(&w->rng) < p->reach)
			c->burst_at[p->class] = p->from +
				(uint32_t)rng_below(&w->rng, p->to - p->from);
	}
}

static void world_draw_places(struct world *w, uint32_t host, struct world_conn *c)
{
	const struct world_options *o = &w->options;
	const uint32_t rack = host / o->hosts, uplink = (uint32_t)rng_below(&w->rng, o->links);
	uint32_t *which = c->which;

	which[FLEET_HOST] = host;
	which[FLEET_APP] = world_draw_app(w, host, &which[FLEET_CONTAINER]);
	which[FLEET_SERVICE] = (which[FLEET_APP] + (uint32_t)rng_below(&w->rng, APP_SERVICES)) %
		o->services;
	which[FLEET_RACK] = rack;
	which[FLEET_SWITCH] = uplink;
	which[FLEET_LINK] = rack * o->links + uplink;
	which[FLEET_KERNEL] = host * 5 / 3 % KERNELS;
	which[FLEET_INSTANCE] = host / 3 % INSTANCES;
	if (o->remotes)
		c->remote = (uint32_t)rng_below(&w->rng, o->racks * o->hosts);
}

static void world_draw_conn(struct world *w, uint32_t host, const double *loadings,
			    struct world_conn *c)
{
	const struct world_options *o = &w->options;

	world_draw_places(w, host, c);
	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		c->rate[class] = o->classes >> class & 1 ? o->rate : 0;
		c->rate[class] *= w->app_rate[c->which[FLEET_APP]] * w->host_rate[host] *
			world_factor(w, o->conn_deviation);
		if (o->quiet > 0 && rng_uniform(&w->rng) < o->quiet)
			c->rate[class] = 0;
		c->burst_at[class] = FLEET_NONE;
	}
	world_draw_problems(w, c, loadings);
	c->from = 0;
	c->to = o->intervals;
	if (rng_uniform(&w->rng) < o->missing) {
		c->from = (uint32_t)rng_below(&w->rng, o->intervals / 2 + 1);
		c->to = c->from + o->intervals / 2;
	}
}

/* Returns how many resources the connection shares because of the host to which it leads. */
static uint32_t world_share_remote(struct world *w, const struct world_conn *c, uint32_t *shares)
{
	const struct world_options *o = &w->options;
	const uint32_t rack = c->remote / o->hosts;
	uint32_t n = 0;

	if (c->remote != c->host)
		shares[n++] = w->resources[FLEET_HOST][c->remote];
	if (rack == c->host / o->hosts)
		return n;
	shares[n++] = w->resources[FLEET_RACK][rack];
	shares[n++] = w->resources[FLEET_LINK][rack * o->links + c->which[FLEET_SWITCH]];
	return n;
}

static void world_add_conn(struct world *w, struct world_conn *c)
{
	uint32_t shares[FLEET_KINDS + WORLD_REMOTE_SHARES];
	struct fleet_conn conn = { .shares = shares, .n = FLEET_KINDS, .name = c->name };

	for (unsigned int kind = 0; kind < FLEET_KINDS; kind++)
		shares[kind] = w->resources[kind][c->which[kind]];
	conn.host = shares[FLEET_HOST];
	if (w->options.remotes)
		conn.n += world_share_remote(w, c, shares + FLEET_KINDS);
	conn.cookie = w->rng.state[0];
	BUG_ON(fleet_connection(w->f, &conn, &c->index));
}

/* ---- time ---- */

static uint64_t world_lost_ns(enum fleet_class class, double share, uint64_t step_ns)
{
	if (class == FLEET_TIMEOUT)
		return share > 0 ? TIMEOUT_NS : 0;
	if (class == FLEET_FAST_RETRANSMIT)
		return share > 0 ? RETRANSMIT_NS : 0;
	return (uint64_t)(share * (double)step_ns * WAITING_PART);
}

/* Two states, with geometric lengths: on for `burst` intervals, off as the rate demands. */
static bool world_next(struct world *w, double rate, uint32_t k, bool on)
{
	const struct world_options *o = &w->options;
	const double share = fmin(rate, RATE_MOST);
	const double begin = share / (o->burst * (1 - share));
	const double swing = 1 + o->load * sin(2 * M_PI * k / o->intervals);

	if (on)
		return rng_uniform(&w->rng) < 1 - fmin(1, 1 / o->burst);
	return rng_uniform(&w->rng) < fmin(begin * swing, 1);
}

static void world_read(struct world *w, const struct world_conn *c, uint32_t k,
		       enum fleet_class class, bool *on, struct fleet_reading *reading)
{
	const unsigned int exact = 1u << FLEET_TIMEOUT | 1u << FLEET_FAST_RETRANSMIT;
	double share = 0;

	if (!(c->rate[class] > 0) && c->burst_at[class] != k)
		return;
	if (c->rate[class] > 0)
		on[class] = world_next(w, c->rate[class], k, on[class]);
	if (on[class] || c->burst_at[class] == k)
		share = exact >> class & 1 ? 1 : 0.2 + 0.8 * rng_uniform(&w->rng);
	reading->share[class] = share;
	reading->lost_ns[class] = world_lost_ns(class, share, w->options.step_ns);
}

static void world_live(struct world *w, const struct world_conn *c)
{
	const uint64_t step = w->options.step_ns;
	bool on[FLEET_CLASSES];

	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		on[class] = rng_uniform(&w->rng) < c->rate[class];
	for (uint32_t k = c->from; k < c->to; k++) {
		struct fleet_reading reading = {
			.from_ns = START_NS + c->clock_ns + k * step,
			.to_ns = START_NS + c->clock_ns + (k + 1) * step,
			.known = (1u << FLEET_CLASSES) - 1,
		};

		for (unsigned int class = 0; class < FLEET_CLASSES; class++)
			world_read(w, c, k, class, on, &reading);
		BUG_ON(fleet_add(w->f, c->index, &reading));
	}
}

/* Fills in a class's shares in the intervals of the connection's life, and their sums. */
static void world_make_stretch(struct world *w, const struct world_conn *c, enum fleet_class class,
			       uint8_t *cells, struct fleet_stretch *out)
{
	const double late = (double)c->clock_ns / (double)w->options.step_ns;
	bool on[FLEET_CLASSES] = { false };
	double before = 0;

	*out = (struct fleet_stretch){ .first = c->from, .n = c->to - c->from, .cells = cells };
	out->known_ns = out->n * w->options.step_ns;
	for (uint32_t k = c->from; k < c->to; k++) {
		struct fleet_reading reading = { 0 };
		double share;

		world_read(w, c, k, class, on, &reading);
		share = (1 - late) * reading.share[class] + late * before;
		before = reading.share[class];
		cells[k - c->from] = (uint8_t)(share * FLEET_STEPS + 0.5);
		out->limited_ns += (uint64_t)(share * (double)w->options.step_ns);
		out->lost_ns += reading.lost_ns[class];
	}
}

static double world_cpu_s(void)
{
	struct timespec t;

	BUG_ON(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t));
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void world_live_stretches(struct world *w, const struct world_conn *c)
{
	static uint8_t cells[FLEET_CLASSES][FLEET_INTERVALS_MAX];
	static const uint8_t none[FLEET_INTERVALS_MAX];
	struct fleet_stretch stretches[FLEET_CLASSES];
	double before;

	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		if (c->rate[class] > 0 || c->burst_at[class] != FLEET_NONE)
			world_make_stretch(w, c, class, cells[class], &stretches[class]);
		else
			stretches[class] = (struct fleet_stretch){
				.first = c->from, .n = c->to - c->from, .cells = none,
				.known_ns = (c->to - c->from) * w->options.step_ns };
	before = world_cpu_s();
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		BUG_ON(fleet_add_stretch(w->f, c->index, class, &stretches[class]));
	w->adding_s += world_cpu_s() - before;
}

static void world_add_host(struct world *w, uint32_t host)
{
	const struct world_options *o = &w->options;
	const uint64_t error = o->clock_error_ns ? rng_below(&w->rng, o->clock_error_ns) : 0;
	char name[64] = "connection";
	double loadings[16];

	BUG_ON(w->n > ARRAY_LEN(loadings));
	for (size_t i = 0; i < w->n; i++)
		loadings[i] = world_factor(w, w->problems[i].deviation);
	for (uint32_t i = 0; i < o->conns; i++) {
		struct world_conn c = { .clock_ns = error, .host = host, .name = name };

		world_draw_conn(w, host, loadings, &c);
		if (o->stretches)
			snprintf(name, sizeof(name), "10.%u.%u.%u:80 > 10.0.0.1:%u", host >> 16,
				 host >> 8 & 255, host & 255, 32768 + i);
		world_add_conn(w, &c);
		if (o->stretches)
			world_live_stretches(w, &c);
		else
			world_live(w, &c);
	}
}

void world_make(struct world *w, const struct world_options *options,
		const struct world_problem *problems, size_t n)
{
	const struct fleet_grid grid = { START_NS, options->step_ns, options->intervals };

	memset(w, 0, sizeof(*w));
	w->options = *options;
	w->problems = problems;
	w->n = n;
	rng_init(&w->rng, options->seed);
	w->f = fleet_new(&grid);
	BUG_ON(!w->f);
	world_name_all(w);
	for (uint32_t host = 0; host < options->racks * options->hosts; host++)
		world_add_host(w, host);
}

void world_release(struct world *w)
{
	fleet_free(w->f);
}
