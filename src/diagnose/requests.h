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

#include "diagnose/thread_times.h"
#include "stats/contrast.h"

#define REQUESTS_SHOWN 1000u     /* slowest requests that are explained, at most */
#define REQUESTS_NEAR 4u         /* times as many of the next slowest that are divided, too */
#define REQUESTS_USUAL 1000u     /* usual requests that are divided, at most */
#define REQUESTS_CHOSEN (REQUESTS_SHOWN * (1 + REQUESTS_NEAR) + 2 * REQUESTS_USUAL)

enum request_part { REQUEST_CLIENT, REQUEST_NETWORK, REQUEST_SERVER, REQUEST_UNEXPLAINED,
		    REQUEST_PARTS };

struct slow_request {
	uint64_t intended;
	uint64_t latency;
	uint64_t parts[REQUEST_PARTS];
	uint64_t message;      /* id of the server's message; 0: none found */
	const char *why;       /* why no message was found: static text */
	uint32_t place;        /* index + 1 of the message in messages.all; 0: none found */
	uint64_t read_ns;      /* part of parts[REQUEST_SERVER] after the message's read, which is
				* in `times`: the rest is the message's own time */
};

struct requests {
	/*
	 * Requests that are divided: `targets` by latency, the slowest first, then `near`, the next
	 * slowest, then the usual ones, with which they are compared.
	 */
	struct request_vec VEC_OF(struct slow_request) chosen;
	size_t targets, near;
	bool usual_is_slow;    /* the usual ones are the fastest tenth: p50 is over 3 times p5 */
	/* time of threads for which the requests waited; `subject` is an index of `chosen` */
	struct thread_times times;
	uint64_t count;        /* completed requests without the warm-up */
	uint64_t beyond;       /* requests beyond LOAD_SIDE_MAX */
	/* numbers of requests, without `beyond`, in equal times from `from` on, by `intended` */
	uint64_t blocks[CONTRAST_BLOCKS];
	size_t n_blocks;
	uint64_t from, block_ns;
	struct hist latency;   /* latencies of all completed requests without the warm-up */
	uint64_t at;           /* least latency of the targets, in ns */
};

/*
 * Joins the load's slowest requests, and those with which they are compared, to the messages of
 * `server`, of which only messages and flows are needed. Returns 0 or -errno. Call
 * requests_release() in either case.
 */
int requests_join(struct requests *out, const struct diagnose_load *load,
		  const struct recorded *server);
void requests_release(struct requests *requests);

/* Returns the index in `blocks` of a request. */
size_t requests_block(const struct requests *requests, uint64_t intended);

/* Marks the messages of the chosen requests: marks[index in messages.all] becomes true. */
void requests_mark(const struct requests *requests, bool *marks);

#endif
