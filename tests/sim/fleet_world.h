/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic fleets with known problems: hosts in racks, each with some applications that talk to
 * shared services over the uplinks of their rack. The same options give the same fleet.
 *
 *	world_make(&w, &options, problems, n);
 *	fleet_analyze(w.f, ...); world_resource(&w, FLEET_RACK, 2) is what the third rack should be
 *	world_release(&w);
 */
#ifndef TESTS_SIM_FLEET_WORLD_H
#define TESTS_SIM_FLEET_WORLD_H

#include "base/rng.h"
#include "fleet/fleet.h"

#define WORLD_OF_A_KIND_MAX 131072u

struct world_options {
	uint64_t seed;
	uint32_t racks, hosts;       /* hosts of each rack */
	uint32_t conns;              /* connections of each host */
	uint32_t apps, host_apps;    /* in all, and of each host */
	uint32_t services;           /* an application talks to three of them */
	uint32_t links;              /* uplinks of each rack, each to a switch of its own */
	uint32_t intervals;
	uint64_t step_ns;
	unsigned int classes;        /* mask of the classes with a background */
	double rate;                 /* mean share of intervals with a problem */
	/* Deviations of the logarithm of the rate: between applications, hosts, connections. */
	double app_deviation, host_deviation, conn_deviation;
	double burst;                /* mean length of a problem in intervals, from 1 */
	double load;                 /* swing of all rates with the time of day, 0 to 1 */
	double own_mix;              /* share of a rack's connections that is one application's */
	double missing;              /* share of connections that are known half of the time */
	uint64_t clock_error_ns;     /* hosts' clocks are off by up to so much */
	double quiet;                /* share of connections' classes that never have a problem */
	/* Connections lead to other hosts of the fleet, and share them, their racks and uplinks. */
	bool remotes;
	/* Connections are added as stretches, one of each class, instead of readings. */
	bool stretches;
};

/* A problem of one resource. */
struct world_problem {
	enum fleet_kind kind;
	uint32_t which;              /* which of the kind, from 0 */
	enum fleet_class class;
	double factor;               /* rates are multiplied by it; no shares above 0.95 */
	double deviation;            /* between hosts, of the factor's logarithm */
	/* a burst instead: within these intervals, each connection has an event with a chance */
	uint32_t from, to;
	double reach;
};

struct world {
	struct fleet *f;
	struct world_options options;
	struct rng rng;
	const struct world_problem *problems;
	size_t n;
	uint32_t resources[FLEET_KINDS][WORLD_OF_A_KIND_MAX];
	double app_rate[WORLD_OF_A_KIND_MAX], host_rate[WORLD_OF_A_KIND_MAX];
	double adding_s;             /* CPU time that adding stretches took */
};

/* Returns usual options: 10 racks of 8 hosts with 12 connections each, 8 applications, an hour. */
struct world_options world_usual(uint64_t seed);

void world_make(struct world *w, const struct world_options *options,
		const struct world_problem *problems, size_t n);
void world_release(struct world *w);

static inline uint32_t world_resource(const struct world *w, enum fleet_kind kind, uint32_t which)
{
	return w->resources[kind][which];
}

#endif
