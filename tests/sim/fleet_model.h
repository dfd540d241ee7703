/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up fleets with a known truth: racks of hosts, two racks to a link, two kernels, and
 * applications that run on all hosts, each in a container of its own on each host. Connections go
 * between good and bad independently of each other; a common cause makes those of one resource bad
 * at the same times.
 */
#ifndef TESTS_SIM_FLEET_MODEL_H
#define TESTS_SIM_FLEET_MODEL_H

#include "base/rng.h"

#include "fleet/fleet.h"

#define MODEL_STEP_NS 2000000000ULL
#define MODEL_START_NS 1000000000000ULL
#define MODEL_CAUSES_MAX 32u

enum model_law {
	MODEL_SHARES,            /* bad intervals have a share of 0.3 to 1, others 0 */
	MODEL_NOISY,             /* bad ones 0.5 to 1, others 0 to 0.5 */
	MODEL_EVENTS,            /* 1 and 0 */
};

struct model_config {
	uint32_t racks, hosts, connections, apps; /* hosts of a rack, connections of a host */
	uint32_t intervals;
	enum model_law law;
	double duty;             /* share of bad intervals */
	double burst;            /* mean length of bad stretches, in intervals */
	enum fleet_kind guilty;  /* kind of resources with a common cause */
	uint32_t causes;         /* so many of them, the first ones, each with a cause of its own */
	double loading;          /* share of its connections that have it; 0: no cause */
	uint32_t members;        /* so many connections have it alone; 0: by the loading */
	double unknown;          /* share of intervals without a reading, at random */
	double passless;         /* the same, but all connections of a host miss the same ones */
	bool zeros;              /* intervals without a reading are reported as 0 */
	uint32_t samples;        /* a share is estimated from so many samples; 0: exact */
	bool first_exact;        /* those of the first host are exact */
	uint64_t late_ns;        /* error of the first host's clock */
	bool lives;              /* connections begin and end at random times */
	double load;             /* rise and fall of the duty over the window, common to all */
	enum fleet_class class;
};

/* Laws of independent problems: each of three laws, duties and lengths of bursts. */
#define MODEL_INDEPENDENT 27u

struct model_independent {
	enum model_law law;
	double duty, burst;      /* as in model_config */
	char name[80];           /* row of a table */
};

/* Returns law i, from 0. */
struct model_independent model_independent(unsigned int i);

struct model {
	struct model_config config;
	struct fleet *fleet;
	uint32_t guilty[MODEL_CAUSES_MAX]; /* resources; FLEET_NONE: no cause */
	uint32_t n;
	uint32_t *cause;         /* cause of connection c; FLEET_NONE: none */
	double *causes;          /* share of cause i in interval k: [i * intervals + k] */
	bool *passes;            /* whether the host has a pass in interval k */
	double *series;          /* share of connection c, likewise; NaN: no reading */
};

/* 4 racks of 4 hosts, 6 connections each, 3 applications; no cause. */
struct model_config model_default(void);

/* Makes a fleet; ends the program without memory. model_release() frees it. */
void model_make(struct model *m, const struct model_config *config, uint64_t seed);
void model_release(struct model *m);

/* Fills n intervals with stretches of bad and good ones. */
void model_fill(struct rng *rng, enum model_law law, double duty, double burst, double load,
		double *out, uint32_t n);

/* Returns the cause that the resource is guilty of, FLEET_NONE: none. */
uint32_t model_cause_of(const struct model *m, uint32_t resource);

#endif
