/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a load generator's slow requests to the server's recording of the same time: the client's,
 * network's and server's part of each. Both recordings use one clock.
 *
 *	client       intended -> sent -> handed to the driver, and received -> read
 *	network      from there to the arrival at the server's stack, and back
 *	server       from that arrival to the call that sent the reply
 *	unexplained  what no stamp divides, never guessed
 *
 * While all connections are taken a request waits for one: that time is divided as the requests
 * were that the connection carried meanwhile, for the client was not what it waited for.
 *
 * The four sum to the request's latency exactly.
 */
#ifndef HOSTLAT_DIAGNOSE_REQUESTS_H
#define HOSTLAT_DIAGNOSE_REQUESTS_H

#include "diagnose/state.h"

#define REQUESTS_MAX (4u << 20)  /* requests that are read, at most */
#define REQUESTS_SHOWN 1000u     /* slowest requests that are kept, at most */

enum request_part { REQUEST_CLIENT, REQUEST_NETWORK, REQUEST_SERVER, REQUEST_UNEXPLAINED,
		    REQUEST_PARTS };

struct slow_request {
	uint64_t intended;
	uint64_t latency;
	uint64_t parts[REQUEST_PARTS];
	uint64_t message;      /* id of the server's message; 0: none was found */
	const char *why;       /* why no message was found; static */
};

struct requests {
	struct request_vec VEC_OF(struct slow_request) slowest; /* slowest first */
	uint64_t count;        /* completed ones, the warm-up excluded */
	uint64_t beyond;       /* more than REQUESTS_MAX */
	struct hist latency;   /* latencies of the `count` requests */
	uint64_t at;           /* latency from which the slowest were taken */
};

/* Returns true for a request that was sent and answered, not in the warm-up, its times in order. */
bool request_counts(const struct event_sample *sample);

/*
 * Joins the slowest `share` (0..1) of the load's requests to the messages of `server`. 0 or -errno.
 * To be released in either case.
 */
int requests_join(struct requests *out, struct event_reader *load, const struct recorded *server,
		  double share);
void requests_release(struct requests *requests);

/* Adds "requests" to the report: their sums by part, and each one. */
void requests_report(const struct requests *requests, struct report *r);

#endif
