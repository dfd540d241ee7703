/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a load generator's slow requests to the server's recording of the same time: divides each
 * request between client, network and server. Both recordings use one clock.
 *
 *	client       intended -> sent -> handed to the driver, and received -> read
 *	network      from there to the arrival at the server's stack, and back
 *	server       from that arrival to the call that sent the reply
 *	unexplained  what no stamp divides, never guessed
 *
 * A request that waits for a connection was not delayed by the client: this time is divided as that
 * of the requests that the connections carried meanwhile.
 *
 * The four parts sum exactly to the request's latency.
 */
#ifndef HOSTLAT_DIAGNOSE_REQUESTS_H
#define HOSTLAT_DIAGNOSE_REQUESTS_H

#include "diagnose/state.h"

#define REQUESTS_MAX (4u << 20)  /* requests that are read, at most */
#define REQUESTS_SHOWN 1000u     /* slowest requests that are stored, at most */

enum request_part { REQUEST_CLIENT, REQUEST_NETWORK, REQUEST_SERVER, REQUEST_UNEXPLAINED,
		    REQUEST_PARTS };

struct slow_request {
	uint64_t intended;
	uint64_t latency;
	uint64_t parts[REQUEST_PARTS];
	uint64_t message;      /* id of the server's message; 0: none found */
	const char *why;       /* why no message was found: static text */
};

struct requests {
	struct request_vec VEC_OF(struct slow_request) slowest; /* by latency, the slowest first */
	uint64_t count;        /* completed requests without the warm-up */
	uint64_t beyond;       /* requests beyond REQUESTS_MAX */
	struct hist latency;   /* latencies of all completed requests without the warm-up */
	uint64_t at;           /* least latency of `slowest`, in ns */
};

/* Returns true for a request that was sent and answered after the warm-up, its times in order. */
bool request_counts(const struct event_sample *sample);

/*
 * Joins the slowest `share` (0..1) of the load's requests to the messages of `server`. Returns 0 or
 * -errno. Call requests_release() in either case.
 */
int requests_join(struct requests *out, struct event_reader *load, const struct recorded *server,
		  double share);
void requests_release(struct requests *requests);

/* Adds "requests" to the report: the sums of their parts, and each request. */
void requests_report(const struct requests *requests, struct report *r);

#endif
