/* SPDX-License-Identifier: Apache-2.0 */
/* Writing rows to ClickHouse. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_INSERT_H
#define HOSTLAT_STORE_CLICKHOUSE_INSERT_H

#include "base/strbuf.h"
#include "store/tables.h"

/*
 * The functions `put` and `commit` of struct store_backend. Rows of connections can be sent before
 * the commit: they do not count without their window.
 */
int clickhouse_put(void *state, const struct store_table *table, const void *row,
		   struct strbuf *why);
int clickhouse_commit(void *state, struct strbuf *why);

#endif
