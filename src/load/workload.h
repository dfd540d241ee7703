/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload: keys, values, the mix of operations. Immutable after parsing, so that threads share
 * it; the random generator is an argument of each call.
 *
 *	NAME          "etc", "usr": Facebook's pools
 *	inline        "keys=10000,key=normal:30:5,value=200,popularity=zipf:0.99,read=0.9";
 *	              a name may stand first: "etc,keys=1000000"
 *	FILE          the same, "keys: 10000" or "keys = 10000" in each line; a name is `base: etc`
 *
 *	keys          how many there are
 *	popularity    uniform | zipf:EXPONENT | normal:MEAN:DEVIATION, in numbers of keys
 *	key, value    sizes in bytes; keys are never shorter than what tells them apart
 *	read, delete  shares of reads and deletes among all requests; the rest are writes
 *	service       what a synthetic server is asked to take; not given: its own distribution
 *	request, reply    sizes in bytes, of the echo and synthetic protocols
 *
 * Sizes are limited by the protocol; unbounded distributions are cut at WORKLOAD_TAIL_MAX.
 */
#ifndef HOSTLAT_LOAD_WORKLOAD_H
#define HOSTLAT_LOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "load/dist.h"
#include "load/operation.h"

#define WORKLOAD_KEY_MAX 250    /* memcached's limit */
#define WORKLOAD_VALUE_MAX (64 << 20)
#define WORKLOAD_TAIL_MAX (1 << 20) /* memcached's limit of an item */
#define WORKLOAD_KEYS_MAX 1000000000ULL
#define WORKLOAD_DATAGRAM_MAX 1400 /* largest message or value in one packet */

/* The settings above, in the order of their table, then the share of each operation. */
enum workload_setting {
	WORKLOAD_BASE, WORKLOAD_KEYS, WORKLOAD_POPULARITY, WORKLOAD_KEY, WORKLOAD_VALUE,
	WORKLOAD_SERVICE, WORKLOAD_REQUEST, WORKLOAD_REPLY, WORKLOAD_SHARE,
	WORKLOAD_SETTINGS = WORKLOAD_SHARE + OPERATIONS,
};

struct target;

struct workload {
	uint32_t given;          /* settings given in the text: a bit per enum workload_setting */
	uint64_t keys;           /* number of keys */
	struct dist popularity;  /* popularity of keys: uniform, zipf, normal ... over 0..keys-1 */
	struct dist key_size;    /* bytes, a fixed function of the key's number */
	struct dist value_size;  /* bytes */
	double share[OPERATIONS]; /* shares of all requests, 0..1; their sum is 1 */
	double until[OPERATIONS]; /* running sum: a draw below it is this operation */
	size_t request_overhead; /* largest size of a request without its value */
	struct dist service;     /* synthetic: requested service time in ns; or none */
	struct dist request_size, reply_size; /* echo and synthetic: bytes */
	const char *host, *path; /* HTTP: the Host field and the path; stored in `tables` */
	const char *auth;        /* HTTP: "\r\nAuthorization: ..." or ""; stored in `tables` */
	struct workload_tables *tables; /* owned: tables of sizes, the value's bytes */
};

/*
 * Parses a workload. `text` NULL: the protocol's default; `target` may be NULL, except for HTTP.
 * Returns 0, -EINVAL or a file's error; `why` names the key, its line in a file, and what it takes.
 */
int workload_parse(struct workload *out, const char *text, const struct target *target,
		   struct strbuf *why);
void workload_release(struct workload *workload);

/*
 * Checks sizes against the protocol and makes the tables; the last part of workload_parse().
 * Returns as that.
 */
int workload_finish(struct workload *workload, const struct target *target, struct strbuf *why);

/* Returns the largest size of an encoded request with the target's protocol. */
size_t workload_request_max(const struct workload *workload);

uint64_t workload_key(const struct workload *workload, struct rng *rng);
/* Writes the key's text, without NUL, a function of its number. Returns its length. */
size_t workload_key_text(const struct workload *workload, uint64_t key,
			 char out[WORKLOAD_KEY_MAX]);
enum operation_kind workload_draw_operation(const struct workload *workload, struct rng *rng);
/* Draws an operation; uses no random number if there is only one. */
static inline enum operation_kind workload_operation(const struct workload *workload,
						     struct rng *rng)
{
	return workload->until[OPERATION_GET] >= 1 ? OPERATION_GET :
						     workload_draw_operation(workload, rng);
}
/* Draws the size of a value; its content are any `size` bytes from workload_bytes(). */
uint32_t workload_value_size(const struct workload *workload, struct rng *rng);
/* Returns the size of the value that --preload stores for this key. */
uint32_t workload_stored_size(const struct workload *workload, uint64_t key);
/* Draw sizes for echo and synthetic: at least the size of the synthetic protocol's headers. */
uint32_t workload_request_size(const struct workload *workload, struct rng *rng);
uint32_t workload_reply_size(const struct workload *workload, struct rng *rng);
const void *workload_bytes(const struct workload *workload);

#endif
