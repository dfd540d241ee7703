/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts for conns_budget.c, and the one thing about each that changes. */
#ifndef HOSTLAT_TESTS_SIM_CONNS_BUDGET_H
#define HOSTLAT_TESTS_SIM_CONNS_BUDGET_H

#include "conns/budget.h"

/* The load and the costs of a simulated host. */
struct host {
	uint64_t members[BUDGET_LEVELS];
	double cost;  /* factor of all that is done */
	double push, base; /* shares of a core, pushes without thinning */
	double wander; /* members change by this share in each interval */
	double churn;  /* connections that begin, and end, each second */
};

enum expect {
	IN_BAND,
	AT_MAX,		/* and below the lower limit */
	BELOW_FLOOR,
};

static const struct scenario {
	const char *name;
	struct host before, after;
	enum expect expect;
	uint32_t thin, follow; /* at the end; chance may leave `follow` at twice that */
} scenarios[] = {
	{ "10 connections", { { 0, 10, 0 }, 1, 0.0005, 0.001, 0, 0 },
	  { { 1, 9, 0 }, 1, 0.0005, 0.001, 0, 0 }, AT_MAX, 1, 1 },
	{ "10 to 1,000", { { 0, 10, 0 }, 1, 0.001, 0.001, 0, 0 },
	  { { 0, 1000, 0 }, 1, 0.002, 0.001, 0, 0 }, AT_MAX, 1, 1 },
	{ "10 to 50,000", { { 0, 10, 0 }, 1, 0.001, 0.001, 0, 0 },
	  { { 0, 50000, 0 }, 1, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "50,000 to 10", { { 0, 50000, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 0, 10, 0 }, 1, 0.0005, 0.001, 0, 0 }, AT_MAX, 1, 1 },
	{ "1,000, cost x 4", { { 5, 995, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 5, 995, 0 }, 4, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "10,000, cost x 4", { { 5, 9995, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 5, 9995, 0 }, 4, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "50,000, cost x 3", { { 5, 49995, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 5, 49995, 0 }, 3, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "one bad in 10,000", { { 0, 10000, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 1, 9999, 0 }, 1, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "300,000 silent", { { 0, 10, 0 }, 1, 0.001, 0.001, 0, 0 },
	  { { 1, 100, 300000 }, 1, 0.001, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "pushes 5 %", { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 2, 1000, 0 }, 1, 0.05, 0.001, 0, 0 }, IN_BAND, 4, 1 },
	{ "own work 1.2 %", { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 2, 1000, 0 }, 1, 0.002, 0.012, 0, 0 }, IN_BAND, 1, 1 },
	{ "wandering", { { 20, 5000, 100 }, 1, 0.002, 0.001, 0.1, 0 },
	  { { 50, 8000, 100 }, 1, 0.002, 0.001, 0.1, 0 }, IN_BAND, 1, 1 },
	{ "10 to 100,000", { { 0, 10, 0 }, 1, 0.001, 0.001, 0, 0 },
	  { { 0, 100000, 0 }, 1, 0.002, 0.001, 0, 0 }, IN_BAND, 1, 1 },
	{ "2,000,000 active", { { 0, 10, 0 }, 1, 0.001, 0.001, 0, 0 },
	  { { 1, 2000000, 0 }, 1, 0.002, 0.001, 0, 0 }, BELOW_FLOOR, 1, 1 },
	{ "10,000/s come and go", { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 0 },
	  { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 10000 }, IN_BAND, 1, 4 },
	{ "... and no longer", { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 10000 },
	  { { 2, 1000, 0 }, 1, 0.002, 0.001, 0, 100 }, IN_BAND, 1, 1 },
};

#endif
