/* SPDX-License-Identifier: Apache-2.0 */
/* Queries to the servers of a ClickHouse store over HTTP, one at a time. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_HTTP_H
#define HOSTLAT_STORE_CLICKHOUSE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "store/clickhouse_address.h"

struct clickhouse_http;

struct clickhouse_request {
	const char *sql;
	const char *settings;    /* "name=value&name=value"; "": none */
	const void *data;        /* rows of an INSERT; NULL: none */
	size_t size;             /* bytes of them */
	/* Takes the answer's bytes, which are those of a success. NULL: the answer is ignored. */
	int (*take)(void *ctx, const void *bytes, size_t n);
	void *ctx;
};

/*
 * Makes a client of an address, which must outlive it. User, password and the longest silence of
 * a server are read from the environment here. Connects to no server. Returns 0, or -errno after a
 * sentence in *why.
 */
int clickhouse_http_new(const struct clickhouse_address *address, struct clickhouse_http **out,
			struct strbuf *why);
void clickhouse_http_free(struct clickhouse_http *http);

/*
 * Sends a request to the server with this number, once. Returns 0 when the whole answer is there;
 * the error of `take`; or, after a sentence in *why, -EACCES (user or password), -ENOENT (no such
 * table), -EIO (another error of the server) or the connection's -errno.
 */
int clickhouse_http_at(struct clickhouse_http *http, unsigned int server,
		       const struct clickhouse_request *request, struct strbuf *why);

/*
 * Sends a request to the first server that answers, beginning with that of the last success. After
 * a failure that may pass, all are tried again, up to `retries` times and after 1, 2, 4 ... s,
 * unless `take` has been called. Returns as clickhouse_http_at() does.
 */
int clickhouse_http_any(struct clickhouse_http *http, const struct clickhouse_request *request,
			unsigned int retries, struct strbuf *why);

/* Returns whether the server was not reached since the last clickhouse_http_forgive(). */
bool clickhouse_http_is_down(const struct clickhouse_http *http, unsigned int server);
void clickhouse_http_forgive(struct clickhouse_http *http);

#endif
