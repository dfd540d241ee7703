/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up fleets for pipelines: hosts with the same applications, each with some connections on
 * each host. Connections have a problem, and wait for their application, independently of each
 * other. With a pipeline, those of application 1 wait when those of application 0 have the problem
 * on their host.
 */
#ifndef TESTS_SIM_PIPELINE_MODEL_H
#define TESTS_SIM_PIPELINE_MODEL_H

#include "fleet_model.h"

/* Times that connections have in common without a pipeline. */
enum pipeline_common {
	PIPELINE_COMMON_NONE,
	PIPELINE_COMMON_HOST,    /* one application's on a host: of problems, and of waiting */
	PIPELINE_COMMON_ALL,     /* one application's, on all hosts */
	PIPELINE_COMMON_CYCLE,   /* a host's load comes and goes: problems, then waiting */
};

struct pipeline_config {
	uint32_t hosts, apps, connections; /* connections of each application on each host */
	uint32_t intervals;
	enum fleet_class class;
	enum model_law law;
	double duty, burst;      /* share of bad intervals, and their mean length, of both sides */
	double load;             /* rise and fall over the window, common to all */
	double passless;         /* share of intervals in which a host has no readings */
	bool zeros;              /* these are reported as 0 */
	bool not_exclusive;      /* connections wait while they have the problem */
	enum pipeline_common common;
	/* -- pipeline -- */
	bool pipeline;
	bool same;               /* the later half of application 0's connections waits */
	bool everywhere;         /* the cause has the same times on all hosts */
	bool once;               /* the cause comes once, for 10 intervals; nothing else does */
	bool remote;             /* application 0 was recorded at its other end, on other hosts */
	bool twins;              /* without a pipeline: waiting is the other end of a problem */
	double loading;          /* part of the connections that have the cause, or wait */
	double strength;         /* part of the interval for which they wait */
	uint32_t lag;            /* intervals until they wait */
	bool before;             /* they wait `lag` intervals earlier */
};

struct pipeline_model {
	struct pipeline_config config;
	struct fleet *fleet;
	uint32_t n;              /* connections */
	uint32_t *apps;          /* resources */
	double *problem, *waiting; /* share of connection c in interval k; NaN: no reading */
};

/* 8 hosts, 4 applications with 3 connections each on every host, 10 minutes; no pipeline. */
struct pipeline_config pipeline_default(void);

/* Makes a fleet; ends the program without memory. pipeline_model_release() frees it. */
void pipeline_model_make(struct pipeline_model *m, const struct pipeline_config *config,
			 uint64_t seed);
void pipeline_model_release(struct pipeline_model *m);

#endif
