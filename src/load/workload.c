/* SPDX-License-Identifier: Apache-2.0 */
/* Draws keys, sizes and operations of a workload, and makes the tables for the draws. */
#include "load/workload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/http_auth.h"
#include "load/http_request.h"
#include "load/protocol.h"
#include "load/sizes.h"
#include "load/synthetic.h"

/* Bytes of a request besides key and value, in protocols other than HTTP. */
#define OVERHEAD 512
#define HOST_MAX 300
#define PERIOD 65536

_Static_assert(TEMPLATE_KEY_MAX == WORKLOAD_KEY_MAX, "a request has room for its keys");

struct workload_tables {
	struct sizes key, value, request, reply;
	size_t key_digits;    /* number of digits of the highest key */
	size_t message_max;   /* largest value or message, bytes */
	unsigned char *bytes;
	uint64_t *cas;        /* numbers of items, of which n_cas; NULL: no cas */
	uint64_t n_cas;
	char host[HOST_MAX];
	struct http_requests http;   /* owned */
};

/* ---- Drawing ---- */

/*
 * Returns a pseudo-random number, 0 <= u < 1, as a function of `number`: the finalizer of
 * splitmix64 (see base/rng.h).
 */
static double fraction_of(uint64_t number, uint64_t salt)
{
	uint64_t z = number + salt;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

uint64_t workload_key(const struct workload *w, struct rng *rng)
{
	uint64_t key;

	if (w->popularity.kind == DIST_KIND_UNIFORM)
		return rng_below(rng, w->keys);
	key = (uint64_t)dist_draw(&w->popularity, rng);
	return key < w->keys ? key : w->keys - 1;
}

/* Writes the number of the key in decimal, padded with zeros to the key's size. */
size_t workload_key_text(const struct workload *w, uint64_t key, char out[WORKLOAD_KEY_MAX])
{
	size_t size = sizes_at(&w->tables->key, fraction_of(key, 0x9e3779b97f4a7c15));
	char *p;

	if (size < w->tables->key_digits)
		size = w->tables->key_digits;
	memset(out, '0', size);
	for (p = out + size; key; key /= 10)
		*--p = (char)('0' + key % 10);
	return size;
}

enum operation_kind workload_draw_operation(const struct workload *w, struct rng *rng)
{
	enum operation_kind operation = OPERATION_GET;
	const double u = rng_uniform(rng);

	while (u >= w->until[operation])
		operation++;
	return operation;
}

uint32_t workload_value_size(const struct workload *w, struct rng *rng)
{
	return sizes_draw(&w->tables->value, rng);
}

size_t workload_value_max(const struct workload *w)
{
	return sizes_largest(&w->tables->value);
}

uint32_t workload_stored_size(const struct workload *w, uint64_t key)
{
	return sizes_at(&w->tables->value, fraction_of(key, 0xd1b54a32d192ed03));
}

uint32_t workload_request_size(const struct workload *w, struct rng *rng)
{
	return sizes_draw(&w->tables->request, rng);
}

uint32_t workload_reply_size(const struct workload *w, struct rng *rng)
{
	return sizes_draw(&w->tables->reply, rng);
}

const void *workload_bytes(const struct workload *w)
{
	return w->tables->bytes;
}

/* ---- numbers of memcached's items ---- */

/* Marks a number that a cas has taken: the next one would fail with it. */
#define CAS_TAKEN (1ULL << 63)

void workload_note_cas(const struct workload *w, uint64_t key, uint64_t number)
{
	if (w->tables->n_cas)
		__atomic_store_n(&w->tables->cas[key % w->tables->n_cas], number & ~CAS_TAKEN,
				 __ATOMIC_RELAXED);
}

bool workload_knows_cas(const struct workload *w, uint64_t key)
{
	const uint64_t number = __atomic_load_n(&w->tables->cas[key % w->tables->n_cas],
						__ATOMIC_RELAXED);

	return number && !(number & CAS_TAKEN);
}

uint64_t workload_take_cas(const struct workload *w, uint64_t key)
{
	return __atomic_fetch_or(&w->tables->cas[key % w->tables->n_cas], CAS_TAKEN,
				 __ATOMIC_RELAXED) & ~CAS_TAKEN;
}

static int workload_make_cas(const struct workload *w, struct workload_tables *t)
{
	if (w->share[OPERATION_CAS] <= 0)
		return 0;
	t->n_cas = w->keys < WORKLOAD_CAS_KEYS_MAX ? w->keys : WORKLOAD_CAS_KEYS_MAX;
	t->cas = calloc(t->n_cas, sizeof(*t->cas));
	return t->cas ? 0 : -ENOMEM;
}

size_t workload_request_max(const struct workload *w)
{
	return w->tables->message_max + w->request_overhead;
}

/* ---- Making the tables ---- */

/* Returns the largest value of a distribution; infinity if it is unbounded. */
static double upper_end(const struct dist *d)
{
	switch (d->kind) {
	case DIST_KIND_FIXED:
		return d->a;
	case DIST_KIND_UNIFORM:
		return d->b;
	case DIST_KIND_BIMODAL:
		return fmax(d->b, d->c);
	default:
		return INFINITY;
	}
}

/*
 * Makes a table of sizes. Refuses a distribution that exceeds `max`, but cuts an unbounded tail.
 * Raises smaller values to `min`, since a header must be sent.
 */
static int make_sizes(struct sizes *sizes, const struct dist *dist, const char *name,
		      uint32_t min, uint32_t max, struct strbuf *why)
{
	double end = upper_end(dist);

	if (isfinite(end) && end > max) {
		strbuf_printf(why, "workload: %s takes sizes up to %u bytes here, not %.0f", name,
			      max, end);
		return -EINVAL;
	}
	if (!isfinite(end) && max > WORKLOAD_TAIL_MAX)
		max = WORKLOAD_TAIL_MAX;
	sizes_init(sizes, dist, min, max);
	return 0;
}

static int make_all_sizes(struct workload *w, bool datagram, struct strbuf *why)
{
	uint32_t max = datagram ? WORKLOAD_DATAGRAM_MAX : WORKLOAD_VALUE_MAX;
	struct workload_tables *t = w->tables;
	int err;

	err = make_sizes(&t->key, &w->key_size, "key", 1, WORKLOAD_KEY_MAX, why);
	if (!err)
		err = make_sizes(&t->value, &w->value_size, "value", 0, max, why);
	if (!err)
		err = make_sizes(&t->request, &w->request_size, "request",
				 SYNTHETIC_REQUEST_HEADER, max, why);
	if (!err)
		err = make_sizes(&t->reply, &w->reply_size, "reply", SYNTHETIC_REPLY_HEADER, max,
				 why);
	return err;
}

unsigned char *workload_make_bytes(size_t size)
{
	unsigned char *bytes = malloc(size + 1);
	struct rng rng;

	rng_init(&rng, 0);
	for (size_t i = 0; bytes && i < size && i < PERIOD; i++)
		bytes[i] = "abcdefghijklmnop"[rng_u64(&rng) >> 60];
	for (size_t i = PERIOD; bytes && i < size; i += PERIOD)
		memcpy(bytes + i, bytes, size - i < PERIOD ? size - i : PERIOD);
	return bytes;
}

/*
 * Writes the Host field (RFC 9110, 7.2) with the URL's host, and its port unless it is HTTP's.
 * Omits an IPv6 zone: it means nothing to the server (RFC 9844, 3), and some answer 400.
 */
static void make_host(char out[HOST_MAX], const struct target *target)
{
	int size = (int)strcspn(target->host, "%");
	bool v6 = strchr(target->host, ':') != NULL;
	const char *usual = target->protocol->tls ? "443" : "80";
	bool port = strcmp(target->port, usual) != 0;

	if (target->unix_socket)
		snprintf(out, HOST_MAX, "localhost");
	else
		snprintf(out, HOST_MAX, "%s%.*s%s%s%s", v6 ? "[" : "", size, target->host,
			 v6 ? "]" : "", port ? ":" : "", port ? target->port : "");
}

/*
 * Writes the value of the Authorization field: by --auth, by the URL (RFC 7617), or "". Returns 0
 * or -errno with a sentence in `why`.
 */
static int make_authorization(struct strbuf *out, const struct target *target, struct strbuf *why)
{
	const char *auth = target->options && target->protocol->has_path ?
			   target->options->auth : NULL;
	struct strbuf plain = STRBUF_INIT(HTTP_AUTH_VALUE_MAX);
	int err;

	strbuf_init(out, HTTP_AUTH_VALUE_MAX);
	if (auth && target->has_user) {
		strbuf_puts(why, "--auth cannot be combined with a user in the URL");
		return -EINVAL;
	}
	if (auth)
		return http_auth_read(auth, out, why);
	if (!target->has_user)
		return 0;
	strbuf_printf(&plain, "%s:%s", target->user, target->password);
	strbuf_puts(out, "Basic ");
	strbuf_base64(out, strbuf_str(&plain), plain.len);
	err = plain.error ?: out->error;
	strbuf_release(&plain);
	return err;
}

/* Sets which operations use keys, values and random numbers, and the settings that matter. */
static void note_http_uses(struct workload *w, const struct http_requests *requests)
{
	w->key_of = w->value_of = w->random_of = w->settings = 0;
	for (int i = 0; i < OPERATIONS; i++) {
		const uint32_t uses = http_request_uses(&requests->of[i]);

		w->key_of |= (uses >> TEMPLATE_KEY & 1) << i;
		w->value_of |= (uses >> TEMPLATE_VALUE & 1) << i;
		w->random_of |= (uses >> TEMPLATE_RANDOM & 1) << i;
		if (requests->only)
			w->share[i] = requests->only == &requests->of[i];
		else if (i != OPERATION_SET && requests->of[i].head.parts.len)
			w->settings |= 1U << (WORKLOAD_SHARE + i);
	}
	if (w->value_of)
		w->settings |= 1U << WORKLOAD_BASE | 1U << WORKLOAD_VALUE;
	if (w->key_of)
		w->settings |= 1U << WORKLOAD_BASE | 1U << WORKLOAD_KEYS |
			       1U << WORKLOAD_POPULARITY | 1U << WORKLOAD_KEY;
}

/* Makes the requests of HTTP in `out`, and notes what they take from the workload. */
static int make_http(struct workload *w, struct http_requests *out, const struct target *target,
		     struct strbuf *why)
{
	struct strbuf authorization;
	struct http_defaults defaults = { .host = w->tables->host };
	int err = make_authorization(&authorization, target, why);

	defaults.authorization = authorization.len ? strbuf_str(&authorization) : NULL;
	if (!err)
		err = http_requests_make(out, target, &defaults, why);
	strbuf_release(&authorization);
	w->http = out;
	w->idempotent = target->options && target->options->method &&
			http_method_is_idempotent(target->options->method);
	note_http_uses(w, out);
	if (target->protocol->grpc)
		w->settings |= 1U << WORKLOAD_MESSAGE;
	w->request_overhead = WORKLOAD_KEY_MAX + http_requests_size_max(out);
	return err;
}

static uint32_t settings_of(const struct protocol *p)
{
	uint32_t settings = p->settings;

	for (int i = 0; p->put && i < OPERATIONS; i++) {
		if (p->put[i] && i != OPERATION_SET)
			settings |= 1U << (WORKLOAD_SHARE + i);
	}
	return settings;
}

/* Notes what requests of the target's protocol take from the workload. */
static int make_requests(struct workload *w, const struct target *target, struct strbuf *why)
{
	w->request_overhead = WORKLOAD_KEY_MAX + OVERHEAD;
	for (int i = 0; i < OPERATIONS; i++)
		w->value_of |= (uint32_t)operation_rows[i].has_value << i;
	if (!target)
		return 0;
	if (target->protocol->has_path) {
		make_host(w->tables->host, target);
		return make_http(w, &w->tables->http, target, why);
	}
	w->settings = settings_of(target->protocol);
	w->key_of = w->settings >> WORKLOAD_KEYS & 1 ? (1U << OPERATIONS) - 1 : 0;
	return 0;
}

/*
 * Computes the shares: writes get the remainder; the default share of reads applies to requests
 * that are no deletes.
 */
static int make_shares(struct workload *w, struct strbuf *why)
{
	double others = 0;

	for (int i = OPERATION_SET + 1; i < OPERATIONS; i++)
		others += w->share[i];
	if (!(w->given & 1U << (WORKLOAD_SHARE + OPERATION_GET)))
		w->share[OPERATION_GET] *= 1 - others;
	w->share[OPERATION_SET] = fmax(0, 1 - others - w->share[OPERATION_GET]);
	if (w->share[OPERATION_GET] + others > 1 + 1e-9) {
		strbuf_printf(why, "workload: the shares of operations add up to %g, more than 1",
			      w->share[OPERATION_GET] + others);
		return -EINVAL;
	}
	/* Sum from the end, so that rounding cannot give draws to an operation with share 0. */
	w->until[OPERATIONS - 1] = 1;
	for (int i = OPERATIONS - 1; i > OPERATION_SET; i--)
		w->until[i - 1] = w->until[i] - w->share[i];
	w->until[OPERATION_GET] = w->share[OPERATION_GET];
	return 0;
}

static int check_operations(const struct workload *w, const struct protocol *protocol,
			    struct strbuf *why)
{
	for (int i = 0; protocol->put && i < OPERATIONS; i++) {
		if (protocol->put[i] || w->share[i] <= 0)
			continue;
		strbuf_printf(why, "workload: %s has no %s", protocol->name,
			      operation_rows[i].share);
		return -EINVAL;
	}
	return 0;
}

static size_t workload_larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

int workload_finish(struct workload *w, const struct target *target, struct strbuf *why)
{
	struct workload_tables *t = calloc(1, sizeof(*t));
	size_t bytes;
	int err;

	w->tables = t;
	if (!t)
		return -ENOMEM;
	err = make_all_sizes(w, target && target->protocol->datagram, why);
	if (!err)
		err = make_requests(w, target, why);
	if (!err)
		err = make_shares(w, why);
	if (!err && target)
		err = check_operations(w, target->protocol, why);
	if (!err)
		err = workload_make_cas(w, t);
	if (err)
		return err;
	t->key_digits = 1;
	for (uint64_t last = w->keys - 1; last >= 10; last /= 10)
		t->key_digits++;
	dist_bind_n(&w->popularity, w->keys);
	bytes = workload_larger(sizes_largest(&t->value), sizes_largest(&t->request));
	t->message_max = bytes;
	t->bytes = workload_make_bytes(bytes);
	return t->bytes ? 0 : -ENOMEM;
}

void workload_release(struct workload *w)
{
	if (!w)
		return;
	if (w->own_http) {
		http_requests_release(w->own_http);
		free(w->own_http);
		*w = (struct workload){ 0 };
		return;
	}
	if (w->tables) {
		free(w->tables->bytes);
		free(w->tables->cas);
		http_requests_release(&w->tables->http);
	}
	free(w->tables);
	free(w->message.bytes);
	*w = (struct workload){ 0 };
}

int workload_init_path(struct workload *out, const struct workload *base,
		       const struct target *target, struct strbuf *why)
{
	struct http_requests *own = calloc(1, sizeof(*own));

	*out = (struct workload){ 0 };
	if (!own)
		return -ENOMEM;
	*out = *base;
	out->own_http = own;
	return make_http(out, own, target, why);
}
