/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The synthetic server (Lancet, section 6): answers, takes the time it is told to, and says when a
 * request came and when its reply left. It stores nothing.
 *
 *	err = serve_new(&serve, &config, &why);
 *	serve_addresses(serve, &text);            "127.0.0.1:9000 unix:/run/x"
 *	err = serve_run(serve, stop_fd);          until that is readable
 *	serve_totals(serve, &totals);
 *	serve_free(serve);
 *
 * One thread accepts and deals connections to the others in turn. Service by sleeping: a request's
 * departure is known when it comes (load/serve_queue.h), and a timer sends the reply then. Service
 * by spinning: each worker is a thread; what waits, waits in the kernel's list of readable sockets.
 */
#ifndef HOSTLAT_LOAD_SERVE_H
#define HOSTLAT_LOAD_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/dist.h"
#include "load/serve_context.h"
#include "load/serve_protocols.h"

#define SERVE_ADDRESSES_MAX 64
#define SERVE_THREADS_MAX 64

struct serve_config {
	const char *const *addresses; /* for net_listen_parse() */
	uint32_t n_addresses;         /* 1 to SERVE_ADDRESSES_MAX */
	enum serve_protocol_number protocol;
	struct dist service;          /* DIST_KIND_NONE: no time at all */
	bool spin;
	uint32_t workers;             /* 1 to SERVE_WORKERS_MAX; spinning, SERVE_THREADS_MAX */
	uint32_t threads;             /* 1 to SERVE_THREADS_MAX; spinning, they are the workers */
	struct serve_stall stall;
	uint64_t seed;
	uint32_t reply_size;
	uint32_t most_conns;          /* open at a time, above 0 */
	uint64_t idle_ns;             /* longer than that they aren't kept; 0: for ever */
	bool amplify;                 /* other hosts' datagrams may have larger replies */
	const char *tls_cert, *tls_key; /* PEM files, both or none: all streams are TLS */
};

struct serve_totals {
	uint64_t accepted, open;      /* connections; `open` at the end */
	uint64_t not_accepted;        /* no descriptor or memory for them */
	uint64_t above_limit;         /* closed at once: most_conns were open */
	uint64_t idle;                /* ended after idle_ns; also in counts.closed or .reset */
	uint64_t waiting;             /* requests in the queue at the end */
	struct serve_counts counts;
	struct hist lag;              /* owned: hist_release() */
};

struct serve;

/* Listens. -EINVAL, -EADDRINUSE and the like, with a sentence that says what to do. */
int serve_new(struct serve **out, const struct serve_config *config, struct strbuf *why);

/* Where it listens, with the ports that were found, between spaces. */
void serve_addresses(const struct serve *serve, struct strbuf *out);

/* Returns 0 or -errno. */
int serve_run(struct serve *serve, int stop_fd);

/* After serve_run(). Returns 0 or -ENOMEM. */
int serve_totals(struct serve *serve, struct serve_totals *out);

/* Accepts NULL. */
void serve_free(struct serve *serve);

#endif
