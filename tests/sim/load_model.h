/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue with one server, simulated request by request: what `load` would see of it on a perfect
 * network and clock, with faults that are put in on purpose. Times are ns from the schedule's
 * start. The same seed gives the same run.
 */
#ifndef LOAD_MODEL_H
#define LOAD_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum service {
	SERVICE_EXPONENTIAL, /* M/M/1 with Poisson arrivals */
	SERVICE_FIXED,       /* M/D/1 */
	SERVICE_BIMODAL,     /* 90 % one, 10 % ten: mean 1.9 */
	SERVICE_AR1,         /* lognormal, the logarithms an AR(1) process: long fits of slowness */
	SERVICE_PARETO,      /* shape 1.5: no variance */
	SERVICE_LONG,        /* as AR1, with fits of all lengths: long-range dependence, H = 0.8 */
};

enum spacing {
	SPACING_POISSON,
	SPACING_LOGNORMAL, /* coefficient of variation 0.8 */
	SPACING_GAMMA,     /* shape 2 */
	SPACING_BUNCHED,   /* Poisson, but one request in ten comes together with the one before */
};

enum law {
	LAW_PERIODIC,    /* at the end of each period */
	LAW_EXPONENTIAL, /* at random times; the lengths are exponential */
	LAW_PARETO,      /* at random times; the lengths are Pareto with shape 1.5 */
};

/* Stretches of time of `ns` each, or on average, and one in each `every_ns`; ns 0: none. */
struct stretches {
	enum law law;
	uint64_t every_ns, ns;
};

struct model {
	enum service service;
	enum spacing spacing;
	double mean_ns;        /* mean service time */
	double load;           /* share of the server's time; the rate is load / mean */
	double rate_factor;    /* rate that is really sent, as a share of the planned one; 0: 1 */
	uint64_t duration_ns;
	uint32_t connections;  /* with one request each; 0: as many as needed */
	struct stretches stall;        /* the server stops */
	struct stretches client_stall; /* nothing can be sent, and no reply be read */
	struct stretches slow;         /* the server is slower, by `slow_factor` */
	double slow_factor;
	/* share of the requests that the client sends late, by 20 to 95 us */
	double slips;
	double drift;          /* the service gets slower by this share until the end, evenly */
	double shift, shift_at; /* level shift: by this share, at this share of the run */
	double warmup, warmup_ns; /* warm-up: by this share at first, decaying within that time */
	/* between runs: by a share with this deviation, constant within a run */
	double between;
	double failing;        /* share of requests that the server refuses */
	uint64_t seed;
	/* for the stretches, and what lasts long in SERVICE_LONG, alone; 0: `seed` */
	uint64_t stretches_seed;
};

/* Ascending by `intended`, and so by the others: one server, first come, first served. */
struct requests {
	size_t n, cap;
	struct request_times {
		uint64_t intended, sent, done;
		bool failed;
	} *items;
	struct spans {
		size_t n;
		struct span {
			uint64_t begin, end;
		} *items;
	} client_stalls;
};

double model_rate(const struct model *model); /* as declared, per second */

/* Reuses the memory of `out`, which is zeroed at first. Exits without memory. */
void model_run(const struct model *model, struct requests *out);
void requests_release(struct requests *requests);

#endif
