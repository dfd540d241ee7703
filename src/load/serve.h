/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The synthetic server (Lancet paper, section 6): takes a known service time, and reports in its
 * replies when the request arrived and when the reply left. It stores nothing.
 *
 * 	err = serve_new(&serve, &config, &why);
 * 	serve_addresses(serve, &text);            "127.0.0.1:9000 unix:/run/x"
 * 	err = serve_run(serve, stop_fd);          until stop_fd is readable
 * 	serve_totals(serve, &totals);
 * 	serve_free(serve);
 *
 * One thread accepts connections and assigns them to the other threads in turn. If service sleeps,
 * a request's departure is computed at its arrival (load/serve_queue.h), and a timer sends the
 * reply. If service spins, each worker is a thread, and requests wait in the kernel's list of
 * readable sockets.
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
	const char *const *addresses; /* addresses in the syntax of net_listen_parse() */
	uint32_t n_addresses;         /* 1 to SERVE_ADDRESSES_MAX */
	enum serve_protocol_number protocol;
	struct dist service;          /* distribution of service times; DIST_KIND_NONE: none */
	bool spin;
	/* the queue's servers, 1 to SERVE_WORKERS_MAX; spinning: threads, 1 to SERVE_THREADS_MAX */
	uint32_t workers;
	uint32_t threads;             /* 1 to SERVE_THREADS_MAX; unused if spinning */
	struct serve_stall stall;
	uint64_t seed;
	uint32_t reply_size;
	uint32_t most_conns;          /* largest number of open connections, above 0 */
	uint64_t idle_ns;             /* time after which an idle connection is closed; 0: never */
	bool amplify;                 /* larger replies to datagrams of other hosts are allowed */
	const char *tls_cert, *tls_key; /* PEM files, both or none; if given, streams use TLS */
};

struct serve_totals {
	uint64_t accepted, open;      /* connections accepted; connections open at the end */
	uint64_t not_accepted;        /* connections refused for lack of descriptors or memory */
	uint64_t above_limit;         /* connections closed at once, as most_conns were open */
	uint64_t idle;                /* connections closed as idle, which `counts` includes */
	uint64_t waiting;             /* requests in the queue at the end */
	struct serve_counts counts;
	/* delay of replies after their computed departure times, ns; owned: hist_release() */
	struct hist lag;
	/* from reading a request to sending its reply, ns; owned: hist_release() */
	struct hist latency;
};

struct serve;

/*
 * Makes a server that listens. Returns 0, or -errno such as -EINVAL or -EADDRINUSE, with a sentence
 * for the user in `why`.
 */
int serve_new(struct serve **out, const struct serve_config *config, struct strbuf *why);

/* Writes the listening addresses, with their actual ports, separated by spaces. */
void serve_addresses(const struct serve *serve, struct strbuf *out);

/* Serves until `stop_fd` is readable. Returns 0 or -errno. */
int serve_run(struct serve *serve, int stop_fd);

/* Sums up the counters of all threads, after serve_run(). Returns 0 or -ENOMEM. */
int serve_totals(struct serve *serve, struct serve_totals *out);

/* Frees a server whose serve_run() has returned, or was not called. Accepts NULL. */
void serve_free(struct serve *serve);

#endif
