/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves out the time around gaps, in which the load generator's host stood still (--excise). If
 * the gaps have nothing to do with the server, the requests of the other time are a fair sample of
 * what the server does undisturbed.
 *
 * A request is left out if it was *due* near a gap [b, e]: in [b - L, e + 4 (e - b) + 2 L], where L
 * is twice the percentile in question. Requests due before are over when the gap begins, those due
 * later come after the bunch of late requests, as long as the server is busy for at most 80 % of
 * the time. It is not left out because it was under way in a
 * gap: slow requests are more often, and the rest would be too fast.
 *
 * Whether L is long enough is checked: with twice the time after gaps, the percentile must be the
 * same within its interval.
 */
#ifndef HOSTLAT_LOAD_EXCISE_H
#define HOSTLAT_LOAD_EXCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "load/interference.h"
#include "stats/hist.h"

#define EXCISE_PENDING (1 << 22) /* requests of an agent that wait for gaps to be known */
#define EXCISE_GAPS (1 << 20)    /* gaps of an agent that still matter */
/*
 * Time in ns after which the gaps near a request are known: a gap is known at its end. Requests
 * near a longer gap may be kept.
 */
#define EXCISE_WAIT_NS 1000000000ULL

struct excise_request {
	uint64_t intended, ns; /* intended time and latency, ns */
};

/* Requests and gaps of one agent. */
struct excise_queue {
	struct VEC_OF(struct excise_request) requests;
	struct VEC_OF(struct interference_span) gaps;
};

struct excise {
	double q;             /* the percentile, 0..1 */
	uint64_t near_ns;     /* L; 0: not known yet */
	uint64_t seen;        /* requests of which it was decided */
	struct hist kept;     /* latencies that are kept */
	struct hist checked;  /* latencies that are kept with twice the time after gaps */
	bool overflow;        /* a queue was full: nothing can be said */
};

void excise_init(struct excise *excise, double q);
void excise_release(struct excise *excise);
void excise_queue_init(struct excise_queue *queue);
void excise_queue_release(struct excise_queue *queue);

/* Adds a request or a gap of the agent. Return 0 or -ENOMEM; a full queue sets `overflow`. */
int excise_add(struct excise *excise, struct excise_queue *queue, uint64_t intended, uint64_t ns);
int excise_gap(struct excise *excise, struct excise_queue *queue, uint64_t begin, uint64_t end);

/* Returns the time before which all gaps are known, if all requests due before `oldest` came. */
uint64_t excise_known(const struct excise *excise, uint64_t oldest);

/*
 * Decides about the requests due before `until` (ns), of which all have come, and calls keep() for
 * each that is kept, in order. Returns 0, -ENOMEM, or what keep() returned if that is not 0.
 */
int excise_decide(struct excise *excise, struct excise_queue *queue, uint64_t until,
		  int (*keep)(void *context, uint64_t intended, uint64_t ns), void *context);

/* Returns the share of the decided requests that were kept; NaN: none was decided. */
double excise_share(const struct excise *excise);

#endif
