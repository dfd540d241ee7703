/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of a store in ClickHouse, and the version of their tables. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_SHARDS_H
#define HOSTLAT_STORE_CLICKHOUSE_SHARDS_H

#include "store/clickhouse_state.h"

/* Returns the settings of a query, which reads without the shards that cannot be reached. */
const char *clickhouse_settings(const struct clickhouse *c);

/*
 * Compares the version of the tables with STORE_SCHEMA, and counts the shards that answer. Returns
 * 0 or, after a sentence in *why, -ENOENT (no tables), -EPROTO (another version), or -errno.
 */
int clickhouse_check(struct clickhouse *c, uint64_t *shards, struct strbuf *why);

/*
 * Counts the shards of the cluster; 1 without a cluster. Returns 0, or -errno after a sentence in
 * *why: -EINVAL if the server knows no cluster of this name.
 */
int clickhouse_count_shards(struct clickhouse *c, uint64_t *shards, struct strbuf *why);

#endif
