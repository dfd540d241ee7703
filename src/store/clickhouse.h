/* SPDX-License-Identifier: Apache-2.0 */
/* An open store in ClickHouse, for the files clickhouse*.c alone. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_H
#define HOSTLAT_STORE_CLICKHOUSE_H

#include "store/clickhouse_http.h"
#include "store/store.h"

#define CLICKHOUSE_SQL_MAX 65536u

/* Reads without the shards that cannot be reached. Only Distributed tables need the setting. */
#define CLICKHOUSE_SKIP "skip_unavailable_shards=1"

struct clickhouse {
	struct clickhouse_address address;
	struct clickhouse_http *http;
	struct strbuf insert;      /* settings of an INSERT */
	struct strbuf connections; /* rows to send, in RowBinary */
	struct strbuf windows;     /* rows to send after all of `connections` */
	int failed;                /* first error since the last commit */
	uint64_t shards_lost;      /* shards that the last answer lacks */
	struct strbuf unreachable; /* servers of them; "": none */
};

/* Returns the settings of a query. */
const char *clickhouse_settings(const struct clickhouse *c);

/*
 * Compares the version of the tables with STORE_SCHEMA, and counts the shards that answer. Returns
 * 0 or, after a sentence in *why, -ENOENT (no tables), -EPROTO (another version), or -errno.
 */
int clickhouse_check(struct clickhouse *c, uint64_t *shards, struct strbuf *why);

/* Counts the shards of the cluster; 1 without a cluster. -EINVAL: the server knows none of this name. */
int clickhouse_count_shards(struct clickhouse *c, uint64_t *shards, struct strbuf *why);

/* The functions of struct store_backend. */
int clickhouse_select(void *state, const struct store_query *query, store_row_fn *take, void *ctx,
		      struct strbuf *why);
int clickhouse_forget(void *state, uint64_t before_ns, struct strbuf *why);
int clickhouse_put(void *state, const struct store_table *table, const void *row,
		   struct strbuf *why);
int clickhouse_commit(void *state, struct strbuf *why);

#endif
