/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the chosen requests by cause: the client's part by what the load generator's thread did,
 * the server's like its message, and then by what the thread did that read it. So slow requests
 * have one list of causes, whichever side they are on.
 */
#ifndef HOSTLAT_DIAGNOSE_REQUEST_CAUSES_H
#define HOSTLAT_DIAGNOSE_REQUEST_CAUSES_H

#include "diagnose/state.h"

struct requests;

struct request_causes {
	struct breakdown *breakdowns;   /* by index of requests.chosen; each sums to the latency */
	size_t n;
	struct baseline usual;          /* the usual requests' means */
	struct excess_list targets, near; /* `subject` is an index of requests.chosen */
	struct without *without;        /* percentile from which on requests are explained */
};

/*
 * *out: freed by request_causes_free() in any case; NULL: there are too few usual requests to
 * compare with, or the recording has no CPU activity. Sorts the times of threads. `server`:
 * the recording with its messages' breakdowns. Returns 0, -errno of its reader, or -ENOMEM.
 */
int request_causes_find(struct request_causes **out, struct requests *requests,
			const struct recorded *server);
void request_causes_free(struct request_causes *causes);

#endif
