/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload: keys, values and the mix of operations. Immutable after parsing, so that threads
 * share it; each call gets a random generator as argument.
 *
 * 	NAME          "etc", "usr": Facebook's pools
 * 	inline        "keys=10000,key=normal:30:5,value=200,popularity=zipf:0.99,read=0.9";
 * 	              a name may come first: "etc,keys=1000000"
 * 	FILE          one setting per line, "keys: 10000" or "keys = 10000"; a name as `base: etc`
 *
 * 	keys          number of keys
 * 	popularity    uniform | zipf:EXPONENT | normal:MEAN:DEVIATION, of key numbers
 * 	key, value    sizes in bytes; a key has at least the digits of the highest key number
 * 	read, delete, head, gets, cas  shares of these operations in all requests; the rest are
 * 	              writes. A cas is a gets if no gets has returned its item's number
 * 	service       service time requested of a synthetic server; default: the server's own
 * 	request, reply    sizes in bytes, of the echo and synthetic protocols
 * 	message       gRPC: the encoded message of a request, @FILE, hex:... or base64:...
 *
 * Protocols limit sizes; unbounded distributions are cut at WORKLOAD_TAIL_MAX.
 */
#ifndef HOSTLAT_LOAD_WORKLOAD_H
#define HOSTLAT_LOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "load/dist.h"
#include "load/grpc_message.h"
#include "load/operation.h"

#define WORKLOAD_KEY_MAX 250    /* memcached's limit, bytes */
#define WORKLOAD_VALUE_MAX (64 << 20)
/* where unbounded size distributions are cut: memcached's limit of an item, bytes */
#define WORKLOAD_TAIL_MAX (1 << 20)
#define WORKLOAD_KEYS_MAX 1000000000ULL
#define WORKLOAD_DATAGRAM_MAX 1400 /* largest message or value in one packet, bytes */

/* A workload's settings, in the order of their table; the last are the operations' shares. */
enum workload_setting {
	WORKLOAD_BASE, WORKLOAD_KEYS, WORKLOAD_POPULARITY, WORKLOAD_KEY, WORKLOAD_VALUE,
	WORKLOAD_SERVICE, WORKLOAD_REQUEST, WORKLOAD_REPLY, WORKLOAD_MESSAGE, WORKLOAD_SHARE,
	WORKLOAD_SETTINGS = WORKLOAD_SHARE + OPERATIONS,
};

struct target;
struct resp_commands;
struct replay;

struct workload {
	uint32_t given; /* mask of the settings given in the text: bits of enum workload_setting */
	uint64_t keys;           /* number of keys */
	struct dist popularity;  /* distribution of key numbers, 0..keys-1: zipf, normal ... */
	struct dist key_size;    /* bytes; a fixed function of the key's number */
	struct dist value_size;  /* bytes of a value */
	double share[OPERATIONS]; /* each operation's share of requests, 0..1; their sum is 1 */
	double until[OPERATIONS]; /* cumulative shares: a draw below selects the operation */
	bool idempotent;         /* HTTP: writes are idempotent, as of --http-method PUT */
	size_t request_overhead; /* largest size of a request without its value, bytes */
	struct dist service;     /* synthetic: requested service time, ns; or none */
	struct dist request_size, reply_size; /* echo and synthetic: bytes of a message */
	struct grpc_message message; /* gRPC: the message of each request; owned */
	uint32_t settings; /* mask of the settings that the target's requests use */
	/* masks of operations (enum operation_kind) that use a key, a value, random numbers */
	uint32_t key_of, value_of, random_of;
	const struct http_requests *http; /* HTTP: the requests; points into `tables` */
	struct workload_tables *tables; /* sizes, bytes of values; owned unless own_http is set */
	struct http_requests *own_http; /* owned, by workload_init_path(); otherwise NULL */
	/* Redis: requests are these commands, not operations; borrowed; NULL: operations */
	const struct resp_commands *commands;
	/* requests are these recorded ones, not operations; borrowed; NULL: operations */
	const struct replay *replay;
};

/*
 * Parses a workload. `text` NULL: the protocol's default; `target` may be NULL, except for HTTP.
 * Returns 0, -EINVAL or a file's error; `why` names setting, line and valid values.
 */
int workload_parse(struct workload *out, const char *text, const struct target *target,
		   struct strbuf *why);
void workload_release(struct workload *workload);

/*
 * Makes a workload like `base`, for another path of its HTTP server. It borrows from `base`, which
 * must live longer. Returns 0 or -errno with a sentence in `why`; in both cases the caller calls
 * workload_release().
 */
int workload_init_path(struct workload *out, const struct workload *base,
		       const struct target *target, struct strbuf *why);

/*
 * Checks sizes against the protocol and makes the tables: the last step of workload_parse().
 * Returns 0 or -errno, with a sentence in `why`.
 */
int workload_finish(struct workload *workload, const struct target *target, struct strbuf *why);

/* Returns the largest size, in bytes, of an encoded request in the target's protocol. */
size_t workload_request_max(const struct workload *workload);

uint64_t workload_key(const struct workload *workload, struct rng *rng);
/* Writes the text of a key, without NUL: a function of the key's number. Returns its length. */
size_t workload_key_text(const struct workload *workload, uint64_t key,
			 char out[WORKLOAD_KEY_MAX]);
enum operation_kind workload_draw_operation(const struct workload *workload, struct rng *rng);
/* Draws an operation. Consumes no random number if the workload has a single operation. */
static inline enum operation_kind workload_operation(const struct workload *workload,
						     struct rng *rng)
{
	return workload->until[OPERATION_GET] >= 1 ? OPERATION_GET :
						     workload_draw_operation(workload, rng);
}
/* Draws the size of a value, whose content is the first `size` bytes of workload_bytes(). */
uint32_t workload_value_size(const struct workload *workload, struct rng *rng);
/* Returns the size of the largest value, in bytes. */
size_t workload_value_max(const struct workload *workload);
/* Returns the size of the value that --preload stores for this key. */
uint32_t workload_stored_size(const struct workload *workload, uint64_t key);
/*
 * Numbers of memcached's items, which gets returns and cas sends once: the workload's only state,
 * safe for threads. note stores a key's number; knows returns whether there is one that was not
 * taken; take returns the last number noted. With more than WORKLOAD_CAS_KEYS_MAX keys, several
 * share a place, so that their cas may fail.
 */
#define WORKLOAD_CAS_KEYS_MAX (4U << 20)
void workload_note_cas(const struct workload *workload, uint64_t key, uint64_t number);
bool workload_knows_cas(const struct workload *workload, uint64_t key);
uint64_t workload_take_cas(const struct workload *workload, uint64_t key);
/* Draw sizes for echo and synthetic, not below the size of the synthetic protocol's headers. */
uint32_t workload_request_size(const struct workload *workload, struct rng *rng);
uint32_t workload_reply_size(const struct workload *workload, struct rng *rng);
const void *workload_bytes(const struct workload *workload);
/*
 * Makes `size` bytes for values: letters that neither compress well nor resemble a protocol,
 * repeated. Returns memory that the caller frees, or NULL.
 */
unsigned char *workload_make_bytes(size_t size);

#endif
