/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the connections of many hosts are kept: a SQLite file on one machine, or ClickHouse beyond
 * it. Two flat tables (store/tables.h), one SQL subset: SELECT, WHERE, ORDER BY, and max() by GROUP
 * BY for users. Nothing is updated in place: rows have a version, and a reader takes the latest.
 *
 *	err = store_open("fleet.db", STORE_WRITE, &store, &why);
 *	err = store_put(store, &store_connections, &row);
 *	err = store_put(store, &store_windows, &window);
 *	err = store_commit(store);               all rows since the last commit, or none counts
 *	if (err)
 *		log_error("%s", store_why(store));
 *	store_close(store);
 */
#ifndef HOSTLAT_STORE_STORE_H
#define HOSTLAT_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "store/query.h"

struct store;

/*
 * Opens a store. `address` is the path of a SQLite file, or an address of ClickHouse as in
 * store/clickhouse_address.h: "clickhouse://..." or, for TLS, "clickhouse+tls://...". ClickHouse's
 * user and password are in HOSTLAT_STORE_USER and HOSTLAT_STORE_PASSWORD of the environment.
 * Returns 0, or an error after a sentence in *why: -EINVAL for a bad address, -ENOENT for a store
 * without tables, -EPROTO for tables of another version of hostlat, -ENOMEM, or another -errno.
 */
int store_open(const char *address, enum store_mode mode, struct store **out, struct strbuf *why);

/*
 * Makes the tables if they are missing; with `otel_views` also the view of
 * store/clickhouse_otel.h. Returns as store_open() does, or -EOPNOTSUPP, with nothing made, if the
 * engine cannot have that view.
 */
int store_init(const char *address, bool otel_views, struct strbuf *why);

void store_close(struct store *store);

/* Returns a sentence about the last failure of any call below, with what to do. */
const char *store_why(const struct store *store);

/*
 * Adds a row to those of the next commit, copying it. A row that the table has with the same key,
 * version among it, counts once. Returns 0, -ENOMEM or -errno.
 */
int store_put(struct store *store, const struct store_table *table, const void *row);

/*
 * Makes all rows since the last commit durable: those of windows last, so that a window is there
 * only with its connections. Returns 0 or -errno; the rows are forgotten in either case.
 */
int store_commit(struct store *store);

/*
 * Calls `take` for each row, in the order of the key's columns: numbers by value, texts by bytes.
 * A row may come twice, and older versions come before newer ones. Returns 0, the error of `take`,
 * or -errno.
 */
int store_select(struct store *store, const struct store_query *query, store_row_fn *take,
		 void *ctx);

/* Deletes the rows of windows that begin before `before_ns`. Returns 0 or -errno. */
int store_forget(struct store *store, uint64_t before_ns);

/*
 * Returns the servers that could not be reached, or whose shard the answer lacks, such as
 * "db2:8123, db3:8123"; NULL: none. Valid until the next call.
 */
const char *store_unreachable(const struct store *store);

#endif
